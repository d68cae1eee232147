package export

// Parquet: a row for each sample, compressed with zstd, as DuckDB, Spark, pandas and others read it:
//
//	name string · labels map<string,string> · kind string (gauge, counter, histogram, native_histogram) · time timestamp
//	(ms) · value double, null for histograms · histogram string, null for others: 1.2e-3=4,1.3e-3=7, bins and counts ·
//	sum double, null where it is not known beside the bins · native binary, null for others: prometheus.Histogram in
//	protobuf

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"cistern/services/histogram"
	"cistern/services/store/tsdb"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress/zstd"
	"github.com/prometheus/prometheus/prompb"
)

type row struct {
	Name      string            `parquet:"name,dict"`
	Labels    map[string]string `parquet:"labels"`
	Kind      string            `parquet:"kind,dict"`
	Time      int64             `parquet:"time,timestamp(millisecond),delta"`
	Value     *float64          `parquet:"value,optional"`
	Histogram *string           `parquet:"histogram,optional"`
	Sum       *float64          `parquet:"sum,optional"`
	Native    []byte            `parquet:"native,optional"`
}

type parquetWriter struct {
	out  *parquet.GenericWriter[row]
	row  row
	rows []row
}

func newParquetWriter(out io.Writer) *parquetWriter {
	return &parquetWriter{out: parquet.NewGenericWriter[row](out, parquet.Compression(&zstd.Codec{}), parquet.MaxRowsPerRowGroup(500_000))}
}

func (w *parquetWriter) series(set []tsdb.Label, kind tsdb.Kind) error {
	w.row = row{Labels: map[string]string{}, Kind: kind.String()}
	for _, l := range set {
		if l.Name == tsdb.NameLabel {
			w.row.Name = l.Value
		} else {
			w.row.Labels[l.Name] = l.Value
		}
	}
	return nil
}

func (w *parquetWriter) sample(s *sample) error {
	one := w.row
	one.Time = s.time
	switch s.kind {
	case tsdb.Histogram:
		text := formatBins(s.histogram)
		one.Histogram = &text
		if s.histogram.Offset != (histogram.Offset{}) {
			sum := s.histogram.Sum()
			one.Sum = &sum
		}
	case tsdb.NativeHistogram:
		p := prompb.FromFloatHistogram(s.time, s.native)
		bytes, err := p.Marshal()
		if err != nil {
			return err
		}
		one.Native = bytes
	default:
		value := s.value
		one.Value = &value
	}
	if w.rows = append(w.rows, one); len(w.rows) == 1000 {
		return w.flush()
	}
	return nil
}

func (w *parquetWriter) flush() error {
	_, err := w.out.Write(w.rows)
	w.rows = w.rows[:0]
	return err
}

func (w *parquetWriter) close() error { return errors.Join(w.flush(), w.out.Close()) }

func formatBins(h *histogram.Histogram) string {
	var text strings.Builder
	for i, bin := range h.Bins {
		if i > 0 {
			text.WriteByte(',')
		}
		text.WriteString(bin.String())
		text.WriteByte('=')
		text.WriteString(strconv.FormatUint(h.Counts[i], 10))
	}
	return text.String()
}

func parseBins(text string) (*histogram.Histogram, error) {
	h := &histogram.Histogram{}
	for _, part := range strings.Split(text, ",") {
		name, count, ok := strings.Cut(part, "=")
		n, err := strconv.ParseUint(count, 10, 64)
		v, valueErr := strconv.ParseFloat(name, 64)
		if !ok || err != nil || valueErr != nil {
			return nil, fmt.Errorf("%.40q is no bin and count, like 1.2e-3=4", part)
		}
		// The name is the bin's bound nearer to zero, so it lies in the bin.
		bin, ok := histogram.BinOf(v)
		if !ok {
			return nil, fmt.Errorf("no bin holds %s", name)
		}
		h.Add(bin, n)
	}
	return h, nil
}

func readParquet(l *loader, in io.ReaderAt, size int64) (err error) {
	// The library panics over some files that are none.
	defer func() {
		if broken := recover(); broken != nil {
			err = fmt.Errorf("the file is no Parquet file that can be read: %v", broken)
		}
	}()
	file, err := parquet.OpenFile(in, size)
	if err != nil {
		return fmt.Errorf("the file is no Parquet file that can be read: %w", err)
	}
	reader := parquet.NewGenericReader[row](file)
	defer reader.Close()
	rows := make([]row, 500)
	for {
		clear(rows)
		n, err := reader.Read(rows)
		for i := range rows[:n] {
			if err := addRow(l, &rows[i]); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("reading rows: %w", err)
		}
	}
}

func addRow(l *loader, r *row) error {
	set := []tsdb.Label{{Name: tsdb.NameLabel, Value: r.Name}}
	for name, value := range r.Labels {
		set = append(set, tsdb.Label{Name: name, Value: value})
	}
	key, err := tsdb.AppendKey(nil, set)
	if err != nil {
		l.refuse(err.Error())
		return nil
	}
	one := &sample{time: r.Time, kind: tsdb.Guess}
	switch {
	case r.Histogram != nil:
		one.kind = tsdb.Histogram
		if one.histogram, err = parseBins(*r.Histogram); err != nil {
			l.refuse(err.Error())
			return nil
		}
		if r.Sum != nil {
			one.histogram.SetSum(*r.Sum)
		}
	case len(r.Native) > 0:
		one.kind = tsdb.NativeHistogram
		var p prompb.Histogram
		if err := p.Unmarshal(r.Native); err != nil {
			l.refuse("a native histogram cannot be read: " + err.Error())
			return nil
		}
		one.native = p.ToFloatHistogram()
		if err := one.native.Validate(); err != nil {
			l.refuse("a native histogram contradicts itself: " + err.Error())
			return nil
		}
	case r.Value != nil:
		one.value = *r.Value
		switch r.Kind {
		case "gauge":
			one.kind = tsdb.Gauge
		case "counter":
			one.kind = tsdb.Counter
		}
	default:
		l.refuse("a row has neither a value nor a histogram")
		return nil
	}
	return l.add(key, one)
}
