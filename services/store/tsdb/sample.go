// Package tsdb is Cistern's time-series store: samples are journalled, held compressed in memory (the head), and moved
// to immutable blocks. Numbers and whole histograms are both stored types. What it promises:
//
//   - A sample that Ingest has accepted is found by queries at once, and survives what its durability says.
//   - It is found once: a block carries the position up to which it holds the journal, so that a crash between writing
//     a block and moving the checkpoint repeats nothing. Histograms of one series and second add up, wherever they
//     are; of two numbers of one series and millisecond the one that came last wins.
//   - A refused sample is counted by its reason and does not touch the rest of its batch.
package tsdb

// What goes in: samples, their kinds, and the reasons for which they are refused.

import (
	"context"

	"cistern/services/histogram"
	"cistern/services/journal"

	promhistogram "github.com/prometheus/prometheus/model/histogram"
)

// Kind says what a series holds. The numbers are on disk.
type Kind uint8

const (
	// Guess is no kind: a number whose series becomes a counter when Prometheus' naming rules say so, else a gauge.
	Guess Kind = 0
	// Gauge is a number that goes up and down.
	Gauge Kind = 1
	// Counter is a number that only grows, but for restarts.
	Counter Kind = 2
	// Histogram is what was measured within one second, in log-linear bins.
	Histogram Kind = 3
	// NativeHistogram is Prometheus' own: exponential or custom buckets, a running total or not as its counter reset
	// hint says. It is stored as it came and never re-binned.
	NativeHistogram Kind = 4
)

// together says whether samples of both kinds can be in one series: numbers stay numbers.
func (k Kind) together(other Kind) bool {
	return k == other || k < Histogram && other < Histogram
}

func (k Kind) String() string {
	switch k {
	case Counter:
		return "counter"
	case Histogram:
		return "histogram"
	case NativeHistogram:
		return "native_histogram"
	}
	return "gauge"
}

// Sample is one measurement on its way in.
type Sample struct {
	// Key names the series: see AppendKey. It is only read during Ingest.
	Key []byte
	// Raw says that Key is what a client sent: labels in the form of a key, but in any order and not checked. The store
	// does both when it does not know these bytes.
	Raw bool
	// Kind is a new series'; an existing one keeps its own, as long as numbers stay numbers. Guess leaves it to the name.
	Kind Kind
	// Time is in milliseconds since 1970. That of a histogram is its second's beginning: Ingest rounds it down.
	Time  int64
	Value float64
	// Histogram is one, when Kind says so, or Encoded is, as histogram.Append wrote it and histogram.Skip accepts it: that
	// is kept as it is. Both are only read during Ingest.
	Histogram *histogram.Histogram
	Encoded   []byte
	// Native is a native histogram, when Kind says so; only read during Ingest. One that arrives as whole numbers is
	// converted with ToFloat(nil): no count below 2^53 changes by it.
	Native *promhistogram.FloatHistogram
}

// Metadata is what a client tells of a metric's name; Type is one of Prometheus' (counter, gauge, histogram,
// gaugehistogram, summary, info, stateset, unknown).
type Metadata struct{ Name, Type, Unit, Help string }

// Exemplar is one example of a series' measurements, with the trace it came from.
type Exemplar struct {
	Key    []byte // the series; only read during the call
	Labels []Label
	Value  float64
	Time   int64 // ms
}

// Reason is why a sample was refused; a label of cistern_storaged_rejected_total, so short and stable.
type Reason string

// The reasons of the store itself; inputs have further ones for what they cannot decode.
const (
	TooOld        Reason = "too_old"       // older than the retention of samples
	TooNew        Reason = "too_new"       // more than ten minutes in the future
	OutOfOrder    Reason = "out_of_order"  // further behind its series than the out-of-order window
	TypeConflict  Reason = "type_conflict" // a number for a histogram's series or the other way round
	SeriesRate    Reason = "series_rate"   // new series came too quickly
	SeriesLimit   Reason = "series_limit"  // too many series
	MemoryLimit   Reason = "memory_limit"  // the head is full and cannot be written out
	StorageError  Reason = "storage_error" // the journal cannot be written
	BadName       Reason = "bad_name"
	BadLabel      Reason = "bad_label"
	TooManyLabels Reason = "too_many_labels"
	LabelTooLong  Reason = "label_too_long"
	BadValue      Reason = "bad_value"
	BadHistogram  Reason = "bad_histogram" // a native histogram that contradicts itself
	EmptySample   Reason = "empty_histogram"
	ReservedName  Reason = "reserved_name" // of the appliance's own series
	// One sender, or all by one input, make new series too quickly; see Sender.
	SenderSeriesRate Reason = "sender_series_rate"
	InputSeriesRate  Reason = "input_series_rate"
	SenderSampleRate Reason = "sender_sample_rate" // one sender sends too much; see Admitter
)

// Later says whether what was refused for this reason would be taken some time later, so that it is worth sending again.
func (r Reason) Later() bool {
	return r == MemoryLimit || r == SeriesRate || r == SenderSeriesRate || r == InputSeriesRate || r == SenderSampleRate
}

// Rejection is one refused sample of a batch.
type Rejection struct {
	Index  int    `json:"index"`
	Reason Reason `json:"reason"`
	Detail string `json:"detail"`
}

// Ingester takes batches of samples: a store, or later the way to the nodes that hold them.
type Ingester interface {
	// Ingest stores a batch that came by the named input. Refused samples are returned and counted, the rest is
	// accepted with the given durability. An error means that none is acknowledged. Labels that the context forces
	// are in the series of all samples: see WithForcedLabels.
	Ingest(ctx context.Context, input string, batch []Sample, durability journal.Durability) ([]Rejection, error)
	// Reject counts samples that an input refused by itself.
	Reject(reason Reason, n int)
	// Describe keeps metadata by name, the latest wins, and Exemplify exemplars, the latest ones of each series; both
	// are kept over a restart. What is too long is left out.
	Describe(metadata []Metadata)
	Exemplify(ctx context.Context, exemplars []Exemplar)
}
