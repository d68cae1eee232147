package aligned

import (
	"testing"
	"time"
)

func TestNext(t *testing.T) {
	at := func(second, ms int) time.Time {
		return time.Date(2026, 1, 1, 0, 0, second, ms*int(time.Millisecond), time.UTC)
	}
	for _, one := range []struct {
		now            time.Time
		period, offset time.Duration
		want           time.Duration
	}{
		{at(0, 0), time.Second, 0, time.Second},
		{at(0, 1), time.Second, 0, 999 * time.Millisecond},
		{at(0, 999), time.Second, 0, time.Millisecond},
		{at(7, 200), 10 * time.Second, 0, 2800 * time.Millisecond},
		{at(0, 400), time.Second, 500 * time.Millisecond, 100 * time.Millisecond},
		{at(0, 500), time.Second, 500 * time.Millisecond, time.Second},
		{at(0, 600), time.Second, 500 * time.Millisecond, 900 * time.Millisecond},
	} {
		if got := next(one.now, one.period, one.offset); got != one.want {
			t.Errorf("from %s, every %s with %s: %s, want %s", one.now.Format("05.000"), one.period, one.offset, got, one.want)
		}
	}
}
