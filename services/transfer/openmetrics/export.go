// Package openmetrics writes what an appliance holds as OpenMetrics text, which every system around Prometheus reads.
package openmetrics

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"cistern/services/histogram"
	"cistern/services/platform/vfs"
	"cistern/services/transfer"

	"github.com/prometheus/common/model"
	promhistogram "github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/tsdb/chunks"
)

// Sum is what was written, and what was left out because OpenMetrics has no form for it.
type Sum struct {
	Metrics, Series, Samples int64
	Natives, Marks           int64
}

// Export writes the selection to a file, which has its name when everything is in it; out when the file is -. A metric is read as a
// whole, because OpenMetrics wants its samples together; how much that is does not matter, as it is not held in memory.
func Export(ctx context.Context, a transfer.Appliance, s *transfer.Selection, file string, out io.Writer, patience time.Duration, screen *transfer.Screen) (sum Sum, err error) {
	w := &writer{sum: &sum}
	if file == "-" {
		w.out = bufio.NewWriterSize(out, 256<<10)
	} else {
		if w.file, err = os.Create(file + ".part"); err != nil {
			return sum, err
		}
		defer func() {
			if err != nil {
				err = errors.Join(err, w.file.Close(), os.Remove(w.file.Name()))
			}
		}()
		w.out = bufio.NewWriterSize(w.file, 256<<10)
	}
	stretches, err := transfer.Stretches(ctx, a, s)
	if err != nil {
		return sum, err
	}
	if len(stretches) > 0 {
		from, to := int64(math.MaxInt64), int64(math.MinInt64)
		for _, one := range stretches {
			from, to = min(from, one.From), max(to, one.To)
		}
		if err := w.everything(ctx, a, s, from, to, patience, screen); err != nil {
			return sum, err
		}
	}
	_, _ = w.out.WriteString("# EOF\n")
	if err := w.out.Flush(); err != nil || file == "-" {
		return sum, err
	}
	if err := w.file.Sync(); err != nil {
		return sum, err
	}
	if err := os.Rename(w.file.Name(), file); err != nil {
		return sum, err
	}
	return sum, errors.Join(w.file.Close(), vfs.OS.SyncDir(filepath.Dir(file)))
}

func (w *writer) everything(ctx context.Context, a transfer.Appliance, s *transfer.Selection, from, to int64, patience time.Duration, screen *transfer.Screen) error {
	names, err := namesOf(ctx, a, s, from, to)
	if err != nil {
		return err
	}
	known, err := metadata(ctx, a)
	if err != nil {
		return err
	}
	for i, name := range names {
		screen.Passing("%s of %s, %s samples", transfer.Number(int64(i)), transfer.Counted(int64(len(names)), "metric", "metrics"), transfer.Number(w.sum.Samples))
		matchers := append(slices.Clone(s.Matchers), labels.MustNewMatcher(labels.MatchEqual, transfer.NameLabel, name))
		before, at, err := *w.sum, int64(0), error(nil)
		if w.file != nil {
			if at, err = w.offset(); err != nil {
				return err
			}
		}
		err = transfer.Persist(ctx, patience, screen, func() error {
			if *w.sum != before { // begin the metric anew
				if w.file == nil {
					return errStream
				}
				if err := w.back(at); err != nil {
					return err
				}
				*w.sum = before
			}
			w.begin(name, known[name])
			return transfer.ReadChunks(ctx, a, from, to, matchers, w.series)
		})
		if err != nil {
			return fmt.Errorf("the metric %s: %w", name, err)
		}
		w.sum.Metrics++
	}
	return nil
}

var errStream = errors.New("the appliance went away in the middle of a metric, and what was written to standard output cannot be written again: export to a file")

// offset is how long the file is.
func (w *writer) offset() (int64, error) {
	if err := w.out.Flush(); err != nil {
		return 0, err
	}
	return w.file.Seek(0, io.SeekCurrent)
}

// back cuts the file.
func (w *writer) back(at int64) error {
	w.out.Reset(w.file)
	if err := w.file.Truncate(at); err != nil {
		return err
	}
	_, err := w.file.Seek(at, io.SeekStart)
	return err
}

func seconds(millis int64) string { return strconv.FormatFloat(float64(millis)/1000, 'f', -1, 64) }

func namesOf(ctx context.Context, a transfer.Appliance, s *transfer.Selection, from, to int64) ([]string, error) {
	var parts []string
	for _, m := range s.Matchers {
		parts = append(parts, m.String())
	}
	parts = append(parts, transfer.NameLabel+`=~".+"`) // one matcher must not match what is empty
	parameters := url.Values{"start": {seconds(from)}, "end": {seconds(to)}, "match[]": {"{" + strings.Join(parts, ",") + "}"}}
	var answer struct{ Data []string }
	if err := transfer.GetJSON(ctx, a, "/api/v1/label/"+transfer.NameLabel+"/values?"+parameters.Encode(), &answer); err != nil {
		return nil, fmt.Errorf("asking which metrics there are: %w", err)
	}
	slices.Sort(answer.Data)
	return answer.Data, nil
}

