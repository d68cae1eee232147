package main

// Histograms of the same measurements in everybody's own form: log-linear bins for Cistern, native exponential buckets
// for Prometheus, vmrange buckets for VictoriaMetrics. The measurements are log-normal; their middle moves over the day.

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
)

const (
	sigma        = 1.3
	middle       = 0.02 // seconds
	phases       = 96   // of a day: the middle changes every quarter of an hour
	draws        = 1 << 16
	nativeSchema = 3 // 2^(1/8) from bucket to bucket: what Prometheus' clients choose for "10 %"
	// perSecond is how many measurements one histogram holds.
	perSecond = 2000
)

// bins of the three forms, as offsets into dense arrays.
const (
	logLinearFirst = -12 * 90 // decades below 1
	logLinearBins  = 20 * 90
	nativeFirst    = -200
	nativeBins     = 400
	vmBins         = 27 * 18
)

// measurement is where one value falls.
type measurement struct{ logLinear, native, vm uint16 }

// generator draws measurements. Values come from a table of equally probable ones: a draw is a table look-up, so that a
// billion takes seconds.
type generator struct {
	tables [phases][]measurement
}

func newGenerator() *generator {
	g := &generator{}
	for phase := range phases {
		factor := middle * (1 + 0.3*math.Sin(2*math.Pi*float64(phase)/phases))
		table := make([]measurement, draws)
		for i := range table {
			z := math.Sqrt2 * math.Erfinv(2*(float64(i)+0.5)/draws-1)
			table[i] = place(factor * math.Exp(sigma*z))
		}
		g.tables[phase] = table
	}
	return g
}

func place(v float64) measurement {
	decade := math.Floor(math.Log10(v))
	mantissa := int(v / math.Pow(10, decade) * 10)
	mantissa = min(max(mantissa, 10), 99)
	vm := (math.Log10(v) + 9) * 18
	return measurement{
		logLinear: uint16(int(decade)*90 + mantissa - 10 - logLinearFirst),
		native:    uint16(int(math.Ceil(math.Log2(v)*(1<<nativeSchema))) - nativeFirst),
		vm:        uint16(min(max(int(vm), 0), vmBins-1)),
	}
}

// counts are one histogram in the three forms.
type counts struct {
	logLinear [logLinearBins]uint32
	native    [nativeBins]uint32
	vm        [vmBins]uint32
	n         uint64
}

// draw adds n measurements, a multiple of four, made at a second of the day.
func (g *generator) draw(c *counts, r *rand.PCG, second int64, n int) {
	table := g.tables[second/900%phases]
	for i := 0; i < n; i += 4 {
		bits := r.Uint64()
		for k := 0; k < 64; k += 16 {
			m := table[uint16(bits>>k)]
			c.logLinear[m.logLinear]++
			c.native[m.native]++
			c.vm[m.vm]++
		}
	}
	c.n += uint64(n)
}

// logLinearParts are the decimal digits and exponent of a bin: mantissa/10 × 10^exponent.
func logLinearParts(i int) (mantissa, exponent int) {
	i += logLinearFirst
	decade := int(math.Floor(float64(i) / 90))
	return i - decade*90 + 10, decade
}

var logLinearMiddle = func() (values [logLinearBins]float64) {
	for i := range values {
		mantissa, exponent := logLinearParts(i)
		values[i] = (float64(mantissa) + 0.5) / 10 * math.Pow(10, float64(exponent))
	}
	return values
}()

// vmRanges are the bucket names as VictoriaMetrics' own client library makes them.
var vmRanges = func() (names [vmBins]string) {
	v := 1e-9
	from := fmt.Sprintf("%.3e", v)
	multiplier := math.Pow(10, 1.0/18)
	for i := range names {
		v *= multiplier
		to := fmt.Sprintf("%.3e", v)
		names[i] = from + "..." + to
		from = to
	}
	return names
}()

// series is what a histogram series has sent so far: Prometheus' and VictoriaMetrics' are cumulative.
type histogramSeries struct {
	labels []label // without name, sorted
	random *rand.PCG
	counts
	native       [nativeBins]uint64
	vm           [vmBins]uint64
	total        uint64
	sum          float64
	nativeLabels []byte
	countLabels  []byte
	sumLabels    []byte
	vmLabels     map[int][]byte
	name         string
	populated    int64 // log-linear bins with something in them, over all histograms
	nativeFilled int64
	vmFilled     int64
	histograms   int64
	buffered     map[int][]byte // vm: samples that wait for their request
	countBuffer  []byte
	sumBuffer    []byte
}

func newHistogramSeries(name string, labels []label, seed uint64) *histogramSeries {
	s := &histogramSeries{name: name, labels: labels, random: rand.NewPCG(seed, 7), vmLabels: map[int][]byte{}, buffered: map[int][]byte{}}
	s.nativeLabels = appendLabels(nil, append([]label{{"__name__", name}}, labels...))
	s.countLabels = appendLabels(nil, append([]label{{"__name__", name + "_count"}}, labels...))
	s.sumLabels = appendLabels(nil, append([]label{{"__name__", name + "_sum"}}, labels...))
	return s
}

// clear forgets the current histogram.
func (s *histogramSeries) clear() { s.counts = counts{} }

// accumulate adds the current histogram to the cumulative forms.
func (s *histogramSeries) accumulate() {
	for i, n := range s.counts.native {
		if n > 0 {
			s.native[i] += uint64(n)
		}
	}
	for i, n := range s.counts.vm {
		if n > 0 {
			s.vm[i] += uint64(n)
		}
	}
	for i, n := range s.counts.logLinear {
		if n > 0 {
			s.populated++
			s.sum += float64(n) * logLinearMiddle[i]
		}
	}
	s.total += s.counts.n
	s.histograms++
}

// appendNativeAt adds the cumulative native histogram of a moment.
func (s *histogramSeries) appendNativeAt(to, scratch []byte, time int64) (out, scratchOut []byte) {
	first, last := nativeBins, 0
	for i, n := range s.native {
		if n > 0 {
			first, last = min(first, i), i
			s.nativeFilled++
		}
	}
	h := nativeHistogram{count: s.total, sum: s.sum, schema: nativeSchema, first: first + nativeFirst, buckets: s.native[first : last+1], time: time}
	return appendNative(to, &h, scratch)
}

// bufferVM adds a sample to every bucket that was ever filled, and to sum and count: what a client of VictoriaMetrics
// exposes.
func (s *histogramSeries) bufferVM(time int64) (samples int) {
	for i, n := range s.vm {
		if n == 0 {
			continue
		}
		if s.vmLabels[i] == nil {
			labels := append([]label{{"__name__", s.name + "_bucket"}}, s.labels...)
			s.vmLabels[i] = appendLabels(nil, append(labels, label{"vmrange", vmRanges[i]}))
		}
		s.buffered[i] = appendSample(s.buffered[i], float64(n), time)
		s.vmFilled++
		samples++
	}
	s.countBuffer = appendSample(s.countBuffer, float64(s.total), time)
	s.sumBuffer = appendSample(s.sumBuffer, s.sum, time)
	return samples + 2
}

// appendLatestVM writes the samples of one time, which the buffers got last, as a series each.
func (s *histogramSeries) appendLatestVM(message []byte, time int64) []byte {
	latest := func(labels, buffer []byte) {
		message = appendSeries(message, labels, buffer[len(buffer)-sampleLen(time):])
	}
	for i := range s.vm {
		if len(s.buffered[i]) > 0 {
			latest(s.vmLabels[i], s.buffered[i])
		}
	}
	latest(s.countLabels, s.countBuffer)
	latest(s.sumLabels, s.sumBuffer)
	return message
}

// flushVM writes what was buffered as series of a request.
func (s *histogramSeries) flushVM(message []byte) []byte {
	for i := range s.vm {
		if len(s.buffered[i]) > 0 {
			message = appendSeries(message, s.vmLabels[i], s.buffered[i])
			s.buffered[i] = s.buffered[i][:0]
		}
	}
	message = appendSeries(message, s.countLabels, s.countBuffer)
	message = appendSeries(message, s.sumLabels, s.sumBuffer)
	s.countBuffer, s.sumBuffer = s.countBuffer[:0], s.sumBuffer[:0]
	return message
}

// cisternHeaders, cisternPath and cisternBatch are the one place that knows how histograms get to storaged: its binary
// import, see services/ingest/importer/binary.go.
var cisternHeaders = map[string]string{"Content-Type": "application/vnd.cistern.samples"}

const cisternPath = "/api/v1/import"

const cisternHistogram = 3 // the kind of a series

// cisternBatch is a request in the making.
type cisternBatch struct {
	series, samples []byte
	seriesCount     int64
	sampleCount     int
	number, time    int64 // of the sample before
	bins, counts    []byte
}

func (c *cisternBatch) reset() {
	c.series, c.samples = c.series[:0], c.samples[:0]
	c.seriesCount, c.sampleCount, c.number, c.time = 0, 0, 0, 0
}

// begin declares the next series.
func (c *cisternBatch) begin(s *histogramSeries) {
	c.series = append(c.series, cisternHistogram)
	c.series = binary.AppendUvarint(c.series, uint64(len(s.nativeLabels)))
	c.series = append(c.series, s.nativeLabels...)
	c.seriesCount++
}

// add appends the current histogram, the difference to the one before, of the series declared last.
func (c *cisternBatch) add(s *histogramSeries, time int64) {
	c.samples = binary.AppendVarint(c.samples, c.seriesCount-1-c.number)
	c.samples = binary.AppendVarint(c.samples, time-c.time)
	c.number, c.time = c.seriesCount-1, time
	c.sampleCount++
	bins, chunk := uint64(0), 0
	var mask uint64
	c.bins, c.counts = c.bins[:0], c.counts[:0]
	for i, n := range s.counts.logLinear {
		if n == 0 {
			continue
		}
		// From this table's place to OpenHistogram's number of the bin.
		bin := i + logLinearFirst + 128*90 + 1
		if next := bin >> 6; bins == 0 {
			c.bins, chunk = binary.AppendVarint(c.bins, int64(next)), next
		} else if next != chunk {
			c.bins = binary.LittleEndian.AppendUint64(c.bins, mask)
			c.bins = binary.AppendUvarint(c.bins, uint64(next-chunk))
			chunk, mask = next, 0
		}
		mask |= 1 << (bin & 63)
		bins++
		c.counts = binary.AppendUvarint(c.counts, uint64(n))
	}
	c.bins = binary.LittleEndian.AppendUint64(c.bins, mask)
	c.samples = binary.AppendUvarint(c.samples, 2*bins+1) // by chunks of 64
	c.samples = append(append(c.samples, c.bins...), c.counts...)
}

// end writes the request.
func (c *cisternBatch) end(to []byte) []byte {
	to = append(to, "CISTSMP2"...)
	to = binary.AppendUvarint(to, uint64(c.seriesCount))
	to = append(to, c.series...)
	to = binary.AppendUvarint(to, uint64(c.sampleCount))
	return append(to, c.samples...)
}
