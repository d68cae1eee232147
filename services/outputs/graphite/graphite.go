// Package graphite sends samples on as Graphite's lines over TCP: name;tag=value… value time. It is the reverse of
// services/ingest/graphite: names stay as they are, labels become tags.
//
// A log-linear histogram, which is one second's, becomes NAME.count, NAME.sum and for each quantile that is asked for one like
// NAME.p99; of a native histogram that is a running total only count and sum are sent, because its quantiles would be those
// since its start. What Graphite has no form for, NaN and infinities, is left out.
package graphite

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"cistern/services/histogram"
	"cistern/services/histogram/convert"
	"cistern/services/outputs/receiver"
	"cistern/services/store/tsdb"

	promhistogram "github.com/prometheus/prometheus/model/histogram"
)

// Settings are where to send, and which quantiles of histograms.
type Settings struct {
	Address   string    `json:"address"`
	Prefix    string    `json:"prefix"`
	Quantiles []float64 `json:"quantiles"`
}

// maxQuantiles is how many quantiles may be asked for.
const maxQuantiles = 10

type series struct {
	name, tags string
	second     receiver.Second
}

// Output sends to one receiver.
type Output struct {
	settings  Settings
	own       receiver.Own
	quantiles []string // their names
	lines     []byte
	samples   int
	leftOut   int
	decoded   histogram.Histogram
}

// New opens an output; nothing is connected yet.
func New(s Settings, own receiver.Own) (*Output, error) {
	if err := receiver.CheckAddress(s.Address); err != nil {
		return nil, err
	}
	if strings.ContainsAny(s.Prefix, "; \t\r\n") || len(s.Prefix) > 200 {
		return nil, errors.New("the prefix may hold no blanks and no semicolon, and 200 characters at most")
	}
	if len(s.Quantiles) > maxQuantiles {
		return nil, fmt.Errorf("%d quantiles are too many, %d is the limit", len(s.Quantiles), maxQuantiles)
	}
	o := &Output{settings: s, own: own}
	for _, q := range s.Quantiles {
		if !(q >= 0 && q <= 1) {
			return nil, fmt.Errorf("%v is no quantile: it is a number from 0 to 1, as 0.99", q)
		}
		o.quantiles = append(o.quantiles, "p"+strings.ReplaceAll(strconv.FormatFloat(math.Round(q*1e8)/1e6, 'f', -1, 64), ".", "_"))
	}
	return o, nil
}

// clean takes out of a name what would end it.
func clean(text, bad string) string {
	return strings.Map(func(r rune) rune {
		if r <= ' ' || r == 0x7f || strings.ContainsRune(bad, r) {
			return '_'
		}
		return r
	}, text)
}

// Prepare implements receiver.Receiver.
func (o *Output) Prepare(key string, _ tsdb.Kind) any {
	s := &series{}
	var tags strings.Builder
	tsdb.EachLabel(key, func(name, value string) {
		if name == tsdb.NameLabel {
			s.name = o.settings.Prefix + clean(value, ";")
			return
		}
		if value = clean(value, ";"); value[0] == '~' { // carbon refuses that
			value = "_" + value[1:]
		}
		tags.WriteString(";" + clean(name, ";!^=") + "=" + value)
	})
	s.tags = tags.String()
	return s
}

// Add implements receiver.Receiver.
func (o *Output) Add(of any, sample *tsdb.Streamed) int {
	s := of.(*series)
	switch {
	case sample.Encoded != nil:
		if _, err := s.second.Add(&o.decoded, sample.Time, sample.Encoded); err != nil {
			o.leftOut++
			return len(o.lines)
		}
		o.histogram(s, sample.Time, float64(o.decoded.Count()), o.decoded.Sum(), &o.decoded)
	case sample.Native != nil:
		var of *histogram.Histogram
		if sample.Native.CounterResetHint == promhistogram.GaugeType && len(o.quantiles) > 0 {
			of, _, _ = convert.FromPrometheusFloat(sample.Native)
		}
		o.histogram(s, sample.Time, sample.Native.Count, sample.Native.Sum, of)
	default:
		if math.IsNaN(sample.Value) || math.IsInf(sample.Value, 0) {
			o.leftOut++
			return len(o.lines)
		}
		o.line(s, "", sample.Value, sample.Time)
	}
	o.samples++
	return len(o.lines)
}

// histogram adds the lines of one; of is nil when it has no quantiles.
func (o *Output) histogram(s *series, t int64, count, sum float64, of *histogram.Histogram) {
	o.line(s, ".count", count, t)
	o.line(s, ".sum", sum, t)
	if of == nil || len(o.quantiles) == 0 {
		return
	}
	for i, value := range of.Quantiles(o.settings.Quantiles...) {
		o.line(s, "."+o.quantiles[i], value, t)
	}
}

func (o *Output) line(s *series, suffix string, value float64, t int64) {
	if math.IsNaN(value) || math.IsInf(value, 0) {
		return
	}
	o.lines = append(append(append(o.lines, s.name...), suffix...), s.tags...)
	o.lines = strconv.AppendFloat(append(o.lines, ' '), value, 'g', -1, 64)
	o.lines = strconv.AppendInt(append(o.lines, ' '), t/1000, 10)
	if part := t % 1000; part > 0 {
		o.lines = append(o.lines, '.', byte('0'+part/100), byte('0'+part/10%10), byte('0'+part%10))
	}
	o.lines = append(o.lines, '\n')
}

// Send implements receiver.Receiver.
func (o *Output) Send(ctx context.Context) (receiver.Outcome, error) {
	if len(o.lines) > 0 {
		if err := o.own.DeliverTCP(ctx, o.settings.Address, o.lines); err != nil {
			return receiver.Outcome{}, err
		}
	}
	outcome := receiver.Outcome{Sent: o.samples, LeftOut: o.leftOut}
	o.Forget()
	return outcome, nil
}

// Forget implements receiver.Receiver.
func (o *Output) Forget() { o.lines, o.samples, o.leftOut = o.lines[:0], 0, 0 }

// Check implements receiver.Receiver: it connects, and sends nothing.
func (o *Output) Check(ctx context.Context) (string, error) {
	if err := o.own.DeliverTCP(ctx, o.settings.Address, nil); err != nil {
		return "", err
	}
	return fmt.Sprintf("%s accepted a connection, and closed it at its end as a receiver of lines does. Nothing was sent.", o.settings.Address), nil
}

// Close implements receiver.Receiver.
func (o *Output) Close() error { return nil }
