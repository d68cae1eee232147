// Package remotewrite takes samples by Prometheus remote write, 1.0 and 2.0, at POST /api/v1/write, and history at POST
// /admin/write.
package remotewrite

// Prometheus remote write 1.0: a snappy-compressed protobuf message, walked field by field into samples without making
// a tree of it first. The message, after prometheus/prompb (types.proto, remote.proto):
//
//	WriteRequest { repeated TimeSeries timeseries = 1; repeated MetricMetadata metadata = 3 }
//	TimeSeries   { repeated Label labels = 1; repeated Sample samples = 2; repeated Exemplar exemplars = 3; repeated Histogram histograms = 4 }
//	Label        { string name = 1; string value = 2 }
//	Sample       { double value = 1; int64 timestamp = 2 }
//	Exemplar     { repeated Label labels = 1; double value = 2; int64 timestamp = 3 }
//
// Labels are not looked into here: their bytes are how the store knows the series (tsdb.Sample.Raw).

import (
	"encoding/binary"
	"errors"
	"math"
	"unsafe"

	"cistern/services/ingest/admission"
	"cistern/services/store/tsdb"
)

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
	message []byte

	samples   []tsdb.Sample
	metadata  []tsdb.Metadata
	exemplars []tsdb.Exemplar
	rejected  []tsdb.Rejection // what it refuses itself
	scattered []byte           // keys of series whose labels do not lie together
	symbols   [][]byte         // of a message of remote write 2.0
	refs      []uint32         // of the series at hand
	parts     int              // of admission.MaxParts, besides samples
	keys      int              // bytes of keys made of symbols
	exampleOf []byte           // the series of the last exemplar, as it was sent,
	example   []byte           // and its key
}

// spend counts parts; an error says that there are too many.
func (d *decoder) spend(parts int) error {
	if d.parts += parts; d.parts+len(d.samples) > admission.MaxParts {
		return admission.ErrTooMany
	}
	return nil
}

func (d *decoder) reset() {
	clear(d.samples) // hold no message longer than needed
	d.samples, d.metadata, d.exemplars = d.samples[:0], d.metadata[:0], d.exemplars[:0]
	d.rejected, d.scattered = d.rejected[:0], d.scattered[:0]
	d.parts, d.keys, d.exampleOf, d.example = 0, 0, nil, nil
}

