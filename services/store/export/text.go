package export

// OpenMetrics text (https://github.com/prometheus/OpenMetrics). Names that are not Prometheus' old ones are written in
// quotes, {"http.time",host="a"}, as Prometheus 3 does. A log-linear histogram is a gauge histogram whose buckets are
// its bins: a bucket for each bin's upper bound and, where no bin lies right below, for its lower bound too, so that a
// reader sees what every count lies between. That is also how it is known again when it is read; other gauge histograms
// become native ones with custom bounds.

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
	"sort"
	"strconv"
	"strings"

	"cistern/services/histogram"
	"cistern/services/store/tsdb"

	"github.com/prometheus/common/model"
	promhistogram "github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/textparse"
	"github.com/prometheus/prometheus/model/value"
)

type textWriter struct {
	out    *bufio.Writer
	sum    *Summary
	family string // with what it is
	name   string
	labels string // a="b",c="d"
	line   []byte
}

func newTextWriter(out io.Writer, sum *Summary) *textWriter {
	return &textWriter{out: bufio.NewWriterSize(out, 256<<10), sum: sum}
}

func (w *textWriter) series(set []tsdb.Label, kind tsdb.Kind) error {
	var parts []string
	for _, l := range set {
		if l.Name == tsdb.NameLabel {
			w.name = l.Value
			continue
		}
		name := l.Name
		if !model.LegacyValidation.IsValidLabelName(name) {
			name = quote(name)
		}
		parts = append(parts, name+"="+quote(l.Value))
	}
	w.labels = strings.Join(parts, ",")
	family, what := w.name, "gauge"
	switch kind {
	case tsdb.Counter:
		what = "unknown" // OpenMetrics' counters end with _total
		if base, ok := strings.CutSuffix(w.name, "_total"); ok && base != "" {
			family, what = base, "counter"
		}
	case tsdb.Histogram:
		what = "gaugehistogram"
	case tsdb.NativeHistogram:
		return nil
	}
	if one := what + " " + family; one != w.family {
		w.family = one
		shown := family
		if !model.LegacyValidation.IsValidMetricName(shown) {
			shown = quote(shown)
		}
		_, _ = fmt.Fprintf(w.out, "# TYPE %s %s\n", shown, what)
	}
	return nil
}

// quote writes a string as OpenMetrics does: backslash, quote and line feed escaped, nothing else.
func quote(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(s) + `"`
}

func (w *textWriter) put(suffix, extra string, number float64, time int64) {
	line := w.line[:0]
	name, set := w.name+suffix, w.labels
	if extra != "" {
		if set != "" {
			set += ","
		}
		set += extra
	}
	if model.LegacyValidation.IsValidMetricName(name) {
		line = append(line, name...)
		if set != "" {
			line = append(append(append(line, '{'), set...), '}')
		}
	} else {
		line = append(append(line, '{'), quote(name)...)
		if set != "" {
			line = append(append(line, ','), set...)
		}
		line = append(line, '}')
	}
	line = append(line, ' ')
	line = appendFloat(line, number)
	line = append(line, ' ')
	line = strconv.AppendFloat(line, float64(time)/1000, 'f', -1, 64)
	w.line = append(line, '\n')
	_, _ = w.out.Write(w.line) // bufio keeps the error until Flush
}

func appendFloat(line []byte, v float64) []byte {
	switch {
	case math.IsInf(v, 1):
		return append(line, "+Inf"...)
	case math.IsInf(v, -1):
		return append(line, "-Inf"...)
	case math.IsNaN(v):
		return append(line, "NaN"...)
	}
	return strconv.AppendFloat(line, v, 'g', -1, 64)
}

func le(v float64) string { return `le="` + string(appendFloat(nil, v)) + `"` }

func (w *textWriter) sample(s *sample) error {
	switch s.kind {
	case tsdb.NativeHistogram:
		w.sum.LeftOut++
		w.sum.Samples--
	case tsdb.Histogram:
		total, last := uint64(0), math.Inf(-1)
		for i, bin := range s.histogram.Bins {
			from, to := between(bin)
			if from != last {
				w.put("_bucket", le(from), float64(total), s.time)
			}
			total += s.histogram.Counts[i]
			w.put("_bucket", le(to), float64(total), s.time)
			last = to
		}
		w.put("_bucket", le(math.Inf(1)), float64(total), s.time)
		w.put("_gcount", "", float64(total), s.time)
		w.put("_gsum", "", s.histogram.Sum(), s.time)
	default:
		if value.IsStaleNaN(s.value) { // as NaN it would be a value
			w.sum.LeftOut++
			w.sum.Samples--
			return nil
		}
		w.put("", "", s.value, s.time)
	}
	return nil
}

// between is a bin's bounds as buckets have them. Zero is a bin of its own, from the last negative bound on.
func between(bin histogram.Bin) (from, to float64) {
	if bin == 0 {
		_, from = histogram.Bin(-1).Bounds()
		return from, 0
	}
	return bin.Bounds()
}

