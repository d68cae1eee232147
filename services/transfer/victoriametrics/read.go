// Package victoriametrics reads what VictoriaMetrics exports by /api/v1/export: a line of JSON for each series, or for a part of
// one, {"metric":{"__name__":"up","job":"a"},"values":[1,2],"timestamps":[1700000000000,1700000015000]}.
package victoriametrics

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strconv"

	"cistern/services/transfer"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"
)

// maxLine bounds one line, which is held in memory; about ten million samples.
const maxLine = 256 << 20

// Source is a file with an export, or a gzip of one.
type Source struct {
	file   *os.File
	packed bool
	size   int64
	remove bool // it is a copy of standard input
}

// Open opens a file.
func Open(path string) (*Source, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	return newSource(f, path)
}

// Spool copies standard input to a file in a folder, packed, because it is read more than once. It is removed by Close.
func Spool(in io.Reader, folder string) (*Source, error) {
	f, err := os.CreateTemp(folder, "cistern-import-*.gz")
	if err != nil {
		return nil, err
	}
	packer, err := gzip.NewWriterLevel(f, gzip.BestSpeed)
	if err == nil {
		_, err = io.Copy(packer, in)
	}
	if err == nil {
		err = packer.Close()
	}
	var s *Source
	if err == nil {
		s, err = newSource(f, "standard input")
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("copying standard input to %s: %w", f.Name(), err), f.Close(), os.Remove(f.Name()))
	}
	s.remove = true
	return s, nil
}

func newSource(f *os.File, name string) (*Source, error) {
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is no file: save the export to one, or give - and pipe it in", name)
	}
	magic := make([]byte, 6)
	if err == nil {
		if _, err = f.ReadAt(magic, 0); errors.Is(err, io.EOF) {
			err = nil
		}
	}
	if err == nil && bytes.HasPrefix(magic, []byte{0x28, 0xb5, 0x2f, 0xfd}) {
		err = fmt.Errorf("%s is packed with zstd: unpack it first, or pipe it in: zstd -dc %s | cistern import victoriametrics -", name, name)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &Source{file: f, packed: bytes.HasPrefix(magic, []byte{0x1f, 0x8b}), size: info.Size()}, nil
}

// Close also removes a copy.
func (s *Source) Close() error {
	err := s.file.Close()
	if s.remove {
		err = errors.Join(err, os.Remove(s.file.Name()))
	}
	return err
}

// Identity is the file's size, beginning and end.
func (s *Source) Identity() string {
	const part = 64 << 10
	sum := sha256.New()
	_, _ = io.Copy(sum, io.NewSectionReader(s.file, 0, part)) // one that cannot be read fails when it is
	_, _ = io.Copy(sum, io.NewSectionReader(s.file, max(0, s.size-part), part))
	return strconv.FormatInt(s.size, 10) + " " + hex.EncodeToString(sum.Sum(nil)[:16])
}

// Survey reads the file.
func (s *Source) Survey(ctx context.Context, selection *transfer.Selection, before int64) (*transfer.Survey, error) {
	survey, err := transfer.Count(ctx, s, selection, before)
	if err != nil {
		return nil, err
	}
	survey.Files = 1
	return survey, nil
}

// line is one line of the export.
type line struct {
	Metric     map[string]string `json:"metric"`
	Values     json.RawMessage   `json:"values"`
	Timestamps json.RawMessage   `json:"timestamps"`
}

// Walk yields a part for each line.
func (s *Source) Walk(ctx context.Context, w transfer.Walk) error {
	var in io.Reader = io.NewSectionReader(s.file, 0, s.size)
	if s.packed {
		unpacked, err := gzip.NewReader(in)
		if err != nil {
			return fmt.Errorf("unpacking it: %w", err)
		}
		in = unpacked
	}
	reader, buffer := bufio.NewReaderSize(in, 1<<20), []byte(nil)
	for number := int64(0); ; number++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		text, err := next(reader, &buffer)
		if errors.Is(err, io.EOF) && len(text) == 0 {
			return nil
		}
		if err != nil && !errors.Is(err, io.EOF) {
			if number >= w.From {
				w.Report(fmt.Sprintf("line %d and what follows it", number+1), err, -1)
			}
			return nil
		}
		if number < w.From || len(bytes.TrimSpace(text)) == 0 {
			continue
		}
		if err := s.line(number, text, &w); err != nil {
			return err
		}
	}
}

