package histogram

// Histograms as clients send them: {"bins": {"0.0012": 4}}, a value for each bin and how many there are. Any value
// within a bin stands for it.

import (
	"encoding/json"
	"fmt"
	"strconv"
)

// maxCount is the largest count a client may send in one bin: beyond 2^53 JSON numbers are not exact.
const maxCount = 1 << 53

// MarshalJSON writes {"bins":{"1.2e-3":4}}.
func (h *Histogram) MarshalJSON() ([]byte, error) {
	text := []byte(`{"bins":{`)
	for i, bin := range h.Bins {
		if i > 0 {
			text = append(text, ',')
		}
		text = append(text, '"')
		text = append(text, bin.String()...)
		text = append(text, '"', ':')
		text = strconv.AppendUint(text, h.Counts[i], 10)
	}
	return append(text, '}', '}'), nil
}

// UnmarshalJSON reads what MarshalJSON writes; keys may be any decimal number.
func (h *Histogram) UnmarshalJSON(text []byte) error {
	var form struct {
		Bins map[string]json.Number `json:"bins"`
	}
	if err := json.Unmarshal(text, &form); err != nil {
		return err
	}
	if form.Bins == nil {
		return fmt.Errorf(`a histogram is {"bins": {"0.0012": 4}}`)
	}
	h.Reset()
	for key, number := range form.Bins {
		value, err := strconv.ParseFloat(key, 64)
		if err != nil {
			return fmt.Errorf("the bin %q is not a number", key)
		}
		n, err := strconv.ParseUint(string(number), 10, 64)
		if err != nil || n > maxCount {
			return fmt.Errorf("the count of the bin %s must be a whole number from 0 to %d", key, uint64(maxCount))
		}
		if err := h.Insert(value, n); err != nil {
			return fmt.Errorf("the bin %s: %w", key, err)
		}
	}
	return nil
}
