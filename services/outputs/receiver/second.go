package receiver

// The store adds up log-linear histograms of one series and second; receivers take the last of a time. So of a second that comes
// in parts the sum so far is sent with each part.

import "cistern/services/histogram"

// Second is what came of a histogram's latest second. The zero value is ready for use.
type Second struct {
	time    int64
	encoded []byte
}

// Add decodes a part into h, and adds what came before it of the same second; again says that something had. Parts of a second
// before the latest are taken for whole ones.
func (s *Second) Add(h *histogram.Histogram, time int64, encoded []byte) (again bool, err error) {
	if _, err := h.Decode(encoded); err != nil {
		return false, err
	}
	switch {
	case len(s.encoded) > 0 && time == s.time:
		var before histogram.Histogram
		if _, err := before.Decode(s.encoded); err != nil {
			return false, err
		}
		h.Merge(&before)
		s.encoded = h.Append(s.encoded[:0])
		return true, nil
	case len(s.encoded) == 0 || time > s.time:
		s.time, s.encoded = time, append(s.encoded[:0], encoded...)
	}
	return false, nil
}
