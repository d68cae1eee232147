package conformance

// Clients that nobody here wrote, sending to the real daemon: OpenTelemetry's SDK, the statsd client of PyPI, Python's own
// pickle as carbon's senders use it, and Debian's collectd.

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/metric"
	sdk "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
)

// daemon is a running storaged with every input on.
type daemon struct {
	http, statsd, graphite, pickle, collectd, grpc, influx string
	log                                                    string

	program   string
	arguments []string
	command   *exec.Cmd
	ended     chan error
}

// free are addresses that nobody listens on, by TCP and by UDP: all are held until the last is found, so that none is found twice.
func free(t *testing.T, n int) []string {
	t.Helper()
	var found []string
	for tries := 0; len(found) < n; tries++ {
		tcp, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer tcp.Close()
		udp, err := net.ListenPacket("udp", tcp.Addr().String())
		if err != nil {
			if tries > 100 {
				t.Fatal(err)
			}
			continue
		}
		defer udp.Close()
		found = append(found, tcp.Addr().String())
	}
	return found
}

func storaged(t *testing.T) *daemon {
	t.Helper()
	folder := t.TempDir()
	program := filepath.Join(folder, "storaged")
	if err := run(t.Context(), filepath.Join("..", "..", "services"), "go", "build", "-o", program, "./cmd/storaged"); err != nil {
		t.Fatal(err)
	}
	for tries := 1; ; tries++ {
		at := free(t, 7)
		d := &daemon{http: at[0], statsd: at[1], graphite: at[2], pickle: at[3], collectd: at[4], grpc: at[5], influx: at[6], log: filepath.Join(folder, "log"), program: program}
		settings := filepath.Join(folder, "storaged.toml")
		if err := os.WriteFile(settings, fmt.Appendf(nil, "[otlp]\ngrpc_address = %q\n", d.grpc), 0o644); err != nil {
			t.Fatal(err)
		}
		d.arguments = []string{"--config", settings, "--data", filepath.Join(folder, "data"), "--http", d.http, "--statsd", d.statsd, "--statsd-admin", "", "--graphite", d.graphite,
			"--graphite-pickle", d.pickle, "--collectd", d.collectd, "--influx", d.influx}
		err := d.start()
		if err == nil {
			t.Cleanup(func() { d.stop(t) })
			return d
		}
		text, _ := os.ReadFile(d.log)
		// Somebody else on this machine may have been given the port meanwhile.
		if tries == 5 || !strings.Contains(string(text), "address already in use") {
			t.Fatalf("%v\n%s", err, text)
		}
	}
}

// start returns when it is ready.
func (d *daemon) start() error {
	log, err := os.OpenFile(d.log, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer log.Close()
	d.command = exec.Command(d.program, d.arguments...)
	d.command.Stderr = log
	if err := d.command.Start(); err != nil {
		return err
	}
	d.ended = make(chan error, 1)
	go func() { d.ended <- d.command.Wait() }()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		response, err := http.Get("http://" + d.http + "/healthz")
		if err == nil {
			response.Body.Close()
			if response.StatusCode == http.StatusOK {
				return nil
			}
			err = fmt.Errorf("healthz says %s", response.Status)
		}
		select {
		case err := <-d.ended:
			return fmt.Errorf("storaged has ended before it was ready: %w", err)
		default:
		}
		if time.Now().After(deadline) {
			_ = d.command.Process.Kill()
			return fmt.Errorf("storaged is not ready within a minute: %w", err)
		}
	}
}

func (d *daemon) stop(t *testing.T) {
	_ = d.command.Process.Signal(syscall.SIGTERM)
	if err := <-d.ended; err != nil {
		text, _ := os.ReadFile(d.log)
		t.Errorf("storaged ended with %v\n%s", err, text)
	}
}

func (d *daemon) restart(t *testing.T) {
	d.stop(t)
	if err := d.start(); err != nil {
		text, _ := os.ReadFile(d.log)
		t.Fatalf("%v\n%s", err, text)
	}
}

// eventually waits for a condition.
func eventually(t *testing.T, what string, f func() error) {
	t.Helper()
	deadline := time.Now().Add(40 * time.Second)
	for {
		err := f()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s: %v", what, err)
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// value waits until a query's first result is accepted.
func (d *daemon) value(t *testing.T, query string, accept func(float64) bool) {
	t.Helper()
	eventually(t, query, func() error {
		response, err := http.Get("http://" + d.http + "/api/v1/query?query=" + url.QueryEscape(query))
		if err != nil {
			return err
		}
		defer response.Body.Close()
		var answer struct {
			Error string
			Data  struct {
				Result []struct {
					Metric map[string]string
					Value  [2]any
				}
			}
		}
		if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
			return err
		}
		if len(answer.Data.Result) == 0 {
			return fmt.Errorf("no result %s", answer.Error)
		}
		var v float64
		if _, err := fmt.Sscan(fmt.Sprint(answer.Data.Result[0].Value[1]), &v); err != nil {
			return err
		}
		if !accept(v) {
			return fmt.Errorf("%v is %g", answer.Data.Result[0].Metric, v)
		}
		return nil
	})
}

func is(want float64) func(float64) bool { return func(v float64) bool { return v == want } }

// cache is where what is fetched once stays.
func cache(t *testing.T, name string) string {
	t.Helper()
	base := os.Getenv("CISTERN_CACHE")
	if base == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			t.Fatal(err)
		}
		base = filepath.Join(home, ".cache", "cistern")
	}
	folder := filepath.Join(base, "clients", name)
	if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	return folder
}

func run(ctx context.Context, folder, program string, arguments ...string) error {
	command := exec.CommandContext(ctx, program, arguments...)
	command.Dir = folder
	if out, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %.500s", program, err, out)
	}
	return nil
}

func TestClients(t *testing.T) {
	d := storaged(t)
	t.Run("OpenTelemetry", func(t *testing.T) { openTelemetry(t, d) })
	t.Run("statsd of PyPI", func(t *testing.T) { pythonStatsd(t, d) })
	t.Run("influxdb-client of PyPI", func(t *testing.T) { pythonInflux(t, d) })
	t.Run("carbon", func(t *testing.T) { carbon(t, d) })
	t.Run("collectd", func(t *testing.T) { collectd(t, d) })
}

func openTelemetry(t *testing.T, d *daemon) {
	ctx := t.Context()
	exporter, err := otlpmetrichttp.New(ctx, otlpmetrichttp.WithEndpoint(d.http), otlpmetrichttp.WithInsecure())
	if err != nil {
		t.Fatal(err)
	}
	provider := sdk.NewMeterProvider(
		sdk.WithResource(resource.NewSchemaless(attribute.String("service.name", "shop"), attribute.String("service.instance.id", "one"))),
		sdk.WithReader(sdk.NewPeriodicReader(exporter, sdk.WithInterval(time.Hour))),
		sdk.WithView(sdk.NewView(sdk.Instrument{Name: "checkout.size"}, sdk.Stream{Aggregation: sdk.AggregationBase2ExponentialHistogram{MaxSize: 160, MaxScale: 8}})))
	meter := provider.Meter("cistern.conformance")
	orders, err := meter.Int64Counter("orders.placed")
	if err != nil {
		t.Fatal(err)
	}
	latency, err := meter.Float64Histogram("checkout.time", metric.WithUnit("s"))
	if err != nil {
		t.Fatal(err)
	}
	size, err := meter.Float64Histogram("checkout.size")
	if err != nil {
		t.Fatal(err)
	}
	for i := range 100 {
		orders.Add(ctx, 1, metric.WithAttributes(attribute.String("country", "nl")))
		latency.Record(ctx, float64(i))
		size.Record(ctx, float64(i+1))
	}
	if err := provider.ForceFlush(ctx); err != nil {
		t.Fatal(err)
	}
	d.value(t, `{"orders.placed",job="shop",instance="one",country="nl"}`, is(100))
	d.value(t, `histogram_count({"checkout.time"})`, is(100))
	d.value(t, `histogram_quantile(0.5, {"checkout.size"})`, func(v float64) bool { return v > 45 && v < 56 })
	if err := provider.Shutdown(ctx); err != nil {
		t.Fatal(err)
	}
}

// filled is a folder that is filled once: by the first of those who want it, also of several runs; the others wait.
func filled(t *testing.T, name string, within time.Duration, fill func(ctx context.Context, folder string) error) string {
	t.Helper()
	folder := cache(t, name)
	lock, err := os.Create(folder + ".lock")
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	ready := filepath.Join(folder, "ready")
	if _, err := os.Stat(ready); err == nil {
		return folder
	}
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	if err = fill(ctx, folder); err == nil {
		err = os.WriteFile(ready, nil, 0o644)
	}
	if err != nil {
		t.Fatalf("%s cannot be installed here: %v", name, err)
	}
	return folder
}

// pypi is a Python with packages of PyPI.
func pypi(t *testing.T, name string, packages ...string) (python string) {
	t.Helper()
	within := func(folder string) string { return filepath.Join(folder, "bin", "python") }
	return within(filled(t, name, 2*time.Minute, func(ctx context.Context, folder string) error {
		if err := run(ctx, folder, "python3", "-m", "venv", folder); err != nil {
			return err
		}
		return run(ctx, folder, within(folder), append([]string{"-m", "pip", "install", "-q"}, packages...)...)
	}))
}

