package conformance

// OpenTelemetry's SDKs for Go, JavaScript and Python, by HTTP and gRPC, cumulative and delta, counters and histograms: what rate,
// increase and histogram_quantile say of it is what was recorded.

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetricgrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/metric"
	sdk "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/resource"
	"go.opentelemetry.io/otel/trace"
)

// What each client records: in each round one measurement of each value, and as much on the counter; two are added to what
// goes up and down, and one is taken away. Exported after each round.
const rounds = 5

var recorded = []float64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100, 200}

const recordedSum = 795

// query is an instant query's results: numbers by "value", histograms by count and sum, raw samples by matrix.
func (d *daemon) query(t *testing.T, expression string) []struct {
	Metric map[string]string
	Value  [2]any
	Values [][2]any
} {
	t.Helper()
	response, err := http.Get("http://" + d.http + "/api/v1/query?query=" + url.QueryEscape(expression))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	var answer struct {
		Status, Error string
		Data          struct {
			Result []struct {
				Metric map[string]string
				Value  [2]any
				Values [][2]any
			}
		}
		Warnings, Infos []string
	}
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil || answer.Status != "success" || len(answer.Warnings) > 0 {
		t.Fatalf("%s: %v %+v", expression, err, answer)
	}
	return answer.Data.Result
}

