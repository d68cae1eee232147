package api

// Answers as JSON. Points are written by hand, and sent on as they are written: a chart asks for a hundred thousand.

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"io"
	"math"
	"net/http"
	"strconv"
	"unsafe"

	"cistern/services/store/query/fast"

	promhistogram "github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
)

// out collects an answer and sends it in pieces. Once the client does not read any more, writing does nothing.
type out struct {
	ctx    context.Context // when it ends the answer is broken off; nil: never
	w      io.Writer
	b      []byte
	least  int // of a piece; 0: piece
	failed bool
	begun  bool // something was written
}

const piece = 64 << 10

// spill sends what was collected when that is enough.
func (o *out) spill() {
	if len(o.b) >= max(o.least, piece) {
		o.flush()
	}
}

func (o *out) flush() {
	if o.ctx != nil && o.ctx.Err() != nil && o.begun {
		// The client must not take what it has for the whole.
		panic(http.ErrAbortHandler)
	}
	o.begun = true
	if !o.failed && len(o.b) > 0 {
		_, err := o.w.Write(o.b)
		o.failed = err != nil
	}
	o.b = o.b[:0]
}

func writeAnswer(w http.ResponseWriter, a *answer) {
	o := &out{ctx: a.ctx, w: w, b: make([]byte, 0, 4096)}
	o.b = append(o.b, `{"status":"success","data":`...)
	w.Header().Set("Content-Type", "application/json")
	switch data := a.data.(type) {
	case []seriesKey:
		list(o, data, func(b []byte, one seriesKey) []byte { return one.append(b) })
	case []string:
		list(o, data, appendString)
	default:
		if a.value != nil {
			break
		}
		text, err := json.Marshal(a.data)
		if err != nil {
			writeError(w, err)
			return
		}
		o.b = append(o.b, text...)
	}
	if lazy, ok := a.value.(*fast.Lazy); ok {
		if err := o.lazy(lazy, a.most, &a.warnings); err != nil {
			if o.begun { // too late for another status
				panic(http.ErrAbortHandler)
			}
			writeError(w, err)
			return
		}
	} else if a.value != nil {
		o.value(a.value)
	}
	if a.late != nil {
		a.late(a)
	}
	if a.value != nil {
		if a.stats != nil {
			if text, err := json.Marshal(a.stats); err == nil {
				o.b = append(append(o.b, `,"stats":`...), text...)
			}
		}
		o.b = append(o.b, '}')
	}
	for i, list := range [][]string{a.warnings, a.infos} {
		if len(list) > 0 {
			text, _ := json.Marshal(list)
			o.b = append(append(o.b, []string{`,"warnings":`, `,"infos":`}[i]...), text...)
		}
	}
	o.b = append(o.b, '}')
	o.flush()
}

// list writes an array.
func list[T any](o *out, all []T, each func([]byte, T) []byte) {
	o.b = append(o.b, '[')
	for i, one := range all {
		if i > 0 {
			o.b = append(o.b, ',')
		}
		o.b = each(o.b, one)
		o.spill()
	}
	o.b = append(o.b, ']')
}

// lazy writes the object of a matrix that is evaluated as it is written, but for its closing brace.
func (o *out) lazy(l *fast.Lazy, most int, warnings *[]string) error {
	o.b = append(o.b, `{"resultType":"matrix","result":[`...)
	n := 0
	err := l.Each(func(s promql.Series) error {
		if most > 0 && n == most {
			*warnings = append(*warnings, cutShort)
			return fast.ErrEnough
		}
		if n++; n > 1 {
			o.b = append(o.b, ',')
		}
		o.series(s)
		if o.failed {
			return fast.ErrEnough
		}
		return nil
	})
	o.b = append(o.b, ']')
	return err
}

func writeError(w http.ResponseWriter, err error) {
	known := classify(err)
	body, _ := json.Marshal(map[string]string{"status": "error", "errorType": known.kind, "error": known.Error()})
	w.Header().Set("Content-Type", "application/json")
	if known.status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "5")
	}
	w.WriteHeader(known.status)
	_, _ = w.Write(body)
}

// value writes the object of a query's result, but for its closing brace.
func (o *out) value(value parser.Value) {
	o.b = append(append(o.b, `{"resultType":"`...), value.Type()...)
	o.b = append(o.b, `","result":`...)
	switch v := value.(type) {
	case promql.Matrix:
		o.b = append(o.b, '[')
		for i, s := range v {
			if i > 0 {
				o.b = append(o.b, ',')
			}
			o.series(s)
		}
		o.b = append(o.b, ']')
	case promql.Vector:
		o.b = append(o.b, '[')
		for i, s := range v {
			if i > 0 {
				o.b = append(o.b, ',')
			}
			o.b = appendMetric(append(o.b, '{'), s.Metric)
			if s.H != nil {
				o.b = appendHistogramPoint(append(o.b, `,"histogram":`...), s.T, s.H)
			} else {
				o.b = appendPoint(append(o.b, `,"value":`...), s.T, s.F)
			}
			o.b = append(o.b, '}')
			o.spill()
		}
		o.b = append(o.b, ']')
	case promql.Scalar:
		o.b = appendPoint(o.b, v.T, v.V)
	case promql.String:
		o.b = appendTime(append(o.b, '['), v.T)
		o.b = appendString(append(o.b, ','), v.V)
		o.b = append(o.b, ']')
	}
}