func pythonStatsd(t *testing.T, d *daemon) {
	python := pypi(t, "pypi-statsd-4.0.1", "statsd==4.0.1")
	host, port, _ := net.SplitHostPort(d.statsd)
	for _, c := range []string{"StatsClient", "TCPStatsClient"} {
		script := fmt.Sprintf(`import statsd
c = statsd.%s(%q, %s, prefix="py.%s")
for i in range(50):
    c.incr("calls", 2)
    c.timing("latency", 20 + i)
c.gauge("depth", 7)
c.gauge("depth", -3, delta=True)
c.set("users", "a"); c.set("users", "b"); c.set("users", "a")
with c.pipeline() as p:
    p.incr("calls"); p.timing("latency", 5)
if hasattr(c, "close"): c.close()
`, c, host, port, c)
		if err := run(t.Context(), ".", python, "-c", script); err != nil {
			t.Fatal(err)
		}
		d.value(t, fmt.Sprintf(`sum(max_over_time({"py.%s.calls"}[1m]))`, c), is(101))
		d.value(t, fmt.Sprintf(`last_over_time({"py.%s.depth"}[1m])`, c), is(4))
		d.value(t, fmt.Sprintf(`histogram_count(sum(sum_over_time({"py.%s.latency"}[1m])))`, c), is(51))
	}
}

func carbon(t *testing.T, d *daemon) {
	host, port, _ := net.SplitHostPort(d.pickle)
	plainHost, plainPort, _ := net.SplitHostPort(d.graphite)
	script := fmt.Sprintf(`import pickle, socket, struct, time
now = int(time.time())
for protocol in (0, 1, 2):
    data = pickle.dumps([("carbon.pickle.p%%d" %% protocol, (now - i, 10.5 + i)) for i in range(20)], protocol=protocol)
    s = socket.create_connection((%q, %s)); s.sendall(struct.pack("!L", len(data)) + data); s.close()
s = socket.create_connection((%q, %s))
s.sendall(("carbon.plain;rack=a7 3.5 %%d\nnonsense\ncarbon.plain2 4 -1\n" %% now).encode()); s.close()
`, host, port, plainHost, plainPort)
	if err := run(t.Context(), ".", "python3", "-c", script); err != nil {
		t.Fatal(err)
	}
	for protocol := range 3 {
		d.value(t, fmt.Sprintf(`count_over_time({"carbon.pickle.p%d"}[1m])`, protocol), is(20))
	}
	d.value(t, `{"carbon.plain",rack="a7"}`, is(3.5))
	d.value(t, `{"carbon.plain2"}`, is(4))
}

func collectd(t *testing.T, d *daemon) {
	folder := cache(t, "collectd")
	program := filepath.Join(folder, "usr", "sbin", "collectd")
	if _, err := os.Stat(program); err != nil {
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		defer cancel()
		err := run(ctx, folder, "apt-get", "-o", "APT::Sandbox::User=root", "download", "collectd-core")
		packages, _ := filepath.Glob(filepath.Join(folder, "collectd-core_*.deb"))
		if err == nil && len(packages) == 1 {
			err = run(ctx, folder, "dpkg", "-x", packages[0], folder)
		}
		if err != nil || len(packages) != 1 {
			t.Fatalf("Debian's collectd cannot be fetched here: %v", err)
		}
	}
	host, port, _ := net.SplitHostPort(d.collectd)
	work := t.TempDir()
	types, plugins := filepath.Join(folder, "usr", "share", "collectd", "types.db"), filepath.Join(folder, "usr", "lib", "collectd")
	config := fmt.Sprintf("Hostname \"canary\"\nFQDNLookup false\nInterval 1\nBaseDir %q\nPIDFile %q\nPluginDir %q\nTypesDB %q\n"+
		"LoadPlugin load\nLoadPlugin memory\nLoadPlugin interface\nLoadPlugin network\n<Plugin network>\n  Server %q %q\n</Plugin>\n",
		work, filepath.Join(work, "pid"), plugins, types, host, port)
	path := filepath.Join(work, "collectd.conf")
	if err := os.WriteFile(path, []byte(config), 0o644); err != nil {
		t.Fatal(err)
	}
	command := exec.Command(program, "-f", "-C", path)
	var out strings.Builder
	command.Stdout, command.Stderr = &out, &out
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = command.Process.Signal(syscall.SIGTERM)
		_ = command.Wait()
		if t.Failed() {
			t.Log(out.String())
		}
	}()
	d.value(t, `count({__name__=~"collectd\\.memory.*",host="canary"})`, func(v float64) bool { return v >= 4 })
	d.value(t, `count({__name__=~"collectd\\.load.*",host="canary"})`, func(v float64) bool { return v >= 3 })
	d.value(t, `count({__name__=~"collectd\\.interface\\.if_octets.*",host="canary"})`, func(v float64) bool { return v >= 2 })
}