type described struct{ Type, Help, Unit string }

func metadata(ctx context.Context, a transfer.Appliance) (map[string]described, error) {
	var answer struct{ Data map[string][]described }
	if err := transfer.GetJSON(ctx, a, "/api/v1/metadata", &answer); err != nil {
		return nil, fmt.Errorf("asking what the metrics are: %w", err)
	}
	known := map[string]described{}
	for name, list := range answer.Data {
		if len(list) > 0 {
			known[name] = list[0]
		}
	}
	return known, nil
}

// writer writes the lines.
type writer struct {
	out    *bufio.Writer
	file   *os.File // nil: standard output
	sum    *Sum
	name   string
	about  described
	family string // what the last TYPE line says
	labels string // a="b",c="d"
	last   labels.Labels
	any    bool
	line   []byte
	edge   float64
}

func (w *writer) begin(name string, about described) {
	w.name, w.about, w.family, w.any = name, about, "", false
}

// head says what the following samples are, unless the last one was the same.
func (w *writer) head(histograms bool) {
	family, kind := w.name, "unknown"
	switch base, counter := strings.CutSuffix(w.name, "_total"); {
	case histograms:
		kind = "gaugehistogram"
	case counter && base != "":
		family, kind = base, "counter"
	case w.about.Type == "gauge":
		kind = "gauge"
	}
	if kind+" "+family == w.family {
		return
	}
	w.family = kind + " " + family
	if !model.LegacyValidation.IsValidMetricName(family) {
		family = quote(family)
	}
	fmt.Fprintf(w.out, "# TYPE %s %s\n", family, kind)
	if w.about.Help != "" {
		fmt.Fprintf(w.out, "# HELP %s %s\n", family, escape(w.about.Help))
	}
}

// series writes chunks of a series.
func (w *writer) series(set labels.Labels, list []chunks.Meta) error {
	if !w.any || !labels.Equal(set, w.last) {
		w.any, w.last = true, set
		w.sum.Series++
		var parts []string
		set.Range(func(l labels.Label) {
			name := l.Name
			switch {
			case name == transfer.NameLabel:
				return
			case !model.LegacyValidation.IsValidLabelName(name):
				name = quote(name)
			}
			parts = append(parts, name+"="+quote(l.Value))
		})
		w.labels = strings.Join(parts, ",")
	}
	for _, c := range list {
		it := c.Chunk.Iterator(nil)
		for kind := it.Next(); kind != chunkenc.ValNone; kind = it.Next() {
			one := transfer.Sample{Time: it.AtT()}
			if kind == chunkenc.ValFloat {
				_, one.Value = it.At()
			} else {
				_, one.Native = it.AtFloatHistogram(nil)
			}
			switch {
			case one.Stale():
				w.sum.Marks++
			case one.Native == nil:
				w.head(false)
				w.put("", "", one.Value, one.Time)
				w.sum.Samples++
			case one.Native.UsesCustomBuckets() && one.Native.CounterResetHint == promhistogram.GaugeType:
				w.head(true)
				w.histogram(one.Native, one.Time)
				w.sum.Samples++
			default:
				w.sum.Natives++
			}
		}
		if err := it.Err(); err != nil {
			return fmt.Errorf("the appliance sent a chunk that cannot be read: %w", err)
		}
	}
	_, err := w.out.Write(nil) // what bufio could not write
	return err
}

// histogram writes the bounds of the buckets that have something in them, and the running totals up to them.
func (w *writer) histogram(h *promhistogram.FloatHistogram, t int64) {
	w.edge = math.Inf(-1)
	total := 0.0
	for it := h.PositiveBucketIterator(); it.Next(); {
		b := it.At()
		if b.Count == 0 {
			continue
		}
		if b.Upper == 0 && math.IsInf(b.Lower, -1) { // zero, where there are no negative values
			_, b.Lower = histogram.Bin(-1).Bounds()
		}
		if b.Lower != w.edge && !math.IsInf(b.Lower, -1) {
			w.put("_bucket", le(b.Lower), total, t)
		}
		total += b.Count
		if !math.IsInf(b.Upper, 1) {
			w.put("_bucket", le(b.Upper), total, t)
		}
		w.edge = b.Upper
	}
	w.put("_bucket", le(math.Inf(1)), h.Count, t)
	w.put("_gcount", "", h.Count, t)
	w.put("_gsum", "", h.Sum, t)
}

func (w *writer) put(suffix, extra string, v float64, t int64) {
	name, set := w.name+suffix, w.labels
	if extra != "" {
		if set != "" {
			set += ","
		}
		set += extra
	}
	line := w.line[:0]
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
	line = appendFloat(append(line, ' '), v)
	line = strconv.AppendFloat(append(line, ' '), float64(t)/1000, 'f', -1, 64)
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

var escaper = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)

func escape(s string) string { return escaper.Replace(s) }

func quote(s string) string { return `"` + escape(s) + `"` }
