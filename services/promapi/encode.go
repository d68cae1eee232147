package promapi

// Answers as JSON. Points are written by hand: a chart asks for a hundred thousand of them.

import (
	"encoding/json"
	"math"
	"net/http"
	"strconv"

	promhistogram "github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
)

func writeData(w http.ResponseWriter, data any, warnings, infos []string) {
	text, written := data.(raw)
	if !written {
		var err error
		if text, err = json.Marshal(data); err != nil {
			writeError(w, err)
			return
		}
	}
	body := append([]byte(`{"status":"success","data":`), text...)
	for name, list := range map[string][]string{"warnings": warnings, "infos": infos} {
		if len(list) > 0 {
			more, _ := json.Marshal(list)
			body = append(body, `,"`+name+`":`...)
			body = append(body, more...)
		}
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(append(body, '}'))
}

func writeError(w http.ResponseWriter, err error) {
	known := classify(err)
	body, _ := json.Marshal(map[string]string{"status": "error", "errorType": known.kind, "error": known.Error()})
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(known.status)
	_, _ = w.Write(body)
}

// raw is JSON that is written already.
type raw []byte

func encodeValue(value parser.Value) raw {
	b := append([]byte(`{"resultType":"`), value.Type()...)
	b = append(b, `","result":`...)
	switch v := value.(type) {
	case promql.Matrix:
		b = append(b, '[')
		for i, s := range v {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendMetric(append(b, '{'), s.Metric)
			if len(s.Floats) > 0 {
				b = append(b, `,"values":[`...)
				for k, p := range s.Floats {
					if k > 0 {
						b = append(b, ',')
					}
					b = appendPoint(b, p.T, p.F)
				}
				b = append(b, ']')
			}
			if len(s.Histograms) > 0 {
				b = append(b, `,"histograms":[`...)
				for k, p := range s.Histograms {
					if k > 0 {
						b = append(b, ',')
					}
					b = appendHistogramPoint(b, p.T, p.H)
				}
				b = append(b, ']')
			}
			b = append(b, '}')
		}
		b = append(b, ']')
	case promql.Vector:
		b = append(b, '[')
		for i, s := range v {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendMetric(append(b, '{'), s.Metric)
			if s.H != nil {
				b = appendHistogramPoint(append(b, `,"histogram":`...), s.T, s.H)
			} else {
				b = appendPoint(append(b, `,"value":`...), s.T, s.F)
			}
			b = append(b, '}')
		}
		b = append(b, ']')
	case promql.Scalar:
		b = appendPoint(b, v.T, v.V)
	case promql.String:
		b = appendTime(append(b, '['), v.T)
		b = appendString(append(b, ','), v.V)
		b = append(b, ']')
	}
	return append(b, '}')
}

func appendString(b []byte, s string) []byte {
	text, _ := json.Marshal(s)
	return append(b, text...)
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
	form := byte('f')
	if a := math.Abs(v); a != 0 && (a < 1e-6 || a >= 1e21) {
		form = 'e'
	}
	return strconv.AppendFloat(b, v, form, -1, 64)
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
	b = append(b, `","buckets":[`...)
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
		if !first {
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
	return append(b, `]}]`...)
}
