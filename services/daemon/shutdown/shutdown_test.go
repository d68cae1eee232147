package shutdown

import (
	"testing"
	"time"
)

func TestEnd(t *testing.T) {
	var e End
	var at time.Time
	set := func(d time.Time) error { at = d; return nil }
	in := func() time.Duration { return time.Until(at) }
	if e.Limit(set, time.Hour); e.Begun() || in() < 59*time.Minute {
		t.Errorf("in %s before it begins", in())
	}
	e.Begin()
	by := e.by.Load()
	if e.Limit(set, time.Hour); !e.Begun() || in() > Quiet {
		t.Errorf("in %s after it has begun", in())
	}
	e.Begin() // again changes nothing
	if e.by.Load() != by {
		t.Error("it was put off")
	}
	e.by.Store(1) // long ago
	if e.Limit(set, time.Hour); in() > 0 {
		t.Errorf("in %s after all of it", in())
	}
}