// next is the next line; it is valid until the one after it.
func next(r *bufio.Reader, buffer *[]byte) ([]byte, error) {
	text, err := r.ReadSlice('\n')
	if !errors.Is(err, bufio.ErrBufferFull) {
		return text, err
	}
	*buffer = append((*buffer)[:0], text...)
	for errors.Is(err, bufio.ErrBufferFull) {
		text, err = r.ReadSlice('\n')
		if len(*buffer)+len(text) > maxLine {
			return nil, fmt.Errorf("it is longer than %d MiB: export with max_rows_per_line=1000000", maxLine>>20)
		}
		*buffer = append(*buffer, text...)
	}
	return *buffer, err
}

func (s *Source) line(number int64, text []byte, w *transfer.Walk) error {
	bad := func(why error) error {
		w.Report(fmt.Sprintf("line %d", number+1), why, -1)
		return nil
	}
	var one line
	if err := json.Unmarshal(text, &one); err != nil {
		return bad(fmt.Errorf("it is no line of an export: %w", err))
	}
	if len(one.Metric) == 0 {
		return bad(errors.New(`it has no "metric"`))
	}
	pairs := make([]labels.Label, 0, len(one.Metric))
	for name, text := range one.Metric {
		if text != "" {
			pairs = append(pairs, labels.Label{Name: name, Value: text})
		}
	}
	set, ok := w.Selection.Labels(transfer.FromPairs(pairs))
	if !ok {
		return nil
	}
	times, err := timesOf(one.Timestamps)
	if err != nil {
		return bad(err)
	}
	values, err := valuesOf(one.Values)
	if err != nil {
		return bad(err)
	}
	if len(times) != len(values) {
		return bad(fmt.Errorf("it has %d values and %d timestamps", len(values), len(times)))
	}
	return w.Use(&transfer.Part{Number: number, Labels: set, Each: func(use func(transfer.Sample) error) error {
		for i, t := range times {
			if !w.Selection.Holds(t) {
				continue
			}
			if err := use(transfer.Sample{Time: t, Value: values[i]}); err != nil {
				return err
			}
		}
		return nil
	}})
}

// items cuts the text of an array, which is valid JSON, into its items; ok is false when it is no array of plain values.
func items(text []byte, use func(item []byte) error) error {
	text = bytes.TrimSpace(text)
	if len(text) < 2 || text[0] != '[' {
		return errors.New(`"values" and "timestamps" must be arrays`)
	}
	text = bytes.TrimSpace(text[1 : len(text)-1])
	for len(text) > 0 {
		item, rest, _ := bytes.Cut(text, []byte{','})
		text = rest
		if err := use(bytes.TrimSpace(item)); err != nil {
			return err
		}
	}
	return nil
}

func timesOf(text []byte) (times []int64, err error) {
	err = items(text, func(item []byte) error {
		t, err := strconv.ParseInt(string(item), 10, 64)
		if err != nil || t < -1<<53 || t > 1<<53 {
			return fmt.Errorf("%.40q is no time in milliseconds", item)
		}
		times = append(times, t)
		return nil
	})
	return times, err
}

var stale = math.Float64frombits(value.StaleNaN)

// valuesOf reads numbers, and what JSON has none for as VictoriaMetrics writes it: "Infinity", "-Infinity", and null for a
// mark that the series ended, the only value of its kind that it stores.
func valuesOf(text []byte) (values []float64, err error) {
	err = items(text, func(item []byte) error {
		v := 0.0
		switch string(item) {
		case "null":
			v = stale
		case `"NaN"`:
			v = math.NaN()
		case `"Infinity"`, `"+Infinity"`, `"Inf"`, `"+Inf"`:
			v = math.Inf(1)
		case `"-Infinity"`, `"-Inf"`:
			v = math.Inf(-1)
		default:
			var err error
			if v, err = strconv.ParseFloat(string(bytes.Trim(item, `"`)), 64); err != nil {
				return fmt.Errorf("%.40q is no value", item)
			}
		}
		values = append(values, v)
		return nil
	})
	return values, err
}
