//go:build clients

package conformance

// Telegraf's own agent, which hands the same metrics to each of its outputs that we have an input for, and writes them to a
// file: what a query gives is what stands in the file. By night: building it takes minutes.

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
)

// Only the plugins that are used here: all of them are hundreds of megabytes.
const telegrafPlugins = "custom,inputs.cpu,inputs.file,inputs.mem,inputs.statsd,parsers.influx,aggregators.histogram," +
	"outputs.file,outputs.graphite,outputs.http,outputs.influxdb,outputs.influxdb_v2,outputs.opentelemetry,outputs.socket_writer," +
	"serializers.graphite,serializers.influx,serializers.json,serializers.prometheusremotewrite,serializers.template"

func telegraf(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("telegraf/go.mod")
	if err != nil {
		t.Fatal(err)
	}
	version := regexp.MustCompile(`github\.com/influxdata/telegraf (v\S+)`).FindSubmatch(text)
	if version == nil {
		t.Fatal("telegraf/go.mod does not name a version of Telegraf")
	}
	program := filepath.Join(cache(t, "telegraf-"+string(version[1])), "telegraf")
	build(t, program, "telegraf", "-tags", telegrafPlugins, "github.com/influxdata/telegraf/cmd/telegraf")
	return program
}

// telegrafOutput is one output: how what it sends differs from what stands in the file.
type telegrafOutput struct {
	prefix string
	// Between measurement and field; a field called "value" is left out where it is a dot.
	join   string
	labels map[string]string // that come of the request
	newest bool              // of several samples of a series in one request only the newest is sent
	// OpenTelemetry's has neither booleans nor le, without which the buckets of a histogram would be one series.
	numbers bool
}

var telegrafOutputs = []telegrafOutput{
	{prefix: "v1_", join: "_", labels: map[string]string{"db": "one"}},
	{prefix: "v2_", join: "_", labels: map[string]string{"db": "two"}},
	{prefix: "socket_", join: "_"},
	{prefix: "remote_", join: "_", newest: true},
	{prefix: "graphite_", join: "."},
	{prefix: "otel_", join: "_", numbers: true},
}

func telegrafConfig(d *daemon, folder, statsd string) string {
	in := func(name string) string { return filepath.Join(folder, name) }
	return fmt.Sprintf(`
[agent]
interval = "1s"
flush_interval = "1s"
precision = "1s"
hostname = "canary"
logfile = %[1]q
logformat = "text"
skip_processors_after_aggregators = true

[[inputs.cpu]]
percpu = false
collect_cpu_time = true
[[inputs.mem]]
[[inputs.file]]
files = [%[2]q]
data_format = "influx"
[[inputs.statsd]]
protocol = "tcp"
service_address = %[3]q
delete_gauges = false
delete_counters = false
delete_sets = false
delete_timings = false
percentiles = [50.0, 90.0]
[[aggregators.histogram]]
period = "1s"
[[aggregators.histogram.config]]
buckets = [0.1, 0.5, 1.0]
measurement_name = "shop"
fields = ["ratio"]

[[outputs.file]]
files = [%[4]q]
data_format = "json"
json_timestamp_units = "1s"
[[outputs.influxdb]]
urls = ["http://%[5]s"]
database = "one"
name_prefix = "v1_"
[[outputs.influxdb_v2]]
urls = ["http://%[5]s"]
token = "any"
organization = "any"
bucket = "two"
name_prefix = "v2_"
[[outputs.socket_writer]]
address = "tcp://%[6]s"
data_format = "influx"
name_prefix = "socket_"
[[outputs.http]]
url = "http://%[5]s/api/v1/write"
data_format = "prometheusremotewrite"
name_prefix = "remote_"
# It warns of texts, which are no samples.
fieldexclude = ["note"]
[outputs.http.headers]
Content-Type = "application/x-protobuf"
Content-Encoding = "snappy"
X-Prometheus-Remote-Write-Version = "0.1.0"
[[outputs.graphite]]
servers = [%[7]q]
graphite_tag_support = true
graphite_tag_sanitize_mode = "compatible"
name_prefix = "graphite_"
[[outputs.opentelemetry]]
service_address = %[8]q
name_prefix = "otel_"
[outputs.opentelemetry.tagdrop]
le = ["*"]

# There is no output for statsd; a template writes its lines.
[[outputs.socket_writer]]
address = "tcp://%[9]s"
data_format = "template"
template = "{{ $m := . }}{{ range $field, $value := .Fields }}{{ $m.Name }}.{{ $field }},place={{ $m.Tag \"place\" }}:{{ $value }}|g\n{{ end }}"
name_prefix = "statsd_"
namepass = ["shop"]
fieldinclude = ["orders", "ratio"]
[outputs.socket_writer.tagdrop]
le = ["*"]
`, in("log"), in("lines"), statsd, in("metrics"), d.http, d.influx, d.graphite, d.grpc, d.statsd)
}

// A tag holds here what it may hold everywhere: Graphite has no blanks in its tags.
const telegrafLines = `shop,place=räum-1,kind=a.b/c orders=7i,ratio=0.25,depth=-3i,big=9007199254740991i,open=true,note="a text"
`

// What is sent to Telegraf's statsd, and to ours under another name.
const statsdLines = `%[1]sorders:12|c
%[1]sorders:3|c|@0.5
%[1]squeue:40|g
%[1]squeue:-4|g
%[1]slatency:20|ms
%[1]slatency:30|ms
%[1]slatency:100|ms
%[1]susers:a|s
%[1]susers:b|s
%[1]susers:a|s
`

type telegrafMetric struct {
	Name      string
	Tags      map[string]string
	Fields    map[string]any
	Timestamp int64
}

func telegrafMetrics(path string) (list []telegrafMetric) {
	file, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		var one telegrafMetric
		if json.Unmarshal(lines.Bytes(), &one) != nil {
			break // half a line: it is being written
		}
		list = append(list, one)
	}
	return list
}

// sendLines sends lines over TCP, as soon as somebody listens.
func sendLines(t *testing.T, address, lines string) {
	t.Helper()
	eventually(t, address, func() error {
		connection, err := net.Dial("tcp", address)
		if err != nil {
			return err
		}
		defer connection.Close()
		_, err = connection.Write([]byte(lines))
		return err
	})
}

func TestTelegraf(t *testing.T) {
	program, d, folder, statsd := telegraf(t), storaged(t), t.TempDir(), free(t, 1)[0]
	for name, text := range map[string]string{"config": telegrafConfig(d, folder, statsd), "lines": telegrafLines} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var out strings.Builder
	command := exec.CommandContext(t.Context(), program, "--strict-env-handling", "--config", filepath.Join(folder, "config"))
	command.Stdout, command.Stderr = &out, &out
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	sendLines(t, statsd, fmt.Sprintf(statsdLines, "web_"))
	sendLines(t, d.statsd, fmt.Sprintf(statsdLines, "direct_"))
	path := filepath.Join(folder, "metrics")
	eventually(t, "five rounds of the agent, with what it got by statsd", func() error {
		rounds := map[int64]bool{}
		for _, one := range telegrafMetrics(path) {
			if one.Name == "web_latency" && one.Fields["count"] == 3.0 {
				rounds[one.Timestamp] = true
			}
		}
		if len(rounds) < 5 {
			log, _ := os.ReadFile(filepath.Join(folder, "log"))
			return fmt.Errorf("%d rounds\n%.3000s", len(rounds), log)
		}
		return nil
	})
	// It sends what it holds before it ends.
	_ = command.Process.Signal(syscall.SIGTERM)
	if err := command.Wait(); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() > 0 {
			t.Errorf("%v\n%s", err, out.String())
		}
	}
	log, err := os.ReadFile(filepath.Join(folder, "log"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(log)) {
		// It is no fault to be slow ("not complete after interval", "did not complete within its flush interval"), and its statsd
		// takes the end of its own listener for an error.
		if strings.Contains(line, " E! ") && !strings.Contains(line, "use of closed network connection") || (strings.Contains(line, " W! ") && !strings.Contains(line, "interval")) {
			t.Errorf("Telegraf says: %s", line)
		}
	}
	metrics := telegrafMetrics(path)
	for _, output := range telegrafOutputs {
		t.Run(strings.TrimSuffix(output.prefix, "_"), func(t *testing.T) { compareTelegraf(t, d, output, metrics) })
	}
	// The aggregator's buckets are those of a histogram: all ratios are a quarter.
	for _, prefix := range []string{"v1_", "v2_", "socket_", "remote_"} {
		if got := d.number(t, fmt.Sprintf("histogram_quantile(0.5, last_over_time(%sshop_ratio_bucket[5m]))", prefix)); got <= 0.1 || got > 0.5 {
			t.Errorf("%s: the median of the ratios is %g", prefix, got)
		}
	}
	d.value(t, `last_over_time({"statsd_shop.orders",place="räum-1"}[5m])`, is(7))
	d.value(t, `last_over_time({"statsd_shop.ratio",place="räum-1"}[5m])`, is(0.25))
	d.value(t, `last_over_time(v1_web_users_value[5m])`, is(2))
	// Telegraf's statsd and ours count the same.
	for field, direct := range map[string]string{
		"web_orders_value":  `last_over_time(direct_orders[5m])`,
		"web_queue_value":   `last_over_time(direct_queue[5m])`,
		"web_latency_count": `histogram_count(sum(sum_over_time(direct_latency[5m])))`,
	} {
		theirs, ours := d.number(t, "last_over_time(v1_"+field+"[5m])"), d.number(t, direct)
		if theirs != ours {
			t.Errorf("%s is %g, by our statsd %g", field, theirs, ours)
		}
	}
}

