package fastclock

import (
	"errors"
	"slices"
	"testing"
)

// processors are those of a machine; a thread is on one of them, or on any.
type processors struct {
	there []int
	bound int
	stuck bool // the binding cannot be undone
}

func (p *processors) bind(cpu int) error {
	if cpu == noProcessor && !p.stuck || slices.Contains(p.there, cpu) {
		p.bound = cpu
		return nil
	}
	return errors.New("invalid argument")
}

func TestEachProcessorIsReached(t *testing.T) {
	for name, c := range map[string]struct {
		machine processors
		online  int
		want    bool
	}{
		"all":                          {processors{there: []int{0, 1, 2, 3}}, 4, true},
		"numbers with gaps":            {processors{there: []int{0, 1, 8, 9}}, 4, true},
		"some are in another set":      {processors{there: []int{2, 3}}, 4, false},
		"none may be bound to":         {processors{}, 2, false},
		"the binding cannot be undone": {processors{there: []int{0, 1}, stuck: true}, 2, true},
	} {
		t.Run(name, func(t *testing.T) {
			done := make(chan struct{})
			go func() { // a thread that stays bound ends with it
				defer close(done)
				var on []int
				got := bindEach(c.machine.bind, c.online, func(cpu int) {
					if c.machine.bound != cpu {
						t.Errorf("on %d, bound to %d", cpu, c.machine.bound)
					}
					on = append(on, cpu)
				})
				if got != c.want || !slices.Equal(on, c.machine.there) {
					t.Errorf("%v on %v", got, on)
				}
				if !c.machine.stuck && c.machine.bound != noProcessor && len(c.machine.there) > 0 {
					t.Errorf("still bound to %d", c.machine.bound)
				}
			}()
			<-done
		})
	}
}