func (w *textWriter) close() error {
	_, _ = w.out.WriteString("# EOF\n")
	return w.out.Flush()
}

// bucket is one of a gauge histogram that is being read.
type bucket struct{ le, total float64 }

// readText reads a whole file: the parser wants it in memory.
func readText(l *loader, in io.Reader) error {
	content, err := io.ReadAll(in)
	if err != nil {
		return err
	}
	if !strings.HasSuffix(strings.TrimRight(string(content[max(0, len(content)-16):]), "\n"), "# EOF") {
		return errors.New("the file does not end with # EOF: it is no OpenMetrics text, or it was cut off")
	}
	table := labels.NewSymbolTable()
	p := textparse.NewOpenMetricsParser(content, table)
	// What a name means is said by the type before it: elsewhere the same name may be something else.
	family, what := "", model.MetricType("")
	is := func(name string, kind model.MetricType) bool { return name == family && what == kind }
	var open []bucket // of the histogram that is being read
	for lines := 0; ; lines++ {
		entry, err := p.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("behind sample %d: %w", lines, err)
		}
		switch entry {
		case textparse.EntryType:
			name, kind := p.Type()
			family, what = string(name), kind
			continue
		case textparse.EntrySeries:
		default:
			continue
		}
		_, stamp, number := p.Series()
		var set labels.Labels
		p.Labels(&set)
		if stamp == nil {
			l.refuse("a sample without a time cannot be imported")
			continue
		}
		name := set.Get(tsdb.NameLabel)
		if base, ok := strings.CutSuffix(name, "_bucket"); ok && is(base, model.MetricTypeGaugeHistogram) {
			upper, err := strconv.ParseFloat(set.Get("le"), 64)
			if err != nil {
				return fmt.Errorf("the bucket of %s has no bound: %w", base, err)
			}
			open = append(open, bucket{upper, number})
			continue
		}
		if base, ok := strings.CutSuffix(name, "_gcount"); ok && is(base, model.MetricTypeGaugeHistogram) {
			continue
		}
		one := &sample{time: *stamp, kind: tsdb.Gauge, value: number}
		if base, ok := strings.CutSuffix(name, "_gsum"); ok && is(base, model.MetricTypeGaugeHistogram) {
			name = base
			one = histogramOf(open, *stamp, number)
			open = nil
		} else if base, ok := strings.CutSuffix(name, "_total"); ok && is(base, model.MetricTypeCounter) {
			one.kind = tsdb.Counter
		} else if is(name, model.MetricTypeUnknown) {
			one.kind = tsdb.Guess
		}
		var list []tsdb.Label
		set.Range(func(label labels.Label) {
			if label.Name == tsdb.NameLabel {
				label.Value = name
			}
			list = append(list, tsdb.Label{Name: label.Name, Value: label.Value})
		})
		key, err := tsdb.AppendKey(nil, list)
		if err != nil {
			l.refuse(err.Error())
			continue
		}
		if err := l.add(key, one); err != nil {
			return err
		}
	}
}

// histogramOf makes what buckets describe: log-linear when every count lies within one bin.
func histogramOf(open []bucket, time int64, sum float64) *sample {
	sort.Slice(open, func(a, b int) bool { return open[a].le < open[b].le })
	h := &histogram.Histogram{}
	exact := true
	last := bucket{math.Inf(-1), 0}
	for _, b := range open {
		if n := b.total - last.total; n > 0 {
			bin, ok := binBetween(last.le, b.le)
			exact = exact && ok && n == math.Trunc(n)
			if exact {
				h.Add(bin, uint64(n))
			}
		}
		last = b
	}
	if exact {
		h.SetSum(sum)
		return &sample{time: time, kind: tsdb.Histogram, histogram: h}
	}
	n := &promhistogram.FloatHistogram{Schema: promhistogram.CustomBucketsSchema, CounterResetHint: promhistogram.GaugeType, Sum: sum}
	total := 0.0
	for _, b := range open {
		if !math.IsInf(b.le, 1) {
			n.CustomValues = append(n.CustomValues, b.le)
		}
		n.PositiveBuckets = append(n.PositiveBuckets, b.total-total)
		total = b.total
	}
	n.Count = total
	n.PositiveSpans = []promhistogram.Span{{Offset: 0, Length: uint32(len(n.PositiveBuckets))}}
	return &sample{time: time, kind: tsdb.NativeHistogram, native: n}
}

// binBetween is the bin with these bounds.
func binBetween(from, to float64) (histogram.Bin, bool) {
	if to == 0 {
		return 0, from == firstNegative()
	}
	middle := from + (to-from)/2
	bin, ok := histogram.BinOf(middle)
	if !ok {
		return 0, false
	}
	a, b := bin.Bounds()
	return bin, a == from && b == to
}

func firstNegative() float64 {
	_, v := histogram.Bin(-1).Bounds()
	return v
}
