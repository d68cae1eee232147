package histogram

// The forms in which OpenHistogram's own libraries exchange histograms.
//
// Binary, numbers big-endian unless said otherwise: uint16 how many bins; for each, int8 the two digits (12 is 1.2, 0 is
// zero), int8 the exponent of the first digit, uint8 how many bytes the count has, less one; the count, little-endian.
// In text the same in base64, padded. The other text form is a list of H[1.2e-03]=4: any value within the bin, and how
// many there are.

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"math/bits"
	"strconv"
	"strings"
)

// AppendReference appends h in the libraries' binary form to buffer. Counts of zero are left out. The Go library reads no
// more than 32,767 bins and panics at counts from 2^56 on; here all are read.
func (h *Histogram) AppendReference(buffer []byte) []byte {
	at, n := len(buffer), 0
	buffer = append(buffer, 0, 0)
	for i, bin := range h.Bins {
		count := h.Counts[i]
		if count == 0 {
			continue
		}
		n++
		mantissa, exponent := bin.Parts()
		size := (bits.Len64(count) + 7) / 8
		buffer = append(buffer, byte(int8(mantissa)), byte(int8(exponent)), byte(size-1))
		for range size {
			buffer = append(buffer, byte(count))
			count >>= 8
		}
	}
	binary.BigEndian.PutUint16(buffer[at:], uint16(n))
	return buffer
}

// DecodeReference replaces h by what the front of buffer holds in the libraries' binary form, keeping h's memory, and
// returns the rest of buffer. Bins may come in any order, as some libraries write them, and more than once. Refused are
// counts of zero and bins that are none, as the libraries make them of NaN and infinities. On an error h is empty.
func (h *Histogram) DecodeReference(buffer []byte) (rest []byte, err error) {
	h.Reset()
	defer func() {
		if err != nil {
			h.Reset()
		}
	}()
	if len(buffer) < 2 {
		return nil, ErrEncoding
	}
	n := int(binary.BigEndian.Uint16(buffer))
	buffer = buffer[2:]
	if n*4 > len(buffer) {
		return nil, ErrEncoding
	}
	var scattered *Dense // when bins are out of order: inserting each into a list would cost their square
	for range n {
		if len(buffer) < 4 || buffer[2] > 7 || len(buffer) < 4+int(buffer[2]) {
			return nil, ErrEncoding
		}
		mantissa, exponent := int(int8(buffer[0])), int(int8(buffer[1]))
		if mantissa == 0 && exponent != 0 {
			return nil, ErrEncoding
		}
		bin, err := FromParts(mantissa, exponent)
		if err != nil {
			return nil, fmt.Errorf("%w: %v", ErrEncoding, err)
		}
		size := int(buffer[2]) + 1
		count := uint64(0)
		for i := size - 1; i >= 0; i-- {
			count = count<<8 | uint64(buffer[3+i])
		}
		if count == 0 {
			return nil, ErrEncoding
		}
		buffer = buffer[3+size:]
		if scattered == nil && len(h.Bins) > 0 && h.Bins[len(h.Bins)-1] >= bin {
			scattered = &Dense{}
			scattered.Merge(h)
		}
		if scattered != nil {
			scattered.Add(bin, count)
		} else {
			h.Bins, h.Counts = append(h.Bins, bin), append(h.Counts, count)
		}
	}
	if scattered != nil {
		sorted := scattered.Histogram()
		h.Bins, h.Counts = append(h.Bins[:0], sorted.Bins...), append(h.Counts[:0], sorted.Counts...)
	}
	return buffer, nil
}

// Base64 is AppendReference in base64.
func (h *Histogram) Base64() string { return base64.StdEncoding.EncodeToString(h.AppendReference(nil)) }

// maxReference is the most bytes that the binary form of a histogram has: every bin, with the longest counts.
const maxReference = 2 + 11*(2*int(MaxBin)+1)

