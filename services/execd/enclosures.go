package execd

// What the shelves that disks are in say of their fans, power supplies and temperatures (SCSI Enclosure Services), as
// sg_ses prints it: understanding that is the platform driver's business.

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	"cistern/services/execd/host"
	"cistern/services/platform/command"
)

const (
	// An enclosure answers a page in some 10 ms when it is well; one whose processor restarts needs seconds.
	enclosureDeadline = 20 * time.Second
	// SG_LIB_CAT_ILLEGAL_REQ of sg_lib.h: the enclosure has not what it was asked for.
	sesRefused = 5
)

// enclosureAnswer is what one enclosure says.
type enclosureAnswer struct {
	host.Enclosure
	Text string `json:"text"`
	// Error is why it has said nothing; empty, when it has.
	Error string `json:"error,omitempty"`
	// Unsupported: it answers, and does not tell of its parts.
	Unsupported bool `json:"unsupported,omitempty"`
}

// enclosuresRead asks all enclosures at once, each within its own deadline: one that hangs holds up no other.
func (s *Server) enclosuresRead(r *http.Request, _ struct{}) (any, error) {
	found, err := s.Host.Enclosures()
	if err != nil {
		return nil, err
	}
	answers := make([]enclosureAnswer, len(found))
	var all sync.WaitGroup
	for i, one := range found {
		all.Go(func() { answers[i] = s.enclosure(r.Context(), one) })
	}
	all.Wait()
	return map[string][]enclosureAnswer{"enclosures": answers}, nil
}

// enclosure asks one of them; as long as an earlier question has not ended it is not asked another.
func (s *Server) enclosure(ctx context.Context, one host.Enclosure) enclosureAnswer {
	answer := enclosureAnswer{Enclosure: one}
	within := cmp.Or(s.enclosureWithin, one.Within, enclosureDeadline)
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	silent := fmt.Sprintf("It did not answer within %g seconds.", within.Seconds())
	lock := s.one("/enclosure/" + one.ID)
	select {
	case lock <- struct{}{}:
		defer func() { <-lock }()
	case <-ctx.Done():
		answer.Error = silent
		return answer
	}
	said, err := command.Run(ctx, within, 1<<20, one.Command...)
	failed, ok := err.(*command.Error)
	switch {
	case err == nil:
		answer.Text = string(said.Stdout)
	case ok && failed.Timeout || ctx.Err() != nil:
		answer.Error = silent
	case ok && failed.Code == sesRefused:
		answer.Unsupported = true
	default:
		answer.Error = fmt.Sprintf("It could not be asked: %v.", err)
	}
	return answer
}
