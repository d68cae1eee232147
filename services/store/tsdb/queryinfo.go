package tsdb

// What a query must know of the store before it is run.

import "time"

// Granularity is how far apart samples can be that stand in for what was let go: a minute or an hour where rollups are
// all that is left of some block in [minTime, maxTime], else 0.
func (s *Store) Granularity(minTime, maxTime int64) time.Duration {
	s.mu.RLock()
	defer s.mu.RUnlock()
	coarsest := int64(0)
	for _, b := range s.list {
		if b.Samples > 0 || b.Series == 0 || b.MaxTime < minTime || b.MinTime > maxTime {
			continue
		}
		width := trackWidth[trackHour]
		if b.tracks[trackMinute] > 0 {
			width = trackWidth[trackMinute]
		}
		coarsest = max(coarsest, width)
	}
	return time.Duration(coarsest) * time.Millisecond
}