// remoteWrite decodes an uncompressed message. The samples share its memory, and are valid until the next use.
func (d *decoder) remoteWrite(message []byte) error {
	d.reset()
	for len(message) > 0 {
		f, rest, err := next(message)
		if err != nil {
			return err
		}
		message = rest
		if f.kind != delimited {
			continue
		}
		switch f.number {
		case 1:
			err = d.timeSeries(f.bytes)
		case 3:
			err = d.describe(f.bytes)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Tags of TimeSeries' fields. All are below 128, so a tag is a byte.
const (
	tagLabel     = 1<<3 | delimited
	tagSample    = 2<<3 | delimited
	tagExemplar  = 3<<3 | delimited
	tagHistogram = 4<<3 | delimited
)

func (d *decoder) timeSeries(message []byte) error {
	// The labels come first and together, or the message was not made by a protobuf library; then they are collected.
	end := 0
	for end < len(message) && message[end] == tagLabel {
		length, n := uvarint(message[end+1:])
		if n <= 0 || length > uint64(len(message)-end-1-n) {
			return ErrProtobuf
		}
		end += 1 + n + int(length)
	}
	key, rest := message[:end:end], message[end:]
	samples, exemplars, rejected := len(d.samples), len(d.exemplars), len(d.rejected)
	for len(rest) > 0 {
		if len(d.samples) > admission.MaxParts {
			return admission.ErrTooMany
		}
		// The usual sample: a tag, a length below 128, value and time in this order.
		if len(rest) >= 12 && rest[0] == tagSample && rest[1] < 0x80 && rest[2] == 1<<3|fixed64 && int(rest[1]) <= len(rest)-2 && rest[1] >= 9 {
			body := rest[2 : 2+rest[1]]
			one := tsdb.Sample{Key: key, Raw: true, Value: math.Float64frombits(binary.LittleEndian.Uint64(body[1:]))}
			if len(body) == 9 {
				d.samples, rest = append(d.samples, one), rest[2+len(body):]
				continue
			}
			if body[9] == 2<<3|varintField {
				if t, n := uvarint(body[10:]); n == len(body)-10 {
					one.Time = int64(t)
					d.samples, rest = append(d.samples, one), rest[2+len(body):]
					continue
				}
			}
		}
		f, after, err := next(rest)
		if err != nil {
			return err
		}
		rest = after
		if f.kind != delimited {
			continue
		}
		switch f.number {
		case 1: // a label behind something else: again, with all of them
			d.samples, d.exemplars, d.rejected = d.samples[:samples], d.exemplars[:exemplars], d.rejected[:rejected]
			if key, rest, err = d.gather(message); err != nil {
				return err
			}
		case 2:
			err = d.sample(key, f.bytes)
		case 3:
			err = d.exemplar(key, f.bytes)
		case 4:
			err = d.native(key, f.bytes)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// uvarint is binary.Uvarint, quicker for what is short.
func uvarint(b []byte) (uint64, int) {
	if len(b) > 0 && b[0] < 0x80 {
		return uint64(b[0]), 1
	}
	return binary.Uvarint(b)
}

// gather collects the labels of a series that do not lie together, and what remains of the message.
func (d *decoder) gather(message []byte) (key, rest []byte, err error) {
	start := len(d.scattered)
	for at := message; len(at) > 0; {
		f, after, err := next(at)
		if err != nil {
			return nil, nil, err
		}
		field := at[:len(at)-len(after)]
		if f.number == 1 && f.kind == delimited {
			d.scattered = append(d.scattered, field...)
		} else {
			rest = append(rest, field...)
		}
		at = after
	}
	// Earlier keys keep the array they are in when this one moves.
	return d.scattered[start:len(d.scattered):len(d.scattered)], rest, nil
}

func (d *decoder) sample(key, message []byte) error {
	one := tsdb.Sample{Key: key, Raw: true}
	for len(message) > 0 {
		f, rest, err := next(message)
		if err != nil {
			return err
		}
		message = rest
		switch {
		case f.number == 1 && f.kind == fixed64:
			one.Value = math.Float64frombits(f.value)
		case f.number == 2 && f.kind == varintField:
			one.Time = int64(f.value)
		}
	}
	d.samples = append(d.samples, one)
	return d.spend(0)
}

func (d *decoder) native(key, message []byte) error {
	if err := d.spend(heavyPart); err != nil {
		return err
	}
	t, h, err := nativeOfProto(message)
	var bad *tsdb.KeyError
	switch {
	case errors.As(err, &bad):
		name := "" // only the first is reported
		if n := len(d.rejected); n == 0 || d.rejected[n-1].Reason != bad.Reason {
			name = seriesOf(key)
		}
		return d.reject(bad.Reason, name+bad.Detail, 1)
	case err != nil:
		return err
	default:
		d.samples = append(d.samples, tsdb.Sample{Key: key, Raw: true, Kind: tsdb.NativeHistogram, Time: t, Native: h})
	}
	return nil
}

// exampleKey is the key of a series as exemplars have it: made once for all of a series', as each may be two bytes long and
// a key very much more. It is nil for a series that is refused: exemplars of that are of no use.
func (d *decoder) exampleKey(raw []byte) []byte {
	if len(raw) == 0 || len(raw) > maxKey {
		return nil
	}
	if len(d.exampleOf) == len(raw) && &d.exampleOf[0] == &raw[0] {
		return d.example
	}
	d.exampleOf, d.example = raw, nil
	if labels, err := tsdb.ParseKey(borrow(raw)); err == nil {
		if key, err := tsdb.AppendKey(nil, labels); err == nil {
			d.example = key
		}
	}
	return d.example
}

// exemplar keeps one with its series.
func (d *decoder) exemplar(key, message []byte) error {
	if err := d.spend(heavyPart); err != nil {
		return err
	}
	one := tsdb.Exemplar{Key: d.exampleKey(key)}
	if one.Key == nil {
		return nil
	}
	for len(message) > 0 {
		f, rest, err := next(message)
		if err != nil {
			return err
		}
		message = rest
		switch {
		case f.number == 1 && f.kind == delimited:
			label, err := parseLabel(f.bytes)
			if err != nil {
				return err
			}
			if one.Labels = append(one.Labels, label); len(one.Labels) > tsdb.MaxLabels {
				return nil
			}
		case f.number == 2 && f.kind == fixed64:
			one.Value = math.Float64frombits(f.value)
		case f.number == 3 && f.kind == varintField:
			one.Time = int64(f.value)
		}
	}
	d.exemplars = append(d.exemplars, one)
	return nil
}

// metricTypes are the names of MetricMetadata.MetricType.
var metricTypes = []string{"unknown", "counter", "gauge", "histogram", "gaugehistogram", "summary", "info", "stateset"}

// describe reads MetricMetadata { MetricType type = 1; string metric_family_name = 2; string help = 4; string unit = 5 }.
func (d *decoder) describe(message []byte) error {
	if err := d.spend(1); err != nil {
		return err
	}
	one := tsdb.Metadata{Type: metricTypes[0]}
	for len(message) > 0 {
		f, rest, err := next(message)
		if err != nil {
			return err
		}
		message = rest
		switch {
		case f.number == 1 && f.kind == varintField && f.value < uint64(len(metricTypes)):
			one.Type = metricTypes[f.value]
		case f.number == 2 && f.kind == delimited:
			one.Name = borrow(f.bytes)
		case f.number == 4 && f.kind == delimited:
			one.Help = borrow(f.bytes)
		case f.number == 5 && f.kind == delimited:
			one.Unit = borrow(f.bytes)
		}
	}
	d.metadata = append(d.metadata, one)
	return nil
}

func (d *decoder) reject(reason tsdb.Reason, detail string, n int) error {
	if err := d.spend(n); err != nil {
		return err
	}
	for range n {
		d.rejected = append(d.rejected, tsdb.Rejection{Index: -1, Reason: reason, Detail: detail})
	}
	return nil
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

// borrow makes a string of bytes without copying; it must not outlive them. Whoever keeps one copies it.
func borrow(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }
