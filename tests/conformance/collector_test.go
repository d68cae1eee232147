//go:build clients

package conformance

// The OpenTelemetry Collector, made by its own builder: what OpenTelemetry's SDK sends to it, cumulative and as deltas, it sends on
// by OTLP over HTTP, by OTLP over gRPC, and by remote write 1.0 and 2.0. By night: making it takes minutes.

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetricgrpc"
	sdk "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
)

// otelcol is the Collector, made once of what collector/builder.yaml names.
func otelcol(t *testing.T) string {
	t.Helper()
	manifest, err := filepath.Abs("collector/builder.yaml")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(manifest)
	if err != nil {
		t.Fatal(err)
	}
	folder := cache(t, fmt.Sprintf("otelcol-%.6x", sha256.Sum256(text)))
	program := filepath.Join(folder, "otelcol")
	if _, err := os.Stat(program); err == nil {
		return program
	}
	builder := filepath.Join(folder, "builder")
	build(t, builder, "collector", "go.opentelemetry.io/collector/cmd/builder")
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Minute)
	defer cancel()
	if err := run(ctx, folder, builder, "--config="+manifest); err != nil {
		t.Fatalf("the Collector cannot be built here: %v", err)
	}
	if err := os.Rename(filepath.Join(folder, "source", "otelcol"), program); err != nil {
		t.Fatal(err)
	}
	return program
}

// collector is a running Collector: an address for each way that it sends on.
type collector struct{ http, grpc, remote, remote2 string }

func startCollector(t *testing.T, d *daemon) collector {
	t.Helper()
	program, at, folder := otelcol(t), free(t, 4), t.TempDir()
	config := fmt.Sprintf(`
receivers:
  otlp/http: {protocols: {grpc: {endpoint: %[1]q}}}
  otlp/grpc: {protocols: {grpc: {endpoint: %[2]q}}}
  otlp/remote: {protocols: {grpc: {endpoint: %[3]q}}}
  otlp/remote2: {protocols: {grpc: {endpoint: %[6]q}}}
processors:
  batch: {timeout: 100ms}
  delta_to_cumulative: {}
exporters:
  # As the page has it to paste, by the name that older Collectors know as well.
  otlphttp/cistern: {endpoint: "http://%[4]s", headers: {Authorization: Bearer any}}
  otlp_grpc: {endpoint: %[5]q, tls: {insecure: true}}
  prometheus_remote_write: {endpoint: "http://%[4]s/api/v1/write"}
  prometheus_remote_write/2: {endpoint: "http://%[4]s/api/v1/write", protobuf_message: io.prometheus.write.v2.Request}
service:
  telemetry: {metrics: {level: none}}
  pipelines:
    metrics/http: {receivers: [otlp/http], processors: [batch], exporters: [otlphttp/cistern]}
    metrics/grpc: {receivers: [otlp/grpc], processors: [batch], exporters: [otlp_grpc]}
    metrics/remote: {receivers: [otlp/remote], processors: [delta_to_cumulative, batch], exporters: [prometheus_remote_write]}
    metrics/remote2: {receivers: [otlp/remote2], processors: [delta_to_cumulative, batch], exporters: [prometheus_remote_write/2]}
`, at[0], at[1], at[2], d.http, d.grpc, at[3])
	path := filepath.Join(folder, "config.yaml")
	if err := os.WriteFile(path, []byte(config), 0o644); err != nil {
		t.Fatal(err)
	}
	log, err := os.Create(filepath.Join(folder, "log"))
	if err != nil {
		t.Fatal(err)
	}
	command := exec.Command(program, "--config=file:"+path, "--feature-gates=+exporter.prometheusremotewritexporter.enableSendingRW2")
	command.Stdout, command.Stderr = log, log
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = command.Process.Signal(syscall.SIGTERM)
		if err := command.Wait(); err != nil {
			var exit *exec.ExitError
			if !errors.As(err, &exit) || exit.ExitCode() > 0 {
				t.Errorf("the Collector ended with %v", err)
			}
		}
		log.Close()
		text, _ := os.ReadFile(log.Name())
		for line := range strings.Lines(string(text)) {
			// A request that was refused, or only in parts.
			if strings.Contains(line, "\terror\t") || strings.Contains(line, "\twarn\t") && !strings.Contains(line, `"otlphttp" alias is deprecated`) {
				t.Errorf("the Collector says: %s", line)
			}
		}
		if t.Failed() {
			t.Logf("%.5000s", text)
		}
	})
	for _, address := range at {
		eventually(t, "the Collector listens on "+address, func() error {
			connection, err := net.Dial("tcp", address)
			if err != nil {
				text, _ := os.ReadFile(log.Name())
				return fmt.Errorf("%w\n%.3000s", err, text)
			}
			return connection.Close()
		})
	}
	return collector{http: at[0], grpc: at[1], remote: at[2], remote2: at[3]}
}

