package httptrap

// Histograms as OpenHistogram's clients write them: as texts H[1.2e-3]=4, one for each bin, or all of it in base64.

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"cistern/services/histogram"
)

// maxCount is the largest count in one bin: beyond 2^53 not every client is exact.
const maxCount = 1 << 53

// parseBin reads H[1.2e-3]=4. Any number in the bin stands for it.
func parseBin(s string) (bin histogram.Bin, count uint64, err error) {
	inner, _ := strings.CutPrefix(s, "H[")
	value, number, ok := strings.Cut(inner, "]=")
	v, isNumber := parseNumber(value)
	if !ok || !isNumber {
		return 0, 0, fmt.Errorf("%.40q is not H[1.2e-3]=4", s)
	}
	count, err = strconv.ParseUint(number, 10, 64)
	if err != nil || count > maxCount {
		return 0, 0, fmt.Errorf("the count of %.40q must be a whole number from 0 to %d", s, uint64(maxCount))
	}
	if bin, ok = histogram.BinOf(v); !ok {
		return 0, 0, histogram.ErrNoBin
	}
	return bin, count, nil
}

var errBinary = errors.New("the text is not an OpenHistogram in base64")

// parseBase64 reads OpenHistogram's binary form: two bytes of how many bins, the large end first; for each its two
// digits, its exponent, how many bytes its count has minus one, and these, the small end first.
func parseBase64(s string) (*histogram.Histogram, error) {
	raw, err := base64.StdEncoding.DecodeString(s)
	if err != nil || len(raw) < 2 {
		return nil, errBinary
	}
	n := int(raw[0])<<8 | int(raw[1])
	raw = raw[2:]
	var bins histogram.Gathered
	for range n {
		if len(raw) < 4 || raw[2] > 7 || len(raw) < 4+int(raw[2]) {
			return nil, errBinary
		}
		bin, err := histogram.FromParts(int(int8(raw[0])), int(int8(raw[1])))
		if err != nil {
			return nil, err
		}
		size := int(raw[2]) + 1
		count := uint64(0)
		for i := range size {
			count |= uint64(raw[3+i]) << (8 * i)
		}
		if count > maxCount {
			return nil, errBinary
		}
		bins.Add(bin, count)
		raw = raw[3+size:]
	}
	if len(raw) > 0 {
		return nil, errBinary
	}
	return bins.Histogram(), nil
}
