// Package ingest is how samples come in over HTTP: Prometheus remote write and JSON.
package ingest

// Prometheus remote write 1.0: a snappy-compressed protobuf message, walked field by field into samples without making
// a tree of it first. The message, after prometheus/prompb (types.proto, remote.proto):
//
//	WriteRequest { repeated TimeSeries timeseries = 1; repeated MetricMetadata metadata = 3 }
//	TimeSeries   { repeated Label labels = 1; repeated Sample samples = 2; repeated Exemplar exemplars = 3; repeated Histogram histograms = 4 }
//	Label        { string name = 1; string value = 2 }
//	Sample       { double value = 1; int64 timestamp = 2 }
//
// Metadata and exemplars are left out for now. Native histograms are counted and refused: they are a stored type of
// their own to come, and must not be re-binned.

import (
	"encoding/binary"
	"errors"
	"math"
	"strings"
	"unsafe"

	"cistern/services/tsdb"
)

// UnsupportedHistogram is the reason for native histograms by remote write.
const UnsupportedHistogram tsdb.Reason = "native_histogram_unsupported"

// ErrProtobuf is what bytes that are no such message are refused with.
var ErrProtobuf = errors.New("the body is no remote-write message")

// field is one field of a protobuf message.
type field struct {
	number uint64
	bytes  []byte // of a length-delimited field
	value  uint64 // of any other
	kind   uint8
}

const (
	varintField = 0
	fixed64     = 1
	delimited   = 2
	fixed32     = 5
)

// next takes a field off the front of message.
func next(message []byte) (f field, rest []byte, err error) {
	tag, n := binary.Uvarint(message)
	if n <= 0 || tag>>3 == 0 {
		return f, nil, ErrProtobuf
	}
	message = message[n:]
	f.number, f.kind = tag>>3, uint8(tag&7)
	switch f.kind {
	case varintField:
		if f.value, n = binary.Uvarint(message); n <= 0 {
			return f, nil, ErrProtobuf
		}
		return f, message[n:], nil
	case fixed64:
		if len(message) < 8 {
			return f, nil, ErrProtobuf
		}
		f.value = binary.LittleEndian.Uint64(message)
		return f, message[8:], nil
	case fixed32:
		if len(message) < 4 {
			return f, nil, ErrProtobuf
		}
		f.value = uint64(binary.LittleEndian.Uint32(message))
		return f, message[4:], nil
	case delimited:
		length, n := binary.Uvarint(message)
		if n <= 0 || length > uint64(len(message)-n) {
			return f, nil, ErrProtobuf
		}
		f.bytes = message[n : n+int(length)]
		return f, message[n+int(length):], nil
	}
	return f, nil, ErrProtobuf
}

// decoder turns messages into samples; its memory is reused.
type decoder struct {
	samples  []tsdb.Sample
	keys     []byte // of all series, one after the other
	labels   []tsdb.Label
	rejected []tsdb.Rejection // what it refuses itself
	// offsets are where each sample's key is in keys, which moves while it grows.
	offsets [][2]int
}

func (d *decoder) reset() {
	d.samples, d.keys, d.labels = d.samples[:0], d.keys[:0], d.labels[:0]
	d.rejected, d.offsets = d.rejected[:0], d.offsets[:0]
}

// remoteWrite decodes an uncompressed message. The samples hold no memory of it, but are valid only until the next use.
func (d *decoder) remoteWrite(message []byte) error {
	d.reset()
	for len(message) > 0 {
		f, rest, err := next(message)
		if err != nil {
			return err
		}
		message = rest
		if f.number == 1 && f.kind == delimited {
			if err := d.timeSeries(f.bytes); err != nil {
				return err
			}
		}
	}
	for i := range d.samples {
		d.samples[i].Key = d.keys[d.offsets[i][0]:d.offsets[i][1]]
	}
	return nil
}

func (d *decoder) timeSeries(message []byte) error {
	d.labels = d.labels[:0]
	var samples, histograms int
	for rest := message; len(rest) > 0; {
		f, after, err := next(rest)
		if err != nil {
			return err
		}
		rest = after
		if f.kind != delimited {
			continue
		}
		switch f.number {
		case 1:
			if len(d.labels) > 4*tsdb.MaxLabels { // AppendKey refuses them; do not collect a hundred thousand first
				continue
			}
			label, err := parseLabel(f.bytes)
			if err != nil {
				return err
			}
			d.labels = append(d.labels, label)
		case 2:
			samples++
		case 4:
			histograms++
		}
	}
	if histograms > 0 {
		d.reject(UnsupportedHistogram, "native histograms are not accepted yet", histograms)
	}
	start := len(d.keys)
	kind := kindByName(d.labels)
	keys, err := tsdb.AppendKey(d.keys, d.labels)
	if err != nil {
		var bad *tsdb.KeyError
		if !errors.As(err, &bad) {
			return err
		}
		d.reject(bad.Reason, bad.Detail, samples)
		return nil
	}
	d.keys = keys
	for rest := message; len(rest) > 0; {
		f, after, err := next(rest)
		if err != nil {
			return err
		}
		rest = after
		if f.number != 2 || f.kind != delimited {
			continue
		}
		sample := tsdb.Sample{Kind: kind}
		for inner := f.bytes; len(inner) > 0; {
			g, after, err := next(inner)
			if err != nil {
				return err
			}
			inner = after
			switch {
			case g.number == 1 && g.kind == fixed64:
				sample.Value = math.Float64frombits(g.value)
			case g.number == 2 && g.kind == varintField:
				sample.Time = int64(g.value)
			}
		}
		d.samples = append(d.samples, sample)
		d.offsets = append(d.offsets, [2]int{start, len(d.keys)})
	}
	return nil
}

func (d *decoder) reject(reason tsdb.Reason, detail string, n int) {
	for range n {
		d.rejected = append(d.rejected, tsdb.Rejection{Index: -1, Reason: reason, Detail: detail})
	}
}

func parseLabel(message []byte) (label tsdb.Label, err error) {
	for len(message) > 0 {
		f, rest, err := next(message)
		if err != nil {
			return label, err
		}
		message = rest
		if f.kind != delimited {
			continue
		}
		switch f.number {
		case 1:
			label.Name = borrow(f.bytes)
		case 2:
			label.Value = borrow(f.bytes)
		}
	}
	return label, nil
}

// borrow makes a string of bytes without copying; it must not outlive them. AppendKey copies what it keeps.
func borrow(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// kindByName: remote write 1.0 does not say what a series is; Prometheus' naming rules do.
func kindByName(labels []tsdb.Label) tsdb.Kind {
	for _, l := range labels {
		if l.Name == tsdb.NameLabel {
			for _, suffix := range []string{"_total", "_count", "_sum", "_bucket"} {
				if strings.HasSuffix(l.Value, suffix) {
					return tsdb.Counter
				}
			}
		}
	}
	return tsdb.Gauge
}