// number is the one result of an expression.
func (d *daemon) number(t *testing.T, expression string) float64 {
	t.Helper()
	found := d.query(t, expression)
	if len(found) != 1 {
		t.Errorf("%s: %d results %v", expression, len(found), found)
		return math.NaN()
	}
	v, err := strconv.ParseFloat(fmt.Sprint(found[0].Value[1]), 64)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// holds checks what the store says of one client. The measurements of the first export are in an increase when they came as a
// delta; a total that was never seen before may have begun at any time.
func holds(t *testing.T, d *daemon, job string, delta bool) {
	t.Helper()
	of := func(name string) string { return fmt.Sprintf(`{%q,job=%q}`, name, job) }
	near := func(what string, got, want, within float64) {
		t.Helper()
		if math.IsNaN(got) || math.Abs(got-want) > within*math.Abs(want) {
			t.Errorf("%s, %s: %g, not %g", job, what, got, want)
		}
	}
	n := float64(rounds * len(recorded))
	near("the counter", d.number(t, of("orders.placed")), rounds*recordedSum, 0)
	near("what goes up and down", d.number(t, of("queue.length")), rounds, 0)
	for _, h := range []string{"checkout.time", "checkout.size"} {
		near(h+"'s count", d.number(t, "histogram_count("+of(h)+")"), n, 0)
		near(h+"'s sum", d.number(t, "histogram_sum("+of(h)+")"), rounds*recordedSum, 1e-9)
	}
	// An increase is extrapolated to its range: before the first sample by half of the samples' distance, unless that would be
	// below zero, which is where deltas begin, and beyond the last one by 1.1 of the distance at most.
	seen, samples := float64(rounds), float64(rounds+1)
	if !delta {
		seen, samples = rounds-1, rounds
	}
	most := 1 + (0.5+1.1)/(samples-1)
	between := func(what string, got, least float64) {
		t.Helper()
		if !(got >= least*0.999 && got <= least*most*1.001) {
			t.Errorf("%s, %s: %g, not within %g and %g", job, what, got, least, least*most)
		}
	}
	between("increase", d.number(t, "increase("+of("orders.placed")+"[5m])"), seen*recordedSum)
	between("rate", 300*d.number(t, "rate("+of("orders.placed")+"[5m])"), seen*recordedSum)
	for _, h := range []string{"checkout.time", "checkout.size"} {
		between(h+"'s increase", d.number(t, "histogram_count(increase("+of(h)+"[5m]))"), seen*float64(len(recorded)))
		between(h+"'s sum's increase", d.number(t, "histogram_sum(increase("+of(h)+"[5m]))"), seen*recordedSum)
		near(h+"'s mean", d.number(t, "histogram_avg(rate("+of(h)+"[5m]))"), recordedSum/float64(len(recorded)), 1e-9)
		// A quantile does not depend on the extrapolation. That of explicit buckets is within its bucket.
		low, high := d.number(t, "histogram_quantile(0.475, rate("+of(h)+"[5m]))"), d.number(t, "histogram_quantile(0.775, rate("+of(h)+"[5m]))")
		below := "10"
		if h == "checkout.size" {
			below = "15"
			near(h+"'s quantile 0.475", low, 10, 0.02)
			near(h+"'s quantile 0.775", high, 70, 0.02)
		} else if !(low > 5 && low <= 10 && high > 50 && high <= 75) {
			t.Errorf("%s, %s: quantiles %g and %g", job, h, low, high)
		}
		near(h+"'s fraction", d.number(t, "histogram_fraction(0, "+below+", rate("+of(h)+"[5m]))"), 0.5, 1e-6)
	}
	// What is known of the client is in target_info, and can be joined.
	near("target_info", d.number(t, fmt.Sprintf(`target_info{job=%q,"telemetry.sdk.name"="opentelemetry"}`, job)), 1, 0)
	joined := d.query(t, `rate(`+of("orders.placed")+`[5m]) * on (job, instance) group_left ("telemetry.sdk.name") target_info`)
	if len(joined) != 1 || joined[0].Metric["telemetry.sdk.name"] != "opentelemetry" || joined[0].Metric["instance"] != "one" {
		t.Errorf("%s: %v", job, joined)
	}
	if scope := d.query(t, of("orders.placed")); len(scope) != 1 || scope[0].Metric["otel_scope_name"] != "cistern.conformance" || scope[0].Metric["otel_scope_version"] != "1.2" {
		t.Errorf("%s: %v", job, scope)
	}
}

func TestOpenTelemetry(t *testing.T) {
	d := storaged(t)
	for _, delta := range []bool{false, true} {
		temporality := metricdata.CumulativeTemporality
		if delta {
			temporality = metricdata.DeltaTemporality
		}
		selector := func(sdk.InstrumentKind) metricdata.Temporality { return temporality }
		for _, c := range []struct {
			name string
			make func(ctx context.Context) (sdk.Exporter, error)
		}{
			{"http", func(ctx context.Context) (sdk.Exporter, error) {
				return otlpmetrichttp.New(ctx, otlpmetrichttp.WithEndpoint(d.http), otlpmetrichttp.WithInsecure(), otlpmetrichttp.WithTemporalitySelector(selector),
					otlpmetrichttp.WithURLPath("/api/v1/otlp/v1/metrics"), otlpmetrichttp.WithCompression(otlpmetrichttp.GzipCompression))
			}},
			{"grpc", func(ctx context.Context) (sdk.Exporter, error) {
				return otlpmetricgrpc.New(ctx, otlpmetricgrpc.WithEndpoint(d.grpc), otlpmetricgrpc.WithInsecure(), otlpmetricgrpc.WithTemporalitySelector(selector),
					otlpmetricgrpc.WithCompressor("gzip"))
			}},
		} {
			job := fmt.Sprintf("go-%s-%v", c.name, delta)
			t.Run(job, func(t *testing.T) {
				t.Parallel()
				exporter, err := c.make(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				goClient(t, job, exporter)
				holds(t, d, job, delta)
				for _, name := range []string{"orders.placed", "checkout.time", "checkout.size"} {
					d.exemplified(t, fmt.Sprintf("{%q,job=%q}", name, job))
				}
			})
		}
	}
	for _, delta := range []bool{false, true} {
		job := fmt.Sprintf("python-%v", delta)
		t.Run(job, func(t *testing.T) {
			t.Parallel()
			pythonClient(t, d, job, delta)
			holds(t, d, job, delta)
		})
	}
	for _, form := range []string{"http", "proto"} {
		for _, delta := range []bool{false, true} {
			job := fmt.Sprintf("js-%s-%v", form, delta)
			t.Run(job, func(t *testing.T) {
				t.Parallel()
				javascriptClient(t, d, job, form, delta)
				holds(t, d, job, delta)
			})
		}
	}
}

// Several processes that call themselves the same, with deltas, and a restart of storaged in between: nothing is lost and
// nothing is counted twice.
func TestDeltasOfSeveralSenders(t *testing.T) {
	d := storaged(t)
	selector := func(sdk.InstrumentKind) metricdata.Temporality { return metricdata.DeltaTemporality }
	ctx := t.Context()
	var providers []*sdk.MeterProvider
	var counters []metric.Int64Counter
	for range 3 {
		exporter, err := otlpmetrichttp.New(ctx, otlpmetrichttp.WithEndpoint(d.http), otlpmetrichttp.WithInsecure(), otlpmetrichttp.WithTemporalitySelector(selector))
		if err != nil {
			t.Fatal(err)
		}
		provider := sdk.NewMeterProvider(sdk.WithResource(resource.NewSchemaless(attribute.String("service.name", "twins"))), sdk.WithReader(sdk.NewPeriodicReader(exporter, sdk.WithInterval(time.Hour))))
		counter, err := provider.Meter("m").Int64Counter("orders")
		if err != nil {
			t.Fatal(err)
		}
		providers, counters = append(providers, provider), append(counters, counter)
	}
	sent := 0
	for round := range 6 {
		if round == 3 {
			d.restart(t)
		}
		for i, counter := range counters {
			counter.Add(ctx, int64(i+1))
			sent += i + 1
			if err := providers[i].ForceFlush(ctx); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(20 * time.Millisecond)
	}
	if got := d.number(t, `{"orders",job="twins"}`); got != float64(sent) {
		t.Errorf("%g were counted of %d", got, sent)
	}
	if got := d.number(t, `resets({"orders",job="twins"}[5m])`); got != 0 {
		t.Errorf("%g resets", got)
	}
}

// What the Go client measures was measured in this span, so that the measurements become exemplars.
var measured = trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{0xc1, 15: 0x57}, SpanID: trace.SpanID{7: 0xe4}, TraceFlags: trace.FlagsSampled})

// exemplified checks that an expression's series have exemplars of that span.
func (d *daemon) exemplified(t *testing.T, expression string) {
	t.Helper()
	now := time.Now().Unix()
	form := url.Values{"query": {expression}, "start": {fmt.Sprint(now - 600)}, "end": {fmt.Sprint(now + 60)}}
	response, err := http.Get("http://" + d.http + "/api/v1/query_exemplars?" + form.Encode())
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	var answer struct {
		Data []struct {
			Exemplars []struct {
				Labels map[string]string
				Value  string
			}
		}
	}
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
		t.Fatal(err)
	}
	count := 0
	for _, series := range answer.Data {
		for _, one := range series.Exemplars {
			if value, err := strconv.ParseFloat(one.Value, 64); err != nil || !slices.Contains(recorded, value) ||
				one.Labels["trace_id"] != measured.TraceID().String() || one.Labels["span_id"] != measured.SpanID().String() {
				t.Errorf("%s has the exemplar %v", expression, one)
			}
			count++
		}
	}
	if count == 0 {
		t.Errorf("%s has no exemplars", expression)
	}
}

func goClient(t *testing.T, job string, exporter sdk.Exporter) {
	ctx := trace.ContextWithSpanContext(t.Context(), measured)
	described, err := resource.New(ctx, resource.WithTelemetrySDK(), resource.WithAttributes(attribute.String("service.name", job), attribute.String("service.instance.id", "one")))
	if err != nil {
		t.Fatal(err)
	}
	provider := sdk.NewMeterProvider(sdk.WithResource(described), sdk.WithReader(sdk.NewPeriodicReader(exporter, sdk.WithInterval(time.Hour))),
		sdk.WithView(sdk.NewView(sdk.Instrument{Name: "checkout.size"}, sdk.Stream{Aggregation: sdk.AggregationBase2ExponentialHistogram{MaxSize: 160, MaxScale: 8}})))
	meter := provider.Meter("cistern.conformance", metric.WithInstrumentationVersion("1.2"))
	orders, err := meter.Float64Counter("orders.placed")
	if err != nil {
		t.Fatal(err)
	}
	queue, err := meter.Int64UpDownCounter("queue.length")
	if err != nil {
		t.Fatal(err)
	}
	latency, err := meter.Float64Histogram("checkout.time")
	if err != nil {
		t.Fatal(err)
	}
	size, err := meter.Float64Histogram("checkout.size")
	if err != nil {
		t.Fatal(err)
	}
	for range rounds {
		for _, v := range recorded {
			orders.Add(ctx, v)
			latency.Record(ctx, v)
			size.Record(ctx, v)
		}
		queue.Add(ctx, 2)
		queue.Add(ctx, -1)
		time.Sleep(200 * time.Millisecond)
		if err := provider.ForceFlush(ctx); err != nil {
			t.Fatal(err)
		}
	}
	if err := exporter.Shutdown(ctx); err != nil {
		t.Fatal(err)
	}
}

// The packages of npm that the client in JavaScript needs.
var otelPackages = []string{"@opentelemetry/api@1.10.0", "@opentelemetry/resources@3.1.1", "@opentelemetry/sdk-metrics@3.1.1",
	"@opentelemetry/exporter-metrics-otlp-http@0.301.0", "@opentelemetry/exporter-metrics-otlp-proto@0.301.0"}

