package remotewrite

// Prometheus remote write 2.0: as 1.0, but the strings of a request are listed once and referred to. The message, after
// prometheus/prompb/io/prometheus/write/v2 (types.proto):
//
//	Request    { repeated string symbols = 4; repeated TimeSeries timeseries = 5 }
//	TimeSeries { repeated uint32 labels_refs = 1; repeated Sample samples = 2; repeated Histogram histograms = 3;
//	             repeated Exemplar exemplars = 4; Metadata metadata = 5 }
//	Sample     { double value = 1; int64 timestamp = 2; int64 start_timestamp = 3 }
//	Exemplar   { repeated uint32 labels_refs = 1; double value = 2; int64 timestamp = 3 }
//	Metadata   { MetricType type = 1; uint32 help_ref = 3; uint32 unit_ref = 4 }
//
// Histogram is that of 1.0 with one more field. Start timestamps are passed over: a counter's restart is seen by its
// value, as in 1.0.

import (
	"encoding/binary"
	"fmt"
	"math"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"unicode/utf8"

	"cistern/services/ingest/admission"
	"cistern/services/store/tsdb"
)

const (
	message1 = "prometheus.WriteRequest"
	message2 = "io.prometheus.write.v2.Request"
)

// messageOf says which message a remote writer sends; "" is one that is not known.
func messageOf(contentType string) string {
	_, parameters, err := mime.ParseMediaType(contentType)
	switch proto := parameters["proto"]; {
	case err != nil || proto == "" || proto == message1: // 1.0 did not ask for the header
		return message1
	case proto == message2:
		return message2
	}
	return ""
}

// remoteWrite2 is the route of remote write when the message, which is unpacked, is that of 2.0.
func (h *Handler) remoteWrite2(w http.ResponseWriter, r *http.Request, d *decoder, slot *admission.Slot) {
	if err := d.remoteWrite2(d.message); err != nil {
		written(w, 0, 0, 0)
		h.gate.Malformed(w, err)
		return
	}
	slot.LeaveWith(d.holds())
	h.store.Describe(d.metadata)
	rejected, err := h.ingest(r.Context(), d)
	if err != nil {
		written(w, 0, 0, 0)
		admission.Unavailable(w, "samples", err)
		return
	}
	h.store.Exemplify(r.Context(), d.exemplars)
	samples, histograms := 0, 0
	for i := range d.samples {
		if d.samples[i].Kind == tsdb.NativeHistogram {
			histograms++
		} else {
			samples++
		}
	}
	for _, one := range rejected {
		if d.samples[one.Index].Kind == tsdb.NativeHistogram {
			histograms--
		} else {
			samples--
		}
	}
	written(w, samples, histograms, len(d.exemplars))
	h.answerWrite(w, d, rejected)
}

// written tells what was stored; the specification asks for it whatever the answer is.
func written(w http.ResponseWriter, samples, histograms, exemplars int) {
	for name, n := range map[string]int{"Samples": samples, "Histograms": histograms, "Exemplars": exemplars} {
		w.Header().Set("X-Prometheus-Remote-Write-"+name+"-Written", strconv.Itoa(n))
	}
}

var errSymbol = &tsdb.KeyError{Reason: tsdb.BadLabel, Detail: "the labels refer to a symbol that the request does not have"}

// remoteWrite2 decodes an uncompressed message. The samples share its memory and the decoder's, and are valid until the
// next use.
func (d *decoder) remoteWrite2(message []byte) error {
	d.reset()
	clear(d.symbols)
	d.symbols = d.symbols[:0]
	for rest := message; len(rest) > 0; { // symbols may come after what refers to them
		f, after, err := next(rest)
		if err != nil {
			return err
		}
		rest = after
		if f.number == 4 && f.kind == delimited {
			if d.symbols = append(d.symbols, f.bytes); len(d.symbols) > admission.MaxParts {
				return admission.ErrTooMany
			}
		}
	}
	if len(d.symbols) > 0 && len(d.symbols[0]) > 0 {
		return fmt.Errorf("%w: the first symbol is not the empty one", ErrProtobuf)
	}
	for len(message) > 0 {
		f, rest, err := next(message)
		if err != nil {
			return err
		}
		message = rest
		if f.number == 5 && f.kind == delimited {
			if err := d.timeSeries2(f.bytes); err != nil {
				return err
			}
		}
	}
	return nil
}

