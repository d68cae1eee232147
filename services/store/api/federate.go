package api

// GET /federate: the newest sample of each series that matches, for another Prometheus to scrape.

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"

	"cistern/services/store/tsdb"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	promhistogram "github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"
	"google.golang.org/protobuf/proto"
)

// maxFederated is how many series one answer may have, about 100 MiB of memory. Who wants all of a store asks /api/v1/read.
const maxFederated = 200_000

// leftOutHeader says what an answer does not have that was asked for, and why.
const leftOutHeader = "X-Cistern-Left-Out"

// latest is the newest sample of a series.
type latest struct {
	name   string
	labels []tsdb.Label
	time   int64
	number float64
	native *promhistogram.FloatHistogram // nil for a number
}

// federated is what an answer has, by name and then by labels, and what it has not.
type federated struct {
	samples []latest
	leftOut []string
}

func (a *API) federate(w http.ResponseWriter, r *http.Request) {
	found, err := a.toFederate(r)
	if err != nil {
		known := classify(err)
		w.Header().Set("X-Content-Type-Options", "nosniff")
		if known.status == http.StatusServiceUnavailable {
			w.Header().Set("Retry-After", "5")
		}
		http.Error(w, known.Error(), known.status)
		return
	}
	format := expfmt.NegotiateAccept(r.Header, expfmt.NewFormat(expfmt.TypeOpenMetrics), expfmt.NewFormat(expfmt.TypeProtoDelim), expfmt.NewFormat(expfmt.TypeProtoText),
		expfmt.NewFormat(expfmt.TypeProtoCompact), expfmt.NewFormat(expfmt.TypeTextPlain))
	w.Header().Set("Content-Type", string(format))
	if len(found.leftOut) > 0 {
		w.Header().Set(leftOutHeader, strings.Join(found.leftOut, "; "))
	}
	encoder := expfmt.NewEncoder(w, format)
	binary := format.FormatType() == expfmt.TypeProtoDelim || format.FormatType() == expfmt.TypeProtoText || format.FormatType() == expfmt.TypeProtoCompact
	for list := found.samples; len(list) > 0; {
		n := 1
		for n < len(list) && list[n].name == list[0].name && kindOf(&list[n]) == kindOf(&list[0]) {
			n++
		}
		if encoder.Encode(family(list[:n], binary)) != nil {
			return // the client left
		}
		list = list[n:]
	}
	if closer, ok := encoder.(expfmt.Closer); ok {
		_ = closer.Close() // OpenMetrics' last line
	}
}

// toFederate is the newest sample of each series that the request's selectors match, not older than a query looks back.
func (a *API) toFederate(r *http.Request) (*federated, error) {
	sets, err := a.matcherSets(r, true)
	if err != nil {
		return nil, err
	}
	asked, err := a.enter(r)
	if err != nil {
		return nil, err
	}
	defer asked.end()
	warnings := &tsdb.Warnings{}
	ctx := tsdb.WithWarnings(asked.ctx, warnings)
	now := a.now().UnixMilli()
	found, bins := &federated{}, 0
	seen := map[string]bool{}
	for _, matchers := range sets {
		if err := a.eachNewest(ctx, now-lookback.Milliseconds(), now, matchers, func(s *tsdb.Series, one latest, any bool) error {
			switch {
			case seen[s.Key]:
				return nil
			case !any:
				if s.HasHistograms() {
					bins++
				}
				return nil
			case len(found.samples) == maxFederated:
				return &apiError{"execution", http.StatusUnprocessableEntity,
					fmt.Errorf("match[]: more than %d series match, which is the limit of one answer; ask for fewer with each request, or read samples by /api/v1/read", maxFederated)}
			}
			seen[s.Key] = true
			found.samples = append(found.samples, one)
			return nil
		}); err != nil {
			return nil, err
		}
	}
	slices.SortStableFunc(found.samples, func(x, y latest) int {
		if c := strings.Compare(x.name, y.name); c != 0 {
			return c
		}
		return kindOf(&x) - kindOf(&y)
	})
	if bins > 0 {
		found.leftOut = append(found.leftOut, fmt.Sprintf("%d histograms of one second each, which are no running totals: ask /api/v1/read or /api/v1/histogram for them", bins))
	}
	for _, one := range warnings.List() {
		found.leftOut = append(found.leftOut, strings.Map(func(c rune) rune {
			if c < ' ' || c > '~' {
				return '?'
			}
			return c
		}, one))
	}
	return found, nil
}

