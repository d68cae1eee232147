package histogram

// The forms in which OpenHistogram's libraries exchange histograms: bytes, the same in base64, and text.
//
// Bytes, all numbers big-endian unless said otherwise: two bytes number of bins; for each bin: a signed byte, its two
// digits 10…99 or -10…-99, 0 for zero; a signed byte, the power of ten of the first digit; a byte, how many bytes its count
// has, minus one; the count, lowest byte first. A bin of -1 × 10^0 is the one of what was not a number.

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"strconv"
	"strings"
)

// ErrTooManyBins is what a histogram of more bins than the reference's form can name is refused with.
var ErrTooManyBins = errors.New("OpenHistogram's form holds at most 65535 bins")

// AppendReference appends the reference's bytes. Its Go library reads at most 32,767 bins of them, its C library 65,535.
func (h *Histogram) AppendReference(buffer []byte) ([]byte, error) {
	used := 0
	for _, n := range h.Counts {
		if n > 0 {
			used++
		}
	}
	if used > math.MaxUint16 {
		return buffer, ErrTooManyBins
	}
	buffer = binary.BigEndian.AppendUint16(buffer, uint16(used))
	for i, n := range h.Counts {
		if n == 0 {
			continue
		}
		mantissa, exponent := h.Bins[i].Parts()
		size := (bits.Len64(n) + 7) / 8
		buffer = append(buffer, byte(mantissa), byte(exponent), byte(size-1))
		for range size {
			buffer = append(buffer, byte(n))
			n >>= 8
		}
	}
	return buffer, nil
}

// DecodeReference replaces h by what the front of buffer holds in the reference's form, and returns the rest of buffer.
// Values that were not numbers are left out: no bin of ours holds them.
func (h *Histogram) DecodeReference(buffer []byte) (rest []byte, err error) {
	h.Reset()
	if len(buffer) < 2 {
		return nil, ErrEncoding
	}
	n := int(binary.BigEndian.Uint16(buffer))
	buffer = buffer[2:]
	for range n {
		if len(buffer) < 4 || buffer[2] > 7 || len(buffer) < 4+int(buffer[2]) {
			h.Reset()
			return nil, ErrEncoding
		}
		mantissa, exponent, size := int(int8(buffer[0])), int(int8(buffer[1])), int(buffer[2])+1
		count := uint64(0)
		for i := size - 1; i >= 0; i-- {
			count = count<<8 | uint64(buffer[3+i])
		}
		buffer = buffer[3+size:]
		if mantissa == -1 && exponent == 0 {
			continue
		}
		bin, err := FromParts(mantissa, exponent)
		if err != nil {
			h.Reset()
			return nil, fmt.Errorf("%w: %w", ErrEncoding, err)
		}
		h.Add(bin, count)
	}
	return buffer, nil
}

// Base64 is the reference's bytes in base64.
func (h *Histogram) Base64() (string, error) {
	binary, err := h.AppendReference(nil)
	return base64.StdEncoding.EncodeToString(binary), err
}

// ParseBase64 replaces h by what Base64 wrote.
func (h *Histogram) ParseBase64(text string) error {
	h.Reset()
	binary, err := base64.StdEncoding.DecodeString(strings.TrimSpace(text))
	if err != nil {
		return fmt.Errorf("%w: %w", ErrEncoding, err)
	}
	rest, err := h.DecodeReference(binary)
	if err == nil && len(rest) > 0 {
		h.Reset()
		return fmt.Errorf("%w: %d bytes follow it", ErrEncoding, len(rest))
	}
	return err
}

// AppendText appends "H[1.2e-03]=4" for each bin, with a comma in between.
func (h *Histogram) AppendText(buffer []byte) ([]byte, error) {
	for i, bin := range h.Bins {
		if i > 0 {
			buffer = append(buffer, ',')
		}
		value := lowerOf(bin)
		buffer = append(buffer, "H["...)
		buffer = strconv.AppendFloat(buffer, value, 'e', 1, 64)
		buffer = append(buffer, "]="...)
		buffer = strconv.AppendUint(buffer, h.Counts[i], 10)
	}
	return buffer, nil
}

// MarshalText is AppendText. UnmarshalText reads it back; see ParseText.
func (h *Histogram) MarshalText() ([]byte, error) { return h.AppendText(nil) }

// UnmarshalText is ParseText.
func (h *Histogram) UnmarshalText(text []byte) error { return h.ParseText(string(text)) }

// ParseText replaces h by bins in the form H[1.2e-3]=4, parted by commas, semicolons or white space, in any order. What
// stands in brackets may be any number: its bin is meant.
func (h *Histogram) ParseText(text string) error {
	h.Reset()
	for part := range strings.FieldsFuncSeq(text, func(r rune) bool { return strings.ContainsRune(",; \t\r\n", r) }) {
		inner, found := strings.CutPrefix(part, "H[")
		number, amount, there := strings.Cut(inner, "]=")
		if !found || !there {
			h.Reset()
			return fmt.Errorf("%w: %q is not of the form H[1.2e-3]=4", ErrEncoding, cut(part))
		}
		value, err := strconv.ParseFloat(number, 64)
		if err != nil {
			h.Reset()
			return fmt.Errorf("%w: the bin %q is not a number", ErrEncoding, cut(number))
		}
		n, err := strconv.ParseUint(amount, 10, 64)
		if err != nil {
			h.Reset()
			return fmt.Errorf("%w: the count %q is not a whole number from 0 to 2^64-1", ErrEncoding, cut(amount))
		}
		if err := h.Insert(value, n); err != nil {
			h.Reset()
			return fmt.Errorf("the bin %s: %w", number, err)
		}
	}
	return nil
}

// cut keeps what a stranger wrote to a length that fits into an error.
func cut(s string) string {
	const most = 40
	if len(s) > most {
		return string(bytes.ToValidUTF8([]byte(s[:most]), nil)) + "…"
	}
	return s
}

// lowerOf is the bound of a bin that is nearer to zero: the number that names it.
func lowerOf(b Bin) float64 {
	if b < 0 {
		return -lower[-b]
	}
	return lower[b]
}
