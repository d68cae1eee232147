// Package file writes samples into files of the telemetry dataset: outputs/FOLDER/TIME.jsonl, one JSON object on a line, in
// the form in which POST /api/v1/import takes samples (native histograms, which it does not take, have the field native). A file
// is closed when it is large or an hour old, and has its name from then on; the one that is being written is called open.jsonl.
// The oldest closed ones are removed when there are more than were asked for.
package file

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"cistern/services/histogram"
	"cistern/services/outputs/receiver"
	"cistern/services/store/tsdb"

	promhistogram "github.com/prometheus/prometheus/model/histogram"
)

// Settings are where to write, and how much is kept.
type Settings struct {
	// Folder is a name below outputs/ of the telemetry dataset.
	Folder string `json:"folder"`
	// FileMiB is how large a file gets; Files is how many closed ones are kept.
	FileMiB int64 `json:"fileMiB"`
	Files   int   `json:"files"`
}

const (
	suffix   = ".jsonl"
	openName = "open" + suffix
	// maxAge is how old a file gets before it is closed.
	maxAge = time.Hour
)

var goodFolder = regexp.MustCompile(`^[A-Za-z0-9_-][A-Za-z0-9._-]{0,63}$`)

type series struct {
	// head is the beginning of each of its lines.
	head []byte
}

// Output writes one folder.
type Output struct {
	settings Settings
	folder   string

	file  *os.File // nil: none is open
	size  int64
	begun time.Time

	lines   []byte
	samples int
	leftOut int
	decoded histogram.Histogram
}

// New checks the settings; nothing is written yet.
func New(s Settings, data string) (*Output, error) {
	switch {
	case !goodFolder.MatchString(s.Folder):
		return nil, fmt.Errorf("%.80q cannot be a folder's name: letters, digits, -, _ and . make one, 64 at most", s.Folder)
	case s.FileMiB < 1 || s.FileMiB > 4096:
		return nil, errors.New("a file's size must be from 1 to 4096 MiB")
	case s.Files < 1 || s.Files > 10_000:
		return nil, errors.New("the number of files that are kept must be from 1 to 10000")
	}
	return &Output{settings: s, folder: filepath.Join(data, "outputs", s.Folder)}, nil
}

// Prepare implements receiver.Receiver.
func (o *Output) Prepare(key string, kind tsdb.Kind) any {
	name, labels := "", map[string]string{}
	tsdb.EachLabel(key, func(label, value string) {
		if label == tsdb.NameLabel {
			name = value
		} else {
			labels[label] = value
		}
	})
	text, err := json.Marshal(struct {
		Name   string            `json:"name"`
		Labels map[string]string `json:"labels"`
	}{name, labels})
	if err != nil {
		return nil
	}
	head := text[:len(text)-1]
	if kind == tsdb.Gauge || kind == tsdb.Counter {
		head = append(head, `,"type":"`+kind.String()+`"`...)
	}
	return &series{append(head, `,"time":`...)}
}

// native is a native histogram in a line.
type native struct {
	Gauge           bool         `json:"gauge,omitempty"` // no running total
	Schema          int32        `json:"schema"`
	Count           float64      `json:"count"`
	Sum             *float64     `json:"sum"` // null: not a number
	ZeroThreshold   float64      `json:"zeroThreshold"`
	ZeroCount       float64      `json:"zeroCount"`
	CustomValues    []float64    `json:"customValues,omitempty"`
	PositiveSpans   [][2]float64 `json:"positiveSpans,omitempty"` // offset and length
	PositiveBuckets []float64    `json:"positiveBuckets,omitempty"`
	NegativeSpans   [][2]float64 `json:"negativeSpans,omitempty"`
	NegativeBuckets []float64    `json:"negativeBuckets,omitempty"`
}

func spansOf(list []promhistogram.Span) (pairs [][2]float64) {
	for _, s := range list {
		pairs = append(pairs, [2]float64{float64(s.Offset), float64(s.Length)})
	}
	return pairs
}

// Add implements receiver.Receiver.
func (o *Output) Add(of any, sample *tsdb.Streamed) int {
	start := len(o.lines)
	o.lines = append(o.lines, of.(*series).head...)
	o.lines = strconv.AppendFloat(o.lines, float64(sample.Time)/1000, 'f', -1, 64)
	var text []byte
	var err error
	switch {
	case sample.Encoded != nil:
		o.lines = append(o.lines, `,"histogram":`...)
		if _, err = o.decoded.Decode(sample.Encoded); err == nil {
			text, err = o.decoded.MarshalJSON()
		}
	case sample.Native != nil:
		h := sample.Native
		o.lines = append(o.lines, `,"native":`...)
		one := native{Gauge: h.CounterResetHint == promhistogram.GaugeType, Schema: h.Schema, Count: h.Count, ZeroThreshold: h.ZeroThreshold,
			ZeroCount: h.ZeroCount, CustomValues: h.CustomValues, PositiveSpans: spansOf(h.PositiveSpans), PositiveBuckets: h.PositiveBuckets,
			NegativeSpans: spansOf(h.NegativeSpans), NegativeBuckets: h.NegativeBuckets}
		if !math.IsNaN(h.Sum) && !math.IsInf(h.Sum, 0) {
			one.Sum = &h.Sum
		}
		text, err = json.Marshal(one)
	case math.IsNaN(sample.Value) || math.IsInf(sample.Value, 0): // JSON has no form for them
		err = errors.ErrUnsupported
	default:
		o.lines = append(o.lines, `,"value":`...)
		text, err = json.Marshal(sample.Value)
	}
	if err != nil {
		o.lines = o.lines[:start]
		o.leftOut++
		return len(o.lines)
	}
	o.lines = append(append(o.lines, text...), "}\n"...)
	o.samples++
	return len(o.lines)
}

