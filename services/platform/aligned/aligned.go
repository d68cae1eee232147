// Package aligned lets what a process does periodically fall into the same moments, so that an idle machine wakes up once
// for all of it. A processor that wakes up often uses more than what is done there.
package aligned

import "time"

// After sends the time at the next multiple of period of the time of day, and offset beyond it: never later than period
// from now. What must be done at intervals calls it again each time.
func After(period, offset time.Duration) <-chan time.Time {
	return time.After(next(time.Now(), period, offset))
}

// next is how long it is until then, by the time of day as it is now: when that is set, the next one is right again.
func next(now time.Time, period, offset time.Duration) time.Duration {
	now = now.Round(0) // without the monotonic clock
	return now.Add(-offset).Truncate(period).Add(period + offset).Sub(now)
}
