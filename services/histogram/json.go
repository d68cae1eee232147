package histogram

// Histograms as clients send them: {"bins": {"0.0012": 4}, "sum": 0.005}, a value for each bin and how many there are. Any
// value within a bin stands for it; the sum may be missing.

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// maxCount is the largest count a client may send in one bin: beyond 2^53 JSON numbers are not exact.
const maxCount = 1 << 53

// MarshalJSON writes {"bins":{"1.2e-3":4}}, and the sum when it is known.
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
	text = append(text, '}')
	if h.Offset != (Offset{}) {
		text = strconv.AppendFloat(append(text, `,"sum":`...), h.Sum(), 'g', -1, 64)
	}
	return append(text, '}'), nil
}

// UnmarshalJSON reads what MarshalJSON writes, up to maxCount; keys may be any decimal number, in any order, and what is
// there several times adds up.
func (h *Histogram) UnmarshalJSON(text []byte) error {
	form := struct {
		Bins *jsonBins `json:"bins"`
		Sum  *float64  `json:"sum"`
	}{}
	if err := json.Unmarshal(text, &form); err != nil {
		return err
	}
	if form.Bins == nil {
		return fmt.Errorf(`a histogram is {"bins": {"0.0012": 4}}`)
	}
	gathered := form.Bins.Histogram()
	h.Reset()
	h.Bins, h.Counts = append(h.Bins, gathered.Bins...), append(h.Counts, gathered.Counts...)
	if form.Sum != nil {
		h.SetSum(*form.Sum)
	}
	return nil
}

// jsonBins is an object of bins as it is read: as a map, what is there twice would be there once.
type jsonBins struct{ Gathered }

// UnmarshalJSON adds what an object holds.
func (b *jsonBins) UnmarshalJSON(text []byte) error {
	tokens := json.NewDecoder(bytes.NewReader(text))
	tokens.UseNumber()
	if first, err := tokens.Token(); err != nil || first != json.Delim('{') {
		return fmt.Errorf(`the bins are an object, {"0.0012": 4}`)
	}
	for tokens.More() {
		name, err := tokens.Token()
		if err != nil {
			return err
		}
		number, err := tokens.Token()
		if err != nil {
			return err
		}
		key := name.(string) // of an object
		value, err := strconv.ParseFloat(key, 64)
		if err != nil || strings.ContainsAny(key, "xXpP_") {
			return fmt.Errorf("the bin %q is not a number", key)
		}
		digits, ok := number.(string) // as some write large numbers
		if plain, is := number.(json.Number); is {
			digits, ok = plain.String(), true
		}
		count, err := strconv.ParseUint(digits, 10, 64)
		if !ok || err != nil || count > maxCount {
			return fmt.Errorf("the count of the bin %s must be a whole number from 0 to %d", key, uint64(maxCount))
		}
		bin, ok := BinOf(value)
		if !ok {
			return fmt.Errorf("the bin %s: %w", key, ErrNoBin)
		}
		b.Add(bin, count)
	}
	return nil
}