func (d *decoder) timeSeries2(message []byte) error {
	d.refs = d.refs[:0]
	var metadata []byte
	n := 0
	for rest := message; len(rest) > 0; {
		f, after, err := next(rest)
		if err != nil {
			return err
		}
		rest = after
		switch {
		case f.number == 1:
			if d.refs, err = appendRefs(d.refs, f); err != nil {
				return err
			}
		case f.number == 5 && f.kind == delimited:
			metadata = f.bytes
		case (f.number == 2 || f.number == 3) && f.kind == delimited:
			n++
		}
	}
	key, err := d.key2(d.refs)
	if d.keys += len(key); d.keys > admission.MaxUnpacked { // each byte of a symbol may be in every series
		return admission.ErrTooMany
	}
	if err != nil {
		return d.reject(err.Reason, err.Detail, max(n, 1))
	}
	kind := tsdb.Guess
	if metadata != nil {
		known, err := d.describe2(key, metadata)
		if err != nil {
			return err
		}
		kind = known
	}
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
		case 2:
			if err = d.sample(key, f.bytes); err == nil {
				d.samples[len(d.samples)-1].Kind = kind
			}
		case 3:
			err = d.native(key, f.bytes)
		case 4:
			err = d.exemplar2(key, f.bytes)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// maxRefs is one more than the labels of a series may have references.
const maxRefs = 2*tsdb.MaxLabels + 1

// appendRefs takes a repeated uint32, packed or not. Those beyond maxRefs are left out, as all are refused then.
func appendRefs(refs []uint32, f field) ([]uint32, error) {
	if len(refs) >= maxRefs {
		return refs, nil
	}
	if f.kind == varintField {
		return append(refs, uint32(min(f.value, math.MaxUint32))), nil
	}
	if f.kind != delimited {
		return refs, nil
	}
	for packed := f.bytes; len(packed) > 0 && len(refs) < maxRefs; {
		v, n := uvarint(packed)
		if n <= 0 {
			return nil, ErrProtobuf
		}
		refs, packed = append(refs, uint32(min(v, math.MaxUint32))), packed[n:]
	}
	return refs, nil
}

// key2 makes of references what 1.0 sends: labels in the form of a key, which the store checks when it sees them first.
// The memory of all keys of a request is the decoder's.
func (d *decoder) key2(refs []uint32) ([]byte, *tsdb.KeyError) {
	if len(refs) > 2*tsdb.MaxLabels { // before they cost memory
		return nil, &tsdb.KeyError{Reason: tsdb.TooManyLabels, Detail: fmt.Sprintf("more than %d labels are too many", tsdb.MaxLabels)}
	}
	if len(refs)%2 != 0 {
		return nil, &tsdb.KeyError{Reason: tsdb.BadLabel, Detail: "the labels are an odd number of references"}
	}
	size := 0
	for i := 0; i < len(refs); i += 2 {
		if int(refs[i]) >= len(d.symbols) || int(refs[i+1]) >= len(d.symbols) {
			return nil, errSymbol
		}
		name, value := d.symbols[refs[i]], d.symbols[refs[i+1]]
		if len(name) > tsdb.MaxLabelName || len(value) > tsdb.MaxLabelValue {
			return nil, &tsdb.KeyError{Reason: tsdb.LabelTooLong, Detail: fmt.Sprintf("the label %.40q is too long: a name may have %d bytes, a value %d",
				name, tsdb.MaxLabelName, tsdb.MaxLabelValue)}
		}
		size += len(name) + len(value) + 12
	}
	if cap(d.scattered)-len(d.scattered) < size { // earlier keys stay in the old array
		d.scattered = make([]byte, 0, max(64<<10, size))
	}
	start := len(d.scattered)
	for i := 0; i < len(refs); i += 2 {
		d.scattered = appendLabel(d.scattered, d.symbols[refs[i]], d.symbols[refs[i+1]])
	}
	return d.scattered[start:len(d.scattered):len(d.scattered)], nil
}

// appendLabel encodes a label as a key does.
func appendLabel(key, name, value []byte) []byte {
	length := func(n int) int {
		if n < 0x80 {
			return 1
		}
		return 2 // no name or value is longer than 2^14
	}
	key = append(key, 0x0a)
	key = binary.AppendUvarint(key, uint64(2+length(len(name))+len(name)+length(len(value))+len(value)))
	key = append(key, 0x0a)
	key = binary.AppendUvarint(key, uint64(len(name)))
	key = append(key, name...)
	key = append(key, 0x12)
	key = binary.AppendUvarint(key, uint64(len(value)))
	return append(key, value...)
}

// describe2 keeps a series' metadata under its metric's name, and says what kind of series it means.
func (d *decoder) describe2(key, message []byte) (tsdb.Kind, error) {
	one := tsdb.Metadata{Type: metricTypes[0]}
	symbol := func(ref uint64) string {
		if ref < uint64(len(d.symbols)) {
			if text := borrow(d.symbols[ref]); utf8.ValidString(text) {
				return text
			}
		}
		return ""
	}
	for len(message) > 0 {
		f, rest, err := next(message)
		if err != nil {
			return 0, err
		}
		message = rest
		if f.kind != varintField {
			continue
		}
		switch {
		case f.number == 1 && f.value < uint64(len(metricTypes)):
			one.Type = metricTypes[f.value]
		case f.number == 3:
			one.Help = symbol(f.value)
		case f.number == 4:
			one.Unit = symbol(f.value)
		}
	}
	if one.Type == metricTypes[0] && one.Help == "" && one.Unit == "" {
		return tsdb.Guess, nil
	}
	if labels, err := tsdb.ParseKey(borrow(key)); err == nil { // in order, as the specification wants it
		for _, l := range labels {
			if l.Name == tsdb.NameLabel && utf8.ValidString(l.Value) {
				one.Name = l.Value
			}
		}
	}
	if one.Type == "histogram" || one.Type == "summary" || one.Type == "gaugehistogram" {
		for _, suffix := range []string{"_bucket", "_count", "_sum"} { // the parts of one metric
			if bare, ok := strings.CutSuffix(one.Name, suffix); ok && bare != "" {
				one.Name = bare
				break
			}
		}
	}
	if one.Name != "" && (len(d.metadata) == 0 || d.metadata[len(d.metadata)-1] != one) {
		d.metadata = append(d.metadata, one)
	}
	switch one.Type {
	case "counter":
		return tsdb.Counter, nil
	case "gauge", "info", "stateset":
		return tsdb.Gauge, nil
	}
	return tsdb.Guess, nil
}

func (d *decoder) exemplar2(key, message []byte) error {
	if err := d.spend(heavyPart); err != nil {
		return err
	}
	one := tsdb.Exemplar{Key: d.exampleKey(key)}
	if one.Key == nil {
		return nil
	}
	var refs []uint32
	for len(message) > 0 {
		f, rest, err := next(message)
		if err != nil {
			return err
		}
		message = rest
		switch {
		case f.number == 1:
			if refs, err = appendRefs(refs, f); err != nil {
				return err
			}
		case f.number == 2 && f.kind == fixed64:
			one.Value = math.Float64frombits(f.value)
		case f.number == 3 && f.kind == varintField:
			one.Time = int64(f.value)
		}
	}
	if len(refs)%2 != 0 || len(refs) > 2*tsdb.MaxLabels {
		return nil
	}
	for i := 0; i < len(refs); i += 2 {
		if int(refs[i]) >= len(d.symbols) || int(refs[i+1]) >= len(d.symbols) {
			return nil
		}
		name, value := borrow(d.symbols[refs[i]]), borrow(d.symbols[refs[i+1]])
		if !utf8.ValidString(name) || !utf8.ValidString(value) {
			return nil
		}
		one.Labels = append(one.Labels, tsdb.Label{Name: name, Value: value})
	}
	d.exemplars = append(d.exemplars, one)
	return nil
}