// eachNewest calls f with each series and its newest sample; any is false where it has none, or has ended.
func (a *API) eachNewest(ctx context.Context, minTime, maxTime int64, matchers []*labels.Matcher, f func(s *tsdb.Series, one latest, any bool) error) error {
	list, release, err := a.store.Select(ctx, minTime, maxTime, matchers...)
	defer release()
	if err != nil {
		return err
	}
	var times []int64
	var values []float64
	for i, s := range list {
		if i%1000 == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		one, any := latest{time: math.MinInt64}, false
		for _, l := range s.Labels() {
			if l.Name == tsdb.NameLabel {
				one.name = l.Value
			} else {
				one.labels = append(one.labels, l)
			}
		}
		if s.HasNumbers() {
			if times, values, err = s.AppendNumbers(minTime, maxTime, times[:0], values[:0]); err != nil {
				return err
			}
			if n := len(times); n > 0 {
				one.time, one.number, any = times[n-1], values[n-1], true
			}
		}
		if s.HasNatives() {
			it := s.Natives(minTime, maxTime)
			for it.Next() {
				if at, h := it.At(); at >= one.time {
					one.time, one.native, any = at, h, true
				}
			}
			if err := it.Err(); err != nil {
				return err
			}
		}
		// No format has a marker for a series that has ended.
		if any && (one.native == nil && value.IsStaleNaN(one.number) || one.native != nil && value.IsStaleNaN(one.native.Sum)) {
			any = false
		}
		if any && one.native != nil {
			one.native = one.native.Copy() // the iterator's own is used again
		}
		if err := f(s, one, any); err != nil {
			return err
		}
	}
	return nil
}

// The kinds of families, which samples of one name can be of several of.
const (
	familyOfNumbers = iota
	familyOfTotals
	familyOfGauges
)

func kindOf(l *latest) int {
	switch {
	case l.native == nil:
		return familyOfNumbers
	case l.native.CounterResetHint == promhistogram.GaugeType:
		return familyOfGauges
	}
	return familyOfTotals
}

// family is the samples of one name and kind as the encoders take them. Numbers have no type, as in Prometheus' own
// federation: the type of a name is not that of each series.
func family(list []latest, binary bool) *dto.MetricFamily {
	kind := map[int]dto.MetricType{familyOfNumbers: dto.MetricType_UNTYPED, familyOfTotals: dto.MetricType_HISTOGRAM, familyOfGauges: dto.MetricType_GAUGE_HISTOGRAM}[kindOf(&list[0])]
	f := &dto.MetricFamily{Name: proto.String(list[0].name), Type: &kind, Metric: make([]*dto.Metric, len(list))}
	for i := range list {
		one := &list[i]
		m := &dto.Metric{TimestampMs: proto.Int64(one.time)}
		instance := false
		for _, l := range one.labels {
			m.Label = append(m.Label, &dto.LabelPair{Name: proto.String(l.Name), Value: proto.String(l.Value)})
			instance = instance || l.Name == "instance"
		}
		if !instance { // with honor_labels: true the scraper's own instance must not take its place
			m.Label = append(m.Label, &dto.LabelPair{Name: proto.String("instance"), Value: proto.String("")})
		}
		switch {
		case one.native == nil:
			m.Untyped = &dto.Untyped{Value: proto.Float64(one.number)}
		case binary && !one.native.UsesCustomBuckets():
			m.Histogram = exponentialBuckets(one.native)
		default:
			m.Histogram = classicBuckets(one.native)
		}
		f.Metric[i] = m
	}
	return f
}

// exponentialBuckets is a native histogram as it is, which only protobuf can hold.
func exponentialBuckets(h *promhistogram.FloatHistogram) *dto.Histogram {
	spans := func(list []promhistogram.Span) []*dto.BucketSpan {
		var all []*dto.BucketSpan
		for _, s := range list {
			all = append(all, &dto.BucketSpan{Offset: proto.Int32(s.Offset), Length: proto.Uint32(s.Length)})
		}
		return all
	}
	return &dto.Histogram{
		SampleCountFloat: proto.Float64(h.Count), SampleSum: proto.Float64(h.Sum), Schema: proto.Int32(h.Schema),
		ZeroThreshold: proto.Float64(h.ZeroThreshold), ZeroCountFloat: proto.Float64(h.ZeroCount),
		PositiveSpan: spans(h.PositiveSpans), PositiveCount: h.PositiveBuckets,
		NegativeSpan: spans(h.NegativeSpans), NegativeCount: h.NegativeBuckets,
	}
}

// classicBuckets counts what is not greater than each upper bound. Of custom bounds all are there, of exponential ones those
// of buckets that hold something, which is what the text formats can have of a native histogram.
func classicBuckets(h *promhistogram.FloatHistogram) *dto.Histogram {
	classic := &dto.Histogram{SampleCountFloat: proto.Float64(h.Count), SampleSum: proto.Float64(h.Sum)}
	below := 0.0
	bound := func(le float64) {
		if !math.IsInf(le, 1) { // the encoders add that
			classic.Bucket = append(classic.Bucket, &dto.Bucket{UpperBound: proto.Float64(le), CumulativeCountFloat: proto.Float64(below)})
		}
	}
	if h.UsesCustomBuckets() {
		it := h.PositiveBucketIterator()
		more := it.Next()
		for i, le := range h.CustomValues {
			for more && int(it.At().Index) <= i {
				below += it.At().Count
				more = it.Next()
			}
			bound(le)
		}
		return classic
	}
	for it := h.AllBucketIterator(); it.Next(); {
		if b := it.At(); b.Count != 0 {
			below += b.Count
			bound(b.Upper)
		}
	}
	return classic
}
