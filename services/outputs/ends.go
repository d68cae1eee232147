package outputs

// When the journal had grown how far, so that what waits has an age.

import (
	"sync"
	"time"

	"cistern/services/journal"
)

// maxEnds is how many moments are remembered; with more, every second one is forgotten, and ages get coarser.
const maxEnds = 4096

type ends struct {
	mu   sync.Mutex
	list []ended
}

type ended struct {
	at  time.Time
	end journal.Position
}

func (e *ends) note(now time.Time, end journal.Position) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if n := len(e.list); n > 0 && e.list[n-1].end == end {
		return
	}
	if len(e.list) == maxEnds {
		for i := range maxEnds / 2 {
			e.list[i] = e.list[2*i]
		}
		e.list = e.list[:maxEnds/2]
	}
	e.list = append(e.list, ended{now, end})
}

// age is how long ago the oldest of what lies behind a position was written, as far as is remembered.
func (e *ends) age(now time.Time, at journal.Position) time.Duration {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, one := range e.list {
		if one.end > at {
			return max(0, now.Sub(one.at))
		}
	}
	return 0
}
