package tsdb

// Series keys: the canonical bytes of a name and its labels, in memory, in the journal and in blocks. Two label sets are
// the same series exactly when their keys are the same bytes. For each label, ascending by name, __name__ among them:
//
//	0x0a, uvarint length of what follows, 0x0a, uvarint length, name, 0x12, uvarint length, value
//
// which is how protobuf encodes prometheus.TimeSeries' labels. A remote writer that keeps to the specification (labels
// in order, none empty) therefore sends keys: the bytes of its message are looked up as they are, and neither parsed
// nor checked again once the series is known.

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

// The tags of the key's fields.
const (
	keyLabel = 0x0a
	keyName  = 0x0a
	keyValue = 0x12
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
// does, and appends their key to buffer. Any UTF-8 is a name, so that dots stay. The error is a *KeyError.
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
		case l.Name == "" || !utf8.ValidString(l.Name):
			return buffer[:start], keyError(BadLabel, "%.80q cannot be a label's name: it must be UTF-8 and not empty", l.Name)
		case !utf8.ValidString(l.Value):
			if l.Name == NameLabel {
				return buffer[:start], keyError(BadName, "%.80q cannot be a metric's name: it is not UTF-8", l.Value)
			}
			return buffer[:start], keyError(BadLabel, "the value of the label %s is not UTF-8", l.Name)
		case i > 0 && labels[i-1].Name == l.Name:
			return buffer[:start], keyError(BadLabel, "the label %s is there twice", l.Name)
		}
		if l.Value == "" {
			continue
		}
		named = named || l.Name == NameLabel
		buffer = append(buffer, keyLabel)
		buffer = binary.AppendUvarint(buffer, uint64(2+uvarintLen(len(l.Name))+len(l.Name)+uvarintLen(len(l.Value))+len(l.Value)))
		buffer = append(buffer, keyName)
		buffer = binary.AppendUvarint(buffer, uint64(len(l.Name)))
		buffer = append(buffer, l.Name...)
		buffer = append(buffer, keyValue)
		buffer = binary.AppendUvarint(buffer, uint64(len(l.Value)))
		buffer = append(buffer, l.Value...)
	}
	if !named {
		return buffer[:start], keyError(BadName, "the series has no name")
	}
	return buffer, nil
}

func uvarintLen(n int) int {
	size := 1
	for n >= 0x80 {
		n >>= 7
		size++
	}
	return size
}

var errKey = errors.New("these bytes are not a series key")

// ParseKey is the inverse of AppendKey. The labels share key's memory. It checks the form only.
func ParseKey(key string) ([]Label, error) {
	n := 0
	for rest, ok := key, true; rest != "" && ok; n++ { // so that no more memory is taken than is needed
		_, rest, ok = keyField(rest, keyLabel)
	}
	return appendLabelsOf(make([]Label, 0, min(n, 64)), key)
}

// appendLabelsOf is ParseKey into memory that the caller has.
func appendLabelsOf(labels []Label, key string) ([]Label, error) {
	first := len(labels)
	for key != "" {
		name, value, rest, ok := NextLabel(key)
		if n := len(labels); !ok || n > first && labels[n-1].Name >= name {
			return nil, errKey
		}
		labels, key = append(labels, Label{name, value}), rest
	}
	return labels, nil
}

// NextLabel takes the first label off a key that is not empty; ok is false when it is none. What comes out shares key's memory.
func NextLabel(key string) (name, value, rest string, ok bool) {
	// Nearly all are short: their lengths are a byte each.
	if len(key) >= 6 && key[0] == keyLabel && key[1] < 0x80 && key[2] == keyName && key[3] < 0x80 {
		end, named := 2+int(key[1]), 4+int(key[3])
		if end <= len(key) && named+2 <= end && key[named] == keyValue && int(key[named+1]) == end-named-2 {
			return key[4:named], key[named+2 : end], key[end:], true
		}
	}
	body, rest, ok := keyField(key, keyLabel)
	if !ok {
		return "", "", "", false
	}
	name, body, ok = keyField(body, keyName)
	if !ok {
		return "", "", "", false
	}
	value, body, ok = keyField(body, keyValue)
	return name, value, rest, ok && body == ""
}

// keyField takes a tagged, length-delimited field off the front of key.
func keyField(key string, tag byte) (field, rest string, ok bool) {
	if key == "" || key[0] != tag {
		return "", "", false
	}
	length, size := uvarintString(key[1:])
	if size <= 0 || length > uint64(len(key)-1-size) {
		return "", "", false
	}
	start := 1 + size
	return key[start : start+int(length)], key[start+int(length):], true
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

// LabelOf is a label's value in a key; "" when it has none.
func LabelOf(key, name string) string {
	for key != "" {
		n, value, rest, ok := NextLabel(key)
		if !ok {
			return ""
		}
		if n == name {
			return value
		}
		key = rest
	}
	return ""
}

// EachLabel calls f with the labels of a key, in order. What is no key ends it early.
func EachLabel(key string, f func(name, value string)) {
	for key != "" {
		name, value, rest, ok := NextLabel(key)
		if !ok {
			return
		}
		f(name, value)
		key = rest
	}
}
