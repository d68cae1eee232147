package lines

// Samples on their way from lines to the store.

import (
	"errors"
	"net/netip"
	"unsafe"

	"cistern/services/ingest/senders"
	"cistern/services/store/tsdb"
)

// Batch gathers samples for one Ingest; their keys share memory. Not safe for several goroutines. The zero value is empty.
type Batch struct {
	// Labels is memory for the labels of the sample that is being made; see Add.
	Labels  []tsdb.Label
	samples []tsdb.Sample
	keys    []byte
	from    netip.Addr // who sent what is being parsed
	host    string     // the label of what names no host; "" for none
	hosts   senders.Hosts
	parts   senders.Parts
	refused map[refusal]int
}

type refusal struct {
	from   netip.Addr
	reason tsdb.Reason
}

// begin says who sent what is parsed from here on.
func (b *Batch) begin(from netip.Addr) {
	b.parts.Add(b.from, len(b.samples))
	b.from = from
}

func (b *Batch) reset() {
	if cap(b.keys) > 4<<20 {
		b.keys = nil
	}
	b.samples, b.keys = b.samples[:0], b.keys[:0]
	b.parts.Reset()
}

// Refuse counts something that is not stored.
func (b *Batch) Refuse(reason tsdb.Reason) {
	if b.refused == nil {
		b.refused = map[refusal]int{}
	}
	b.refused[refusal{b.from, reason}]++
}

// drop refuses the samples behind the first n for a reason, if there is one.
func (b *Batch) drop(n int, reason tsdb.Reason) {
	if reason == "" || n >= len(b.samples) {
		return
	}
	if b.refused == nil {
		b.refused = map[refusal]int{}
	}
	b.refused[refusal{b.from, reason}] += len(b.samples) - n
	b.samples = b.samples[:n]
}

// Refused is how often something was refused for a reason since the batch was stored last.
func (b *Batch) Refused(reason tsdb.Reason) (n int) {
	for one, times := range b.refused {
		if one.reason == reason {
			n += times
		}
	}
	return n
}

// Samples is how many samples it holds, and KeyBytes how long their keys are together.
func (b *Batch) Samples() int { return len(b.samples) }

// KeyBytes: see Samples.
func (b *Batch) KeyBytes() int { return len(b.keys) }

// Tag adds a label to Labels; of one that is there already the last one counts.
func (b *Batch) Tag(l tsdb.Label) {
	for i := range b.Labels {
		if b.Labels[i].Name == l.Name {
			b.Labels[i] = l
			return
		}
	}
	b.Labels = append(b.Labels, l)
}

// Add adds a sample of the series that Labels name, or refuses it. The labels' texts are copied.
func (b *Batch) Add(sample tsdb.Sample) {
	if b.host != "" {
		if name, _ := tsdb.HostName(b.label); name == "" {
			b.Tag(tsdb.Label{Name: senders.HostLabel, Value: b.host})
		}
	}
	start := len(b.keys)
	var err error
	if b.keys, err = tsdb.AppendKey(b.keys, b.Labels); err != nil {
		var bad *tsdb.KeyError
		if !errors.As(err, &bad) {
			bad = &tsdb.KeyError{Reason: tsdb.BadLabel}
		}
		b.Refuse(bad.Reason)
		return
	}
	// Growing keys moves it; what was there before stays where it is, and valid.
	sample.Key = b.keys[start:len(b.keys):len(b.keys)]
	b.samples = append(b.samples, sample)
}

// label is the value of one of Labels; "" when it is not there.
func (b *Batch) label(name string) string {
	for i := range b.Labels {
		if b.Labels[i].Name == name {
			return b.Labels[i].Value
		}
	}
	return ""
}

// Borrow is a text that shares the memory of bytes, which must not change while it is used.
func Borrow(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }
