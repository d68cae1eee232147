package otlp

// What becomes what: resources, scopes, metrics and their data points as samples.

import (
	"errors"
	"fmt"
	"math"
	"strconv"

	"cistern/services/store/tsdb"

	promhistogram "github.com/prometheus/prometheus/model/histogram"
	metrics "go.opentelemetry.io/proto/otlp/metrics/v1"
)

// Reasons of refusal besides the store's own.
const (
	NoTemporality tsdb.Reason = "otlp_no_temporality"
	NoData        tsdb.Reason = "otlp_no_data" // a metric of a type that is not known
	OldDelta      tsdb.Reason = "otlp_old_delta"
	BadScale      tsdb.Reason = "otlp_bad_scale"
	BadStart      tsdb.Reason = "otlp_bad_start"     // an interval that ends before it begins
	BadExemplar   tsdb.Reason = "otlp_bad_exemplar"  // its data point is stored
	BadTarget     tsdb.Reason = "otlp_target_labels" // a resource's attributes that target_info cannot hold
)

// stale is Prometheus' marker: the series has ended.
var stale = math.Float64frombits(0x7ff0000000000002)

// rules are what of the options a translation needs.
type rules struct {
	promote []string
	names   naming
}

// beside is the point of a sample that no data point is: target_info, and the zero at which a total begins.
const beside = -1

// translation is what a request becomes. samples, points and names are of the same length.
type translation struct {
	rules *rules
	now   int64

	samples   []tsdb.Sample
	points    []int    // the data point a sample comes from, or beside
	names     []string // its metric
	deltas    []delta
	metadata  []tsdb.Metadata
	exemplars []tsdb.Exemplar
	rejected  []rejection
	warnings  []rejection // what was left out of data points that are stored, and of target_info

	keys int          // bytes of all keys
	base []tsdb.Label // of the resource and the scope
	// forced take the place of all others of their names: totals are kept of the series that are stored.
	forced []tsdb.Label
	point  int    // how many data points there were before this one
	name   string // of the metric

	earliest, latest int64 // of the resource's points, ms
}

// delta is a sample whose value is a difference yet.
type delta struct {
	sample      int
	start, time uint64 // ns
	grows       bool
}

// dataPoint is what all kinds of data points have.
type dataPoint interface {
	GetStartTimeUnixNano() uint64
	GetTimeUnixNano() uint64
	GetFlags() uint32
}

func (o *rules) translate(data *metrics.MetricsData, now int64, forced []tsdb.Label) *translation {
	t := &translation{rules: o, now: now, forced: forced}
	for _, resource := range data.GetResourceMetrics() {
		ofResource := o.resourceLabels(resource.GetResource())
		t.earliest, t.latest = math.MaxInt64, math.MinInt64
		for _, scope := range resource.GetScopeMetrics() {
			t.base = append(ofResource[:len(ofResource):len(ofResource)], o.scopeLabels(scope.GetScope(), scope.GetSchemaUrl())...)
			for _, metric := range scope.GetMetrics() {
				t.metric(metric)
			}
		}
		t.target(resource.GetResource())
	}
	return t
}

func (t *translation) metric(m *metrics.Metric) {
	t.name = m.GetName()
	if len(t.name) > tsdb.MaxLabelValue {
		// Here and not only where the key is made: each point would carry the name along.
		t.name = t.name[:100] + "…"
		for range pointsOf(m) {
			t.reject(tsdb.LabelTooLong, "the name is too long")
			t.point++
		}
		return
	}
	name, err := t.rules.names.metric(m)
	if err != nil {
		for range max(pointsOf(m), 1) {
			t.reject(tsdb.BadName, err.Error())
			t.point++
		}
		return
	}
	t.name = name
	kind := ""
	before := len(t.samples)
	switch data := m.GetData().(type) {
	case *metrics.Metric_Gauge:
		kind = "gauge"
		for _, p := range data.Gauge.GetDataPoints() {
			t.number(p, tsdb.Gauge, nil)
			t.point++
		}
	case *metrics.Metric_Sum:
		kind = t.sum(data.Sum)
	case *metrics.Metric_Histogram:
		kind = "histogram"
		for _, p := range data.Histogram.GetDataPoints() {
			t.explicit(p, data.Histogram.GetAggregationTemporality())
			t.point++
		}
	case *metrics.Metric_ExponentialHistogram:
		kind = "histogram"
		for _, p := range data.ExponentialHistogram.GetDataPoints() {
			t.exponential(p, data.ExponentialHistogram.GetAggregationTemporality())
			t.point++
		}
	case *metrics.Metric_Summary:
		kind = "summary"
		for _, p := range data.Summary.GetDataPoints() {
			t.summary(p)
			t.point++
		}
	default:
		t.reject(NoData, "it holds no data of a type that is known here")
		t.point++
	}
	if len(t.samples) > before {
		t.metadata = append(t.metadata, tsdb.Metadata{Name: t.name, Type: kind, Unit: m.GetUnit(), Help: m.GetDescription()})
	}
}

// pointsOf is how many data points a metric has.
func pointsOf(m *metrics.Metric) int {
	return len(m.GetGauge().GetDataPoints()) + len(m.GetSum().GetDataPoints()) + len(m.GetHistogram().GetDataPoints()) +
		len(m.GetExponentialHistogram().GetDataPoints()) + len(m.GetSummary().GetDataPoints())
}

// sum makes monotonic sums counters and the others gauges. Differences become running totals.
func (t *translation) sum(sum *metrics.Sum) (kind string) {
	of := tsdb.Gauge
	kind = "gauge"
	if sum.GetIsMonotonic() {
		of, kind = tsdb.Counter, "counter"
	}
	for _, p := range sum.GetDataPoints() {
		switch sum.GetAggregationTemporality() {
		case metrics.AggregationTemporality_AGGREGATION_TEMPORALITY_CUMULATIVE:
			t.number(p, of, nil)
		case metrics.AggregationTemporality_AGGREGATION_TEMPORALITY_DELTA:
			t.number(p, of, t.difference(p, sum.GetIsMonotonic()))
		default:
			t.reject(NoTemporality, "a sum must be cumulative or delta")
		}
		t.point++
	}
	return kind
}

func (t *translation) number(p *metrics.NumberDataPoint, kind tsdb.Kind, difference *delta) {
	key, ok := t.key(p.GetAttributes(), t.name)
	if !ok {
		return
	}
	sample := tsdb.Sample{Key: key, Kind: kind, Time: t.time(p)}
	switch v := p.GetValue().(type) {
	case *metrics.NumberDataPoint_AsDouble:
		sample.Value = v.AsDouble
	case *metrics.NumberDataPoint_AsInt:
		sample.Value = float64(v.AsInt)
	default:
		if !unrecorded(p) {
			t.reject(tsdb.BadValue, "it has no value")
			return
		}
	}
	if unrecorded(p) {
		sample.Value, difference = stale, nil
	}
	if difference != nil {
		if math.IsNaN(sample.Value) || math.IsInf(sample.Value, 0) || difference.grows && sample.Value < 0 {
			t.reject(tsdb.BadValue, fmt.Sprintf("%g cannot be added to a total", sample.Value))
			return
		}
		if !t.later(difference) {
			return
		}
	}
	t.add(sample)
	t.examples(key, p.GetExemplars())
}

// difference is a point whose value is what happened between its start and its time.
func (t *translation) difference(p dataPoint, grows bool) *delta {
	d := &delta{start: p.GetStartTimeUnixNano(), time: p.GetTimeUnixNano(), grows: grows}
	if d.time == 0 {
		d.time = uint64(t.now) * 1e6
	}
	return d
}

// later has the next sample made a total by apply. It is false when the difference was rejected.
func (t *translation) later(d *delta) bool {
	if d.start > d.time {
		t.reject(BadStart, fmt.Sprintf("its start, %d, is later than its time, %d", d.start, d.time))
		return false
	}
	d.sample = len(t.samples)
	t.deltas = append(t.deltas, *d)
	return true
}

// summary makes a gauge of each quantile, and counters of the count and the sum.
func (t *translation) summary(p *metrics.SummaryDataPoint) {
	at := t.time(p)
	one := func(name string, kind tsdb.Kind, value float64, more ...tsdb.Label) {
		key, ok := t.key(p.GetAttributes(), name, more...)
		if !ok {
			return
		}
		if unrecorded(p) {
			value = stale
		}
		t.add(tsdb.Sample{Key: key, Kind: kind, Time: at, Value: value})
	}
	one(t.name+"_count", tsdb.Counter, float64(p.GetCount()))
	one(t.name+"_sum", tsdb.Counter, p.GetSum())
	for _, q := range p.GetQuantileValues() {
		if !(q.GetQuantile() >= 0 && q.GetQuantile() <= 1) {
			t.reject(tsdb.BadValue, fmt.Sprintf("%g is no quantile", q.GetQuantile()))
			continue
		}
		one(t.name, tsdb.Gauge, q.GetValue(), tsdb.Label{Name: "quantile", Value: strconv.FormatFloat(q.GetQuantile(), 'g', -1, 64)})
	}
}

// native stores a histogram: a running total, or with delta what is added to one.
func (t *translation) native(p dataPoint, key []byte, h *promhistogram.FloatHistogram, isDelta bool) bool {
	if unrecorded(p) {
		h = &promhistogram.FloatHistogram{Schema: h.Schema, Sum: stale, Count: stale}
	} else if err := h.Validate(); err != nil {
		t.reject(tsdb.BadHistogram, err.Error())
		return false
	} else if isDelta {
		if math.IsNaN(h.Sum) || math.IsInf(h.Sum, 0) {
			t.reject(tsdb.BadValue, fmt.Sprintf("the sum %g cannot be added to a total", h.Sum))
			return false
		}
		if !t.later(t.difference(p, true)) {
			return false
		}
	}
	t.add(tsdb.Sample{Key: key, Kind: tsdb.NativeHistogram, Time: t.time(p), Native: h})
	return true
}

func (t *translation) add(sample tsdb.Sample) {
	t.earliest, t.latest = min(t.earliest, sample.Time), max(t.latest, sample.Time)
	t.samples = append(t.samples, sample)
	t.points = append(t.points, t.point)
	t.names = append(t.names, t.name)
}

func (t *translation) reject(reason tsdb.Reason, detail string) {
	t.rejected = append(t.rejected, rejection{t.point, reason, t.name + ": " + detail})
}

// warn notes what was left out though its data point is stored.
func (t *translation) warn(reason tsdb.Reason, detail string) {
	t.warnings = append(t.warnings, rejection{t.point, reason, t.name + ": " + detail})
}

func (t *translation) rejectKey(err error) {
	var bad *tsdb.KeyError
	if !errors.As(err, &bad) {
		bad = &tsdb.KeyError{Reason: tsdb.BadLabel, Detail: err.Error()}
	}
	t.reject(bad.Reason, bad.Detail)
}

// time is a data point's, in milliseconds; that of the request when it has none.
func (t *translation) time(p dataPoint) int64 {
	if p.GetTimeUnixNano() == 0 {
		return t.now
	}
	return int64(p.GetTimeUnixNano() / 1e6)
}

func unrecorded(p dataPoint) bool {
	return p.GetFlags()&uint32(metrics.DataPointFlags_DATA_POINT_FLAGS_NO_RECORDED_VALUE_MASK) != 0
}
