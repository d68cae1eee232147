package tsdb

// Series keys: the canonical bytes of a name and its labels, in memory, in the journal and in blocks. For each label,
// ascending by name, __name__ among them: uvarint length, name, uvarint length, value. Two label sets are the same
// series exactly when their keys are the same bytes.

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/cespare/xxhash/v2"
)

// NameLabel is the label that holds a series' name.
const NameLabel = "__name__"

// Limits of one series' labels.
const (
	MaxLabels     = 64
	MaxLabelName  = 256
	MaxLabelValue = 2048
)

// Label is one label of a series.
type Label struct{ Name, Value string }

// KeyError says why labels make no series.
type KeyError struct {
	Reason Reason
	Detail string
}

func (e *KeyError) Error() string { return e.Detail }

func keyError(reason Reason, format string, args ...any) error {
	return &KeyError{reason, fmt.Sprintf(format, args...)}
}

// AppendKey checks labels, puts them in order (changing the slice), leaves out those with an empty value, as Prometheus
// does, and appends their key to buffer. The error is a *KeyError.
func AppendKey(buffer []byte, labels []Label) ([]byte, error) {
	if len(labels) > MaxLabels {
		return buffer, keyError(TooManyLabels, "%d labels are too many, %d is the limit", len(labels), MaxLabels)
	}
	byName := func(a, b Label) int { return strings.Compare(a.Name, b.Name) }
	if !slices.IsSortedFunc(labels, byName) {
		slices.SortFunc(labels, byName)
	}
	start, named := len(buffer), false
	for i, l := range labels {
		switch {
		case len(l.Name) > MaxLabelName || len(l.Value) > MaxLabelValue:
			return buffer[:start], keyError(LabelTooLong, "the label %.40q is too long: a name may have %d bytes, a value %d",
				l.Name, MaxLabelName, MaxLabelValue)
		case l.Name == NameLabel && !ValidName(l.Value, true):
			return buffer[:start], keyError(BadName, "%.80q cannot be a metric's name", l.Value)
		case !ValidName(l.Name, false):
			return buffer[:start], keyError(BadLabel, "%.80q cannot be a label's name", l.Name)
		case !utf8.ValidString(l.Value):
			return buffer[:start], keyError(BadLabel, "the value of the label %s is not UTF-8", l.Name)
		case i > 0 && labels[i-1].Name == l.Name:
			return buffer[:start], keyError(BadLabel, "the label %s is there twice", l.Name)
		}
		if l.Value == "" {
			continue
		}
		named = named || l.Name == NameLabel
		buffer = binary.AppendUvarint(buffer, uint64(len(l.Name)))
		buffer = append(buffer, l.Name...)
		buffer = binary.AppendUvarint(buffer, uint64(len(l.Value)))
		buffer = append(buffer, l.Value...)
	}
	if !named {
		return buffer[:start], keyError(BadName, "the series has no name")
	}
	return buffer, nil
}

// ValidName says whether s can name a metric ([a-zA-Z_:][a-zA-Z0-9_:]*) or a label (the same without colons).
func ValidName(s string, metric bool) bool {
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c == '_':
		case c >= '0' && c <= '9' && i > 0:
		case c == ':' && metric:
		default:
			return false
		}
	}
	return s != ""
}

var errKey = errors.New("these bytes are not a series key")

// ParseKey is the inverse of AppendKey. The labels share key's memory. It checks the form only.
func ParseKey(key string) ([]Label, error) {
	labels := make([]Label, 0, 8)
	for key != "" {
		var parts [2]string
		for i := range parts {
			length, size := uvarintString(key)
			if size <= 0 || length > uint64(len(key)-size) {
				return nil, errKey
			}
			parts[i], key = key[size:size+int(length)], key[size+int(length):]
		}
		if n := len(labels); n > 0 && labels[n-1].Name >= parts[0] {
			return nil, errKey
		}
		labels = append(labels, Label{parts[0], parts[1]})
	}
	return labels, nil
}

func uvarintString(s string) (uint64, int) {
	var x uint64
	for i := 0; i < len(s) && i < binary.MaxVarintLen64; i++ {
		if s[i] < 0x80 {
			return x | uint64(s[i])<<(7*i), i + 1
		}
		x |= uint64(s[i]&0x7f) << (7 * i)
	}
	return 0, 0
}

// SeriesID is a series' 64-bit id, the same on every machine.
func SeriesID(key string) uint64 { return xxhash.Sum64String(key) }