func (o *out) series(s promql.Series) {
	o.b = appendMetric(append(o.b, '{'), s.Metric)
	if len(s.Floats) > 0 {
		o.b = append(o.b, `,"values":[`...)
		for k, p := range s.Floats {
			if k > 0 {
				o.b = append(o.b, ',')
			}
			o.b = appendPoint(o.b, p.T, p.F)
			o.spill()
		}
		o.b = append(o.b, ']')
	}
	if len(s.Histograms) > 0 {
		o.b = append(o.b, `,"histograms":[`...)
		for k, p := range s.Histograms {
			if k > 0 {
				o.b = append(o.b, ',')
			}
			o.b = appendHistogramPoint(o.b, p.T, p.H)
			o.spill()
		}
		o.b = append(o.b, ']')
	}
	o.b = append(o.b, '}')
}

// appendString writes a JSON string. Nearly all need no escapes.
func appendString(b []byte, s string) []byte {
	if !asItIs(s) {
		text, _ := json.Marshal(s)
		return append(b, text...)
	}
	return append(append(append(b, '"'), s...), '"')
}

// asItIs says whether a string stands in JSON as it is: no control characters, no quotation mark, \, <, > or &, all ASCII. It looks
// at eight bytes at a time, each in its part of a word (H. S. Warren, Hacker's Delight, 6-1).
func asItIs(s string) bool {
	n := len(s)
	bytes := unsafe.Pointer(unsafe.StringData(s))
	switch {
	case n >= 8:
		for i := 0; i < n-8; i += 8 {
			if odd(binary.LittleEndian.Uint64((*[8]byte)(unsafe.Add(bytes, i))[:])) {
				return false
			}
		}
		// The last eight, some of which may have been looked at.
		return !odd(binary.LittleEndian.Uint64((*[8]byte)(unsafe.Add(bytes, n-8))[:]))
	case n >= 4:
		first := binary.LittleEndian.Uint32((*[4]byte)(bytes)[:])
		last := binary.LittleEndian.Uint32((*[4]byte)(unsafe.Add(bytes, n-4))[:])
		return !odd(uint64(first) | uint64(last)<<32)
	}
	x := uint64(0x2020202020202020)
	for i := range n {
		x = x<<8 | uint64(s[i])
	}
	return !odd(x)
}

// odd says whether one of eight bytes is none that stands in JSON as it is.
func odd(x uint64) bool {
	const each, high = 0x0101010101010101, 0x8080808080808080
	zero := func(x uint64) uint64 { return (x - each) &^ x }
	// " and & differ in one bit, and so do < and >.
	return (x|(x-0x20*each)&^x|zero((x|0x04*each)^'&'*each)|zero((x|0x02*each)^'>'*each)|zero(x^'\\'*each))&high != 0
}

func appendMetric(b []byte, metric labels.Labels) []byte {
	b = append(b, `"metric":{`...)
	first := true
	metric.Range(func(l labels.Label) {
		if !first {
			b = append(b, ',')
		}
		first = false
		b = appendString(b, l.Name)
		b = append(b, ':')
		b = appendString(b, l.Value)
	})
	return append(b, '}')
}

// appendTime writes milliseconds as seconds.
func appendTime(b []byte, ms int64) []byte {
	if ms < 0 {
		b, ms = append(b, '-'), -ms
	}
	b = strconv.AppendInt(b, ms/1000, 10)
	if rest := ms % 1000; rest != 0 {
		b = append(b, '.', byte('0'+rest/100), byte('0'+rest/10%10), byte('0'+rest%10))
	}
	return b
}

// appendNumber writes a number as Prometheus does, without quotes; JSON has no NaN, so it is used within them.
func appendNumber(b []byte, v float64) []byte {
	if whole := int64(v); float64(whole) == v && whole > -1e15 && whole < 1e15 && (whole != 0 || !math.Signbit(v)) {
		return strconv.AppendInt(b, whole, 10)
	}
	form := byte('f')
	if a := math.Abs(v); a != 0 && (a < 1e-6 || a >= 1e21) {
		form = 'e'
	}
	return strconv.AppendFloat(b, v, form, -1, 64)
}

// appendFloat writes a number for Cistern's own routes: null for what JSON does not have.
func appendFloat(b []byte, v float64) []byte {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return append(b, "null"...)
	}
	return appendNumber(b, v)
}

func appendPoint(b []byte, t int64, v float64) []byte {
	b = appendTime(append(b, '['), t)
	b = appendNumber(append(b, `,"`...), v)
	return append(b, `"]`...)
}

func appendHistogramPoint(b []byte, t int64, h *promhistogram.FloatHistogram) []byte {
	b = appendTime(append(b, '['), t)
	b = appendNumber(append(b, `,{"count":"`...), h.Count)
	b = appendNumber(append(b, `","sum":"`...), h.Sum)
	b = append(b, '"')
	first := true
	for it := h.AllBucketIterator(); it.Next(); {
		bucket := it.At()
		if bucket.Count == 0 {
			continue
		}
		// How the bounds are: 0 upper included, 1 lower included, 2 none, 3 both.
		bounds := byte('2')
		switch {
		case bucket.LowerInclusive && bucket.UpperInclusive:
			bounds = '3'
		case bucket.LowerInclusive:
			bounds = '1'
		case bucket.UpperInclusive:
			bounds = '0'
		}
		if first {
			b = append(b, `,"buckets":[`...)
		} else {
			b = append(b, ',')
		}
		first = false
		b = append(b, '[', bounds)
		for _, v := range []float64{bucket.Lower, bucket.Upper, bucket.Count} {
			b = appendNumber(append(b, `,"`...), v)
			b = append(b, '"')
		}
		b = append(b, ']')
	}
	if !first {
		b = append(b, ']')
	}
	return append(b, `}]`...)
}
