package admission

import (
	"context"
	"errors"
)

// ErrLeft is why a request whose client has gone was abandoned.
var ErrLeft = errors.New("the client left")

// Slots bounds how many do something at once: one place in the channel each.
type Slots chan struct{}

// NewSlots makes n.
func NewSlots(n int) Slots { return make(Slots, n) }

// Enter waits for a slot, or returns ErrLeft when ctx ends first. Whoever has entered must leave.
func (s Slots) Enter(ctx context.Context) error {
	select {
	case s <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ErrLeft
	}
}

// Leave gives the slot back.
func (s Slots) Leave() { <-s }