// Send implements receiver.Receiver: what it writes is durable when it returns.
func (o *Output) Send(context.Context) (receiver.Outcome, error) {
	if len(o.lines) > 0 {
		if err := o.write(); err != nil {
			return receiver.Outcome{}, err
		}
	}
	outcome := receiver.Outcome{Sent: o.samples, LeftOut: o.leftOut}
	o.Forget()
	return outcome, nil
}

func (o *Output) write() error {
	if o.file != nil && (o.size > 0 && o.size+int64(len(o.lines)) > o.settings.FileMiB<<20 || time.Since(o.begun) > maxAge) {
		if err := o.turn(); err != nil {
			return err
		}
	}
	if o.file == nil {
		if err := o.open(); err != nil {
			return err
		}
	}
	_, err := o.file.WriteAt(o.lines, o.size)
	if err == nil {
		err = o.file.Sync()
	}
	if err != nil {
		// A full disk leaves a part. Where that cannot be cut off now it is when the file is opened again, which also finds a
		// dataset that was mounted anew.
		_ = o.file.Truncate(o.size)
		_ = o.Close()
		return fmt.Errorf("writing into outputs/%s: %w", o.settings.Folder, receiver.Reason(err))
	}
	o.size += int64(len(o.lines))
	return nil
}

// open goes on with the open file, behind its last whole line, or begins one.
func (o *Output) open() error {
	if err := os.MkdirAll(o.folder, 0o750); err != nil {
		return fmt.Errorf("making the folder: %w", err)
	}
	path := filepath.Join(o.folder, openName)
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o640)
	if err != nil {
		return err
	}
	info, err := file.Stat()
	if err == nil {
		o.size, err = lastLine(file, info.Size())
	}
	if err == nil && o.size < info.Size() {
		err = file.Truncate(o.size)
	}
	if err == nil {
		err = syncFolder(o.folder)
	}
	if err != nil {
		file.Close()
		return fmt.Errorf("opening %s: %w", path, err)
	}
	o.file, o.begun = file, time.Now()
	if o.size > 0 {
		o.begun = info.ModTime()
	}
	return nil
}

// lastLine is how long a file is up to the end of its last whole line.
func lastLine(file io.ReaderAt, size int64) (int64, error) {
	const step = 64 << 10
	buffer := make([]byte, step)
	for end := size; end > 0; {
		begin := max(0, end-step)
		part := buffer[:end-begin]
		if _, err := file.ReadAt(part, begin); err != nil && !errors.Is(err, io.EOF) {
			return 0, err
		}
		if i := bytes.LastIndexByte(part, '\n'); i >= 0 {
			return begin + int64(i) + 1, nil
		}
		end = begin
	}
	return 0, nil
}

// turn closes the open file under its time, and removes what is more than is kept.
func (o *Output) turn() error {
	file := o.file
	if err := file.Close(); err != nil {
		return err
	}
	o.file = nil
	name := time.Now().UTC().Format("2006-01-02T15-04-05.000Z") + suffix
	if err := os.Rename(filepath.Join(o.folder, openName), filepath.Join(o.folder, name)); err != nil {
		return err
	}
	closed, err := o.closed()
	if err != nil {
		return err
	}
	for len(closed) > o.settings.Files {
		if err := os.Remove(filepath.Join(o.folder, closed[0])); err != nil && !os.IsNotExist(err) {
			return err
		}
		closed = closed[1:]
	}
	return syncFolder(o.folder)
}

var closedName = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d\.\d{3}Z\.jsonl$`)

// closed are the names of the closed files, the oldest first.
func (o *Output) closed() ([]string, error) {
	entries, err := os.ReadDir(o.folder)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, one := range entries {
		if closedName.MatchString(one.Name()) && strings.HasSuffix(one.Name(), suffix) {
			names = append(names, one.Name())
		}
	}
	slices.Sort(names)
	return names, nil
}

func syncFolder(path string) error {
	folder, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}

// Forget implements receiver.Receiver.
func (o *Output) Forget() { o.lines, o.samples, o.leftOut = o.lines[:0], 0, 0 }

// Check implements receiver.Receiver: it writes an empty file and removes it.
func (o *Output) Check(context.Context) (string, error) {
	if err := os.MkdirAll(o.folder, 0o750); err != nil {
		return "", fmt.Errorf("making the folder: %w", err)
	}
	file, err := os.CreateTemp(o.folder, "test-*")
	if err != nil {
		return "", err
	}
	defer os.Remove(file.Name())
	_, err = file.Write([]byte("{}\n"))
	if err = errors.Join(err, file.Sync(), file.Close()); err != nil {
		return "", err
	}
	return fmt.Sprintf("A file was written to %s and removed again.", o.folder), nil
}

// Close implements receiver.Receiver.
func (o *Output) Close() error {
	if o.file == nil {
		return nil
	}
	err := o.file.Close()
	o.file = nil
	return err
}
