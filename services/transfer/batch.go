package transfer

// Requests of remote write 2.0: it says what kind of series a new one is, and names each label once.

import (
	"github.com/golang/snappy"
	"github.com/prometheus/prometheus/model/labels"
	writev2 "github.com/prometheus/prometheus/prompb/io/prometheus/write/v2"
)

// What one request holds at most: nginx takes no more than a megabyte here, and what cannot be compressed is as long as it was.
const (
	batchBytes   = 800 << 10
	batchSamples = 20_000
	sampleBytes  = 2 + 9 + 7
	// maxLabels is what the labels of a series may take: with those of a full batch they are less than the megabyte.
	maxLabels = 200 << 10
)

// batch is one request on its way, and where an import is when it was acknowledged.
type batch struct {
	symbols writev2.SymbolsTable
	series  []writev2.TimeSeries
	bytes   int
	samples int64

	position Position
	counts   Counts // what became of the samples before position since the batch before
	body     []byte
}

func newBatch() *batch { return &batch{symbols: writev2.NewSymbolTable()} }

func (b *batch) full() bool { return b.bytes >= batchBytes || b.samples >= batchSamples }

// labelBytes is what a part's labels and texts take, as if no other series had them.
func labelBytes(p *Part) int {
	size := 32 + len(p.Help) + len(p.Unit)
	p.Labels.Range(func(l labels.Label) { size += len(l.Name) + len(l.Value) + 8 })
	return size
}

// begin makes the following samples those of a part.
func (b *batch) begin(p *Part) {
	one := writev2.TimeSeries{LabelsRefs: b.symbols.SymbolizeLabels(p.Labels, nil)}
	switch p.Kind {
	case Counter:
		one.Metadata.Type = writev2.Metadata_METRIC_TYPE_COUNTER
	case Gauge:
		one.Metadata.Type = writev2.Metadata_METRIC_TYPE_GAUGE
	}
	if p.Help != "" {
		one.Metadata.HelpRef = b.symbols.Symbolize(p.Help)
	}
	if p.Unit != "" {
		one.Metadata.UnitRef = b.symbols.Symbolize(p.Unit)
	}
	b.series = append(b.series, one)
	b.bytes += labelBytes(p)
}

func (b *batch) add(s *Sample) {
	one := &b.series[len(b.series)-1]
	b.samples++
	if s.Native == nil {
		one.Samples = append(one.Samples, writev2.Sample{Value: s.Value, Timestamp: s.Time})
		b.bytes += sampleBytes
		return
	}
	h := writev2.FromFloatHistogram(0, s.Time, s.Native.Copy())
	one.Histograms = append(one.Histograms, h)
	b.bytes += h.Size() + 4
}

// pack makes the request's body.
func (b *batch) pack() error {
	if b.samples == 0 {
		return nil
	}
	request := writev2.Request{Symbols: b.symbols.Symbols(), Timeseries: b.series}
	raw, err := request.Marshal()
	if err != nil {
		return err
	}
	b.body = snappy.Encode(nil, raw)
	b.series, b.symbols = nil, writev2.SymbolsTable{}
	return nil
}