func TestCollector(t *testing.T) {
	d := storaged(t)
	c := startCollector(t, d)
	for _, delta := range []bool{false, true} {
		temporality := metricdata.CumulativeTemporality
		if delta {
			temporality = metricdata.DeltaTemporality
		}
		selector := func(sdk.InstrumentKind) metricdata.Temporality { return temporality }
		for _, way := range []struct {
			name, address string
			counter       string // what its name becomes
			holds         func(t *testing.T, d *daemon, job string, delta bool)
		}{
			{"http", c.http, "orders.placed", holds},
			{"grpc", c.grpc, "orders.placed", holds},
			{"remote", c.remote, "orders_placed_total", holdsByRemoteWrite},
			{"remote2", c.remote2, "orders_placed_total", holdsByRemoteWrite},
		} {
			job := fmt.Sprintf("collector-%s-%v", way.name, delta)
			t.Run(job, func(t *testing.T) {
				exporter, err := otlpmetricgrpc.New(t.Context(), otlpmetricgrpc.WithEndpoint(way.address), otlpmetricgrpc.WithInsecure(), otlpmetricgrpc.WithTemporalitySelector(selector))
				if err != nil {
					t.Fatal(err)
				}
				goClient(t, job, exporter)
				// The Collector has answered before it sends on.
				d.value(t, fmt.Sprintf("{%q,job=%q}", way.counter, job), is(rounds*recordedSum))
				way.holds(t, d, job, delta)
			})
		}
	}
}

// holdsByRemoteWrite is holds for what Prometheus' names and types have become of it.
func holdsByRemoteWrite(t *testing.T, d *daemon, job string, delta bool) {
	t.Helper()
	of := func(name string, more ...string) string {
		matchers := append(more, fmt.Sprintf("job=%q", job), `instance="one"`, `otel_scope_name="cistern.conformance"`)
		return name + "{" + strings.Join(matchers, ",") + "}"
	}
	n := float64(rounds * len(recorded))
	for expression, want := range map[string]float64{
		of("orders_placed_total"):                              rounds * recordedSum,
		of("queue_length"):                                     rounds,
		of("checkout_time_count"):                              n,
		of("checkout_time_sum"):                                rounds * recordedSum,
		of("checkout_time_bucket", `le="10"`):                  n / 2,
		of("checkout_time_bucket", `le="+Inf"`):                n,
		`histogram_count(` + of("checkout_size") + `)`:         n,
		`histogram_sum(` + of("checkout_size") + `)`:           rounds * recordedSum,
		`histogram_avg(rate(` + of("checkout_size") + `[5m]))`: recordedSum / float64(len(recorded)),
		fmt.Sprintf(`target_info{job=%q,instance="one",telemetry_sdk_name="opentelemetry"}`, job): 1,
	} {
		if got := d.number(t, expression); got != want {
			t.Errorf("%s is %g, not %g", expression, got, want)
		}
	}
	if got := d.number(t, `histogram_quantile(0.475, rate(`+of("checkout_time_bucket")+`[5m]))`); !(got > 5 && got <= 10) {
		t.Errorf("the quantile of the buckets is %g", got)
	}
	if got := d.number(t, `histogram_quantile(0.475, rate(`+of("checkout_size")+`[5m]))`); !(got > 9.8 && got < 10.2) {
		t.Errorf("the quantile of the native histogram is %g", got)
	}
	seen := float64(rounds - 1)
	if got := d.number(t, `increase(`+of("orders_placed_total")+`[5m])`); !(got >= seen*recordedSum*0.999) {
		t.Errorf("the increase is %g, at least %g was added", got, seen*recordedSum)
	}
	for _, name := range []string{"orders_placed_total", "checkout_time_bucket", "checkout_size"} {
		// The exporter sends none of classic buckets by remote write 2.0 yet ("TODO" in its source).
		if name != "checkout_time_bucket" || !strings.Contains(job, "remote2") {
			d.exemplified(t, of(name))
		}
	}
}
