package admission

// How much memory is taken by all requests that are decoded. What one takes is bounded (MaxParts, MaxUnpacked), but by a
// hundred times its size, and nobody knows before it is decoded. So few are decoded at once, and one that has turned out to
// need little, as all usual ones do, makes way for the next before it is stored, which may wait for a disk.

import "context"

const (
	// quickBytes is the size of a request that is decoded within some milliseconds. The others wait for each other, so that
	// they delay nobody else.
	quickBytes = 4 << 20
	// lightBytes is what a decoded request may take without its slot.
	lightBytes = 32 << 20
)

// Slot is the right to decode one request; nil is none.
type Slot struct{ of Slots }

// Decode waits for a slot for a request of so many bytes, unpacked. The error is ErrLeft.
func (g *Gate) Decode(ctx context.Context, bytes int) (*Slot, error) {
	slots := g.quick
	if bytes > quickBytes {
		slots = g.slow
	}
	if err := slots.Enter(ctx); err != nil {
		return nil, err
	}
	return &Slot{slots}, nil
}

// Leave gives the slot back; again does nothing.
func (s *Slot) Leave() {
	if s != nil && s.of != nil {
		s.of.Leave()
		s.of = nil
	}
}

// LeaveWith gives it back if what was decoded takes few bytes in memory.
func (s *Slot) LeaveWith(bytes int) {
	if bytes <= lightBytes {
		s.Leave()
	}
}