// npmPackages is a folder with packages of npm.
func npmPackages(t *testing.T, name string, packages []string) string {
	t.Helper()
	return filled(t, name, 3*time.Minute, func(ctx context.Context, folder string) error {
		return run(ctx, folder, "npm", append([]string{"install", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix", folder}, packages...)...)
	})
}

const javascript = `
import { OTLPMetricExporter } from '@opentelemetry/exporter-metrics-otlp-%[1]s';
import { defaultResource, resourceFromAttributes } from '@opentelemetry/resources';
import { AggregationTemporality, AggregationType, MeterProvider, PeriodicExportingMetricReader } from '@opentelemetry/sdk-metrics';
const temporality = AggregationTemporality[%[2]q];
// The exporter's own preference keeps what goes up and down cumulative; here it is a delta as well.
class Exporter extends OTLPMetricExporter {
  selectAggregationTemporality() { return temporality; }
}
const reader = new PeriodicExportingMetricReader({ exporter: new Exporter({ url: %[3]q }), exportIntervalMillis: 3600_000 });
const provider = new MeterProvider({
  resource: defaultResource().merge(resourceFromAttributes({ 'service.name': %[4]q, 'service.instance.id': 'one' })),
  readers: [reader],
  views: [{ instrumentName: 'checkout.size', aggregation: { type: AggregationType.EXPONENTIAL_HISTOGRAM } }],
});
const meter = provider.getMeter('cistern.conformance', '1.2');
const orders = meter.createCounter('orders.placed');
const queue = meter.createUpDownCounter('queue.length');
const latency = meter.createHistogram('checkout.time');
const size = meter.createHistogram('checkout.size');
for (let round = 0; round < %[5]d; round++) {
  for (const v of %[6]s) {
    orders.add(v);
    latency.record(v);
    size.record(v);
  }
  queue.add(2);
  queue.add(-1);
  await new Promise((resolve) => setTimeout(resolve, 200));
  await reader.forceFlush();
}
process.exit(0);
`

func javascriptClient(t *testing.T, d *daemon, job, form string, delta bool) {
	folder := npmPackages(t, "npm-opentelemetry-0.301.0", otelPackages)
	temporality := "CUMULATIVE"
	if delta {
		temporality = "DELTA"
	}
	values, _ := json.Marshal(recorded)
	// Beside the packages, which is where they are looked for.
	script := filepath.Join(folder, fmt.Sprintf("%s-%d.mjs", job, os.Getpid()))
	text := fmt.Sprintf(javascript, form, temporality, "http://"+d.http+"/v1/metrics", job, rounds, values)
	if err := os.WriteFile(script, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	defer os.Remove(script)
	if err := run(t.Context(), folder, "node", script); err != nil {
		t.Fatal(err)
	}
}

const inPython = `
import time
from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.sdk.metrics import Counter, Histogram, MeterProvider, UpDownCounter
from opentelemetry.sdk.metrics.export import AggregationTemporality, PeriodicExportingMetricReader
from opentelemetry.sdk.metrics.view import ExponentialBucketHistogramAggregation, View
from opentelemetry.sdk.resources import Resource
exporter = OTLPMetricExporter(endpoint=%[1]q, compression=Compression.Gzip,
    preferred_temporality={kind: AggregationTemporality.%[2]s for kind in (Counter, Histogram, UpDownCounter)})
provider = MeterProvider(resource=Resource.create({"service.name": %[3]q, "service.instance.id": "one"}),
    metric_readers=[PeriodicExportingMetricReader(exporter, export_interval_millis=3600_000)],
    views=[View(instrument_name="checkout.size", aggregation=ExponentialBucketHistogramAggregation())])
meter = provider.get_meter("cistern.conformance", "1.2")
orders, queue = meter.create_counter("orders.placed"), meter.create_up_down_counter("queue.length")
latency, size = meter.create_histogram("checkout.time"), meter.create_histogram("checkout.size")
for _ in range(%[4]d):
    for v in %[5]s:
        orders.add(v)
        latency.record(v)
        size.record(v)
    queue.add(2)
    queue.add(-1)
    time.sleep(0.2)
    assert provider.force_flush()
exporter.shutdown()
`

func pythonClient(t *testing.T, d *daemon, job string, delta bool) {
	python := pypi(t, "pypi-opentelemetry-1.45.2", "opentelemetry-sdk==1.45.2", "opentelemetry-exporter-otlp-proto-http==1.45.2")
	temporality := "CUMULATIVE"
	if delta {
		temporality = "DELTA"
	}
	values, _ := json.Marshal(recorded)
	if err := run(t.Context(), ".", python, "-c", fmt.Sprintf(inPython, "http://"+d.http+"/v1/metrics", temporality, job, rounds, values)); err != nil {
		t.Fatal(err)
	}
}