// compareTelegraf compares every sample that an output has sent with what a query gives of it: none is missing, none is more.
func compareTelegraf(t *testing.T, d *daemon, output telegrafOutput, metrics []telegrafMetric) {
	t.Helper()
	type samples map[string]float64 // by their time
	sent, last := map[string]samples{}, map[string]string{}
	for _, one := range metrics {
		if _, bucket := one.Tags["le"]; bucket && output.numbers {
			continue
		}
		labels := map[string]string{}
		for tag, value := range one.Tags {
			labels[tag] = value
		}
		for label, value := range output.labels {
			labels[label] = value
		}
		for field, value := range one.Fields {
			number, numeric := value.(float64)
			if truth, ok := value.(bool); ok && !output.numbers {
				number, numeric = map[bool]float64{true: 1}[truth], true
			}
			if !numeric {
				continue
			}
			labels["__name__"] = output.prefix + one.Name + output.join + field
			if output.join == "." && field == "value" {
				labels["__name__"] = output.prefix + one.Name
			}
			key := fmt.Sprint(labels)
			if sent[key] == nil {
				sent[key] = samples{}
			}
			last[key] = fmt.Sprint(one.Timestamp)
			sent[key][last[key]] = number
		}
	}
	if len(sent) < 50 {
		t.Fatalf("the file has %d series only", len(sent))
	}
	stored := map[string]samples{}
	// Its times are rounded to seconds, also upwards.
	for _, one := range d.query(t, fmt.Sprintf(`{__name__=~"%s.+"}[10m] offset -1m`, output.prefix)) {
		key := fmt.Sprint(one.Metric)
		stored[key] = samples{}
		for _, sample := range one.Values {
			var v float64
			if _, err := fmt.Sscan(fmt.Sprint(sample[1]), &v); err != nil {
				t.Fatal(err)
			}
			stored[key][fmt.Sprintf("%.0f", sample[0])] = v
		}
	}
	for key, want := range sent {
		if stored[key] == nil {
			t.Errorf("%s is not stored", key)
			continue
		}
		for at, v := range want {
			if got, ok := stored[key][at]; (!ok && (!output.newest || at == last[key])) || (ok && got != v) {
				t.Errorf("%s at %s is %v (%v), Telegraf has %v", key, at, got, ok, v)
			}
		}
		if len(stored[key]) > len(want) {
			t.Errorf("%s has %d samples, Telegraf %d", key, len(stored[key]), len(want))
		}
	}
	for key := range stored {
		if sent[key] == nil {
			t.Errorf("%s is stored, and Telegraf's file does not have it", key)
		}
	}
}