// ParseBase64 replaces h by what Base64 wrote; see DecodeReference. Nothing may follow it.
func (h *Histogram) ParseBase64(text string) error {
	h.Reset()
	if len(text) > base64.StdEncoding.EncodedLen(maxReference) || strings.ContainsAny(text, "\r\n") {
		return ErrEncoding
	}
	bytes, err := base64.StdEncoding.Strict().DecodeString(text)
	if err != nil {
		return fmt.Errorf("%w: %v", ErrEncoding, err)
	}
	rest, err := h.DecodeReference(bytes)
	if err == nil && len(rest) > 0 {
		h.Reset()
		return ErrEncoding
	}
	return err
}

// Strings is h as the libraries' lists of text: H[1.2e-03]=4 for each bin, H[0.0e+00] for zero.
func (h *Histogram) Strings() []string {
	list := make([]string, 0, len(h.Bins))
	for i, bin := range h.Bins {
		if h.Counts[i] > 0 {
			list = append(list, string(appendBinText(nil, bin, h.Counts[i])))
		}
	}
	return list
}

// AppendText appends Strings to buffer, with commas between them. It never fails; encoding.TextAppender wants the error.
func (h *Histogram) AppendText(buffer []byte) ([]byte, error) {
	comma := false
	for i, bin := range h.Bins {
		if h.Counts[i] == 0 {
			continue
		}
		if comma {
			buffer = append(buffer, ',')
		}
		comma = true
		buffer = appendBinText(buffer, bin, h.Counts[i])
	}
	return buffer, nil
}

func appendBinText(buffer []byte, bin Bin, count uint64) []byte {
	mantissa, exponent := bin.Parts()
	buffer = append(buffer, 'H', '[')
	if mantissa < 0 {
		buffer, mantissa = append(buffer, '-'), -mantissa
	}
	buffer = append(buffer, byte('0'+mantissa/10), '.', byte('0'+mantissa%10), 'e')
	if exponent < 0 {
		buffer, exponent = append(buffer, '-'), -exponent
	} else {
		buffer = append(buffer, '+')
	}
	if exponent < 10 {
		buffer = append(buffer, '0')
	}
	buffer = strconv.AppendInt(buffer, int64(exponent), 10)
	buffer = append(buffer, ']', '=')
	return strconv.AppendUint(buffer, count, 10)
}

// maxText is the longest text that ParseText reads: every bin, with the longest counts, with room.
const maxText = 4 << 20

// ParseText replaces h by a list of H[1.2e-3]=4 with commas, semicolons or white space between them; a value that comes
// twice adds up. Values are decimal numbers, counts whole ones. On an error h is empty.
func (h *Histogram) ParseText(text string) (err error) {
	h.Reset()
	if len(text) > maxText {
		return fmt.Errorf("a histogram's text has at most %d bytes", maxText)
	}
	var dense Dense
	for field := range strings.FieldsFuncSeq(text, func(r rune) bool {
		return r == ',' || r == ';' || r == ' ' || r == '\t' || r == '\n' || r == '\r'
	}) {
		bin, count, ok := parseBinText(field)
		if !ok {
			return fmt.Errorf("%.40q is not of the form H[1.2e-3]=4", field)
		}
		dense.Add(bin, count)
	}
	sorted := dense.Histogram()
	h.Bins, h.Counts = append(h.Bins, sorted.Bins...), append(h.Counts, sorted.Counts...)
	return nil
}

func parseBinText(field string) (bin Bin, count uint64, ok bool) {
	rest, ok := strings.CutPrefix(field, "H[")
	if !ok {
		return 0, 0, false
	}
	number, digits, ok := strings.Cut(rest, "]=")
	// Only decimal numbers: ParseFloat also takes hexadecimal, Inf, NaN and underscores.
	if !ok || number == "" || len(number) > 400 || strings.Trim(number, "0123456789.eE+-") != "" {
		return 0, 0, false
	}
	for _, r := range digits {
		if r < '0' || r > '9' {
			return 0, 0, false
		}
	}
	value, err := strconv.ParseFloat(number, 64)
	if err != nil {
		return 0, 0, false
	}
	count, err = strconv.ParseUint(digits, 10, 64)
	if err != nil {
		return 0, 0, false
	}
	bin, ok = BinOf(value)
	return bin, count, ok
}
