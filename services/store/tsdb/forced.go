package tsdb

// Labels that are forced on all that somebody sends: they take the place of those of the same names, before anything else is
// done with the samples.

import (
	"context"
	"encoding/binary"
	"slices"
	"unsafe"

	"github.com/cespare/xxhash/v2"
)

type forcedKey struct{}

// WithForcedLabels gives all that is ingested under the context these labels, whatever labels of these names it has.
func WithForcedLabels(ctx context.Context, labels []Label) context.Context {
	return context.WithValue(ctx, forcedKey{}, labels)
}

// ForcedLabels is those of the context. Ingest sees to them by itself: this is for inputs that remember something of each series,
// which must be the series that is stored.
func ForcedLabels(ctx context.Context) []Label {
	labels, _ := ctx.Value(forcedKey{}).([]Label)
	return labels
}

// ReplaceLabels puts the forced labels into a list, in place of those of their names. It may change the list.
func ReplaceLabels(labels, forced []Label) []Label {
	if len(forced) == 0 {
		return labels
	}
	labels = slices.DeleteFunc(labels, func(l Label) bool {
		return slices.ContainsFunc(forced, func(other Label) bool { return other.Name == l.Name })
	})
	return append(labels, forced...)
}

// forcing puts labels into keys, one after the other in the same memory: millions of samples can share a few keys that are a
// hundred kilobytes long. Those are made once for a batch.
type forcing struct {
	labels []Label
	parsed []Label
	buffer []byte
	last   *Sample // whose key is in sample, as it was sent
	sample Sample
	hash   uint64
	long   map[sentKey]madeKey
}

// longKey is from how many bytes on a key is remembered: all that a request can hold then take little more than itself.
const longKey = 2048

// sentKey is where a key is that was sent; all of a batch are in memory at once.
type sentKey struct {
	first *byte
	bytes int
}

type madeKey struct {
	key  []byte
	raw  bool
	hash uint64
}

// next is a sample with the labels in its key, and the key's hash; both are valid until the next one. What makes no series is Raw:
// who looks the series up says what is wrong.
func (f *forcing) next(one *Sample) (*Sample, uint64) {
	key, raw := f.sample.Key, f.sample.Raw
	if f.last == nil || !sameSlice(one.Key, f.last.Key) {
		key, raw = f.make(one.Key)
	}
	f.last, f.sample = one, *one
	f.sample.Key, f.sample.Raw = key, raw
	return &f.sample, f.hash
}

// make is a key with the labels in it; its hash is in f.
func (f *forcing) make(sent []byte) (key []byte, raw bool) {
	if len(sent) < longKey {
		f.buffer, raw = f.append(f.buffer[:0], sent)
		f.hash = xxhash.Sum64(f.buffer)
		return f.buffer, raw
	}
	at := sentKey{unsafe.SliceData(sent), len(sent)}
	made, known := f.long[at]
	if !known {
		made.key, made.raw = f.append(nil, sent)
		made.hash = xxhash.Sum64(made.key)
		if f.long == nil {
			f.long = map[sentKey]madeKey{}
		}
		f.long[at] = made
	}
	f.hash = made.hash
	return made.key, made.raw
}

// append appends a key with the labels in it; raw says that it makes no series.
func (f *forcing) append(buffer, key []byte) (forced []byte, raw bool) {
	labels, err := parseRaw(f.parsed[:0], key)
	if f.parsed = labels; err != nil {
		return append(buffer, key...), true
	}
	f.parsed = ReplaceLabels(labels, f.labels)
	if buffer, err = AppendKey(buffer, f.parsed); err != nil {
		return appendUnchecked(buffer, f.parsed), true
	}
	return buffer, false
}

// appendUnchecked is AppendKey for labels that make no series.
func appendUnchecked(buffer []byte, labels []Label) []byte {
	for _, l := range labels {
		buffer = append(buffer, keyLabel)
		buffer = binary.AppendUvarint(buffer, uint64(2+uvarintLen(len(l.Name))+len(l.Name)+uvarintLen(len(l.Value))+len(l.Value)))
		buffer = append(buffer, keyName)
		buffer = append(binary.AppendUvarint(buffer, uint64(len(l.Name))), l.Name...)
		buffer = append(buffer, keyValue)
		buffer = append(binary.AppendUvarint(buffer, uint64(len(l.Value))), l.Value...)
	}
	return buffer
}
