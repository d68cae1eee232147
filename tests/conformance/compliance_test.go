package conformance

// PromQL from one end to the other: every literal, selector, operator and function with every argument that changes what it
// does. Which kinds there are follows from the language's documentation, and from what Prometheus' compliance tester asks of
// products that say they understand it. Each is asked over HTTP, at one time and over a range, and of Prometheus' engine.

import (
	"math"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"
)

// arguments are what stands for a word in a case: each makes a case of its own.
var arguments = map[string][]string{
	"AGGREGATE":  {"sum", "avg", "max", "min", "count", "group", "stddev", "stdvar"},
	"TOP":        {"topk", "bottomk"},
	"QUANTILE":   {"-0.5", "0", "0.1", "0.5", "0.75", "0.9", "0.95", "1", "1.5", "NaN"},
	"ARITHMETIC": {"+", "-", "*", "/", "%", "^"},
	"COMPARISON": {"==", "!=", "<", ">", "<=", ">="},
	"OPERATOR":   {"+", "-", "*", "/", "%", "^", "==", "!=", "<", ">", "<=", ">="},
	"SET":        {"and", "or", "unless"},
	"OVER": {"sum_over_time", "avg_over_time", "max_over_time", "min_over_time", "count_over_time", "stddev_over_time", "stdvar_over_time", "absent_over_time",
		"last_over_time", "present_over_time"},
	"RATE":    {"rate", "increase", "delta"},
	"INSTANT": {"irate", "idelta"},
	"RANGE":   {"1s", "15s", "1m", "5m", "15m", "1h"},
	"OFFSET":  {"1m", "5m", "10m"},
	"MATH":    {"abs", "ceil", "floor", "exp", "sqrt", "ln", "log2", "log10", "round", "sgn"},
	"ANGLE":   {"acos", "acosh", "asin", "asinh", "atan", "atanh", "cos", "cosh", "sin", "sinh", "tan", "tanh", "deg", "rad"},
	"DATE":    {"day_of_month", "day_of_week", "day_of_year", "days_in_month", "hour", "minute", "month", "year"},
	"CLAMP":   {"clamp_min", "clamp_max"},
}

// cases are what is asked. What both refuse begins with "refused: ".
var cases = []string{
	// Numbers and strings.
	`42`, `1.234`, `.5`, `1.5e-3`, `0x2a`, `Inf`, `+Inf`, `-Inf`, `NaN`, `1_000`, `5m`, `time()`, `pi()`, `-1 ^ 2`, `2 ^ 3 ^ 2`, `1 * 2 + 4 / 6 - 10 % 2 ^ 2`, `(1 + 2) * 3`,
	`1 ARITHMETIC time()`, `time() ARITHMETIC 1`, `time() ARITHMETIC time()`, `1 COMPARISON bool time()`, `time() COMPARISON bool 1`, `time() COMPARISON bool time()`,
	`refused: 1 COMPARISON 2`, `scalar(cpus{host="h0"})`, `scalar(cpus)`, `scalar(none)`, `vector(1.5)`, `vector(time())`,
	// Selectors.
	`memory_bytes`, `{__name__="memory_bytes"}`, `{"memory_bytes"}`, `memory_bytes{type="free"}`, `memory_bytes{type!="free"}`, `memory_bytes{host=~"h.*"}`, `memory_bytes{host=~"h"}`,
	`memory_bytes{host!~".*0"}`, `memory_bytes{type="free",host!="h0"}`, `{type="free",host!="h0"}`, `memory_bytes{none=""}`, `memory_bytes{none!=""}`, `memory_bytes{type=~"free|used"}`,
	`none`, `now_and_then`, `memory_bytes offset OFFSET`, `memory_bytes offset -OFFSET`, `memory_bytes @ end()`, `memory_bytes @ start()`, `memory_bytes @ 1789948000`, `memory_bytes @ 1789948000 offset OFFSET`,
	`refused: {__name__=~".*"}`, `refused: {}`, `refused: memory_bytes{type=~"("}`, `refused: memory_bytes{`, `refused: memory_bytes[5m] + 1`, `refused: sum(memory_bytes[5m])`, `refused: nofunction(memory_bytes)`,
	// Aggregations.
	`AGGREGATE(memory_bytes)`, `AGGREGATE(none)`, `AGGREGATE by () (memory_bytes)`, `AGGREGATE by (host) (memory_bytes)`, `AGGREGATE by (host, type) (memory_bytes)`, `AGGREGATE by (none) (memory_bytes)`,
	`AGGREGATE without () (memory_bytes)`, `AGGREGATE without (host) (memory_bytes)`, `AGGREGATE without (host, type) (memory_bytes)`, `AGGREGATE without (none) (memory_bytes)`,
	`AGGREGATE by (type) (rate(cpu_seconds_total[1m]))`, `AGGREGATE(AGGREGATE by (type) (memory_bytes))`,
	`TOP(3, memory_bytes)`, `TOP(0, memory_bytes)`, `TOP by (host) (2, memory_bytes)`, `TOP without (host) (2, memory_bytes)`, `TOP without () (2, memory_bytes)`,
	`quantile(QUANTILE, memory_bytes)`, `quantile by (type) (QUANTILE, memory_bytes)`, `count_values("value", latency_seconds_bucket)`, `count_values by (host) ("value", cpus)`,
	`refused: topk(memory_bytes)`, `refused: quantile("0.5", memory_bytes)`, `refused: count_values("a\xffb", memory_bytes)`,
	// Operators.
	`memory_bytes OPERATOR 1.5`, `1.5 OPERATOR memory_bytes`, `memory_bytes COMPARISON bool 1.5`, `1.5 COMPARISON bool memory_bytes`, `cpus + (1 COMPARISON bool 2)`, `cpus ARITHMETIC (2 * 3)`,
	`time() OPERATOR memory_bytes`, `memory_bytes OPERATOR time()`, `memory_bytes OPERATOR on (host, job, type) memory_bytes`, `memory_bytes COMPARISON bool on (host, job, type) memory_bytes`,
	`memory_bytes OPERATOR ignoring (job) memory_bytes`, `sum by (host, type) (memory_bytes) OPERATOR on (host, type) group_left (job) memory_bytes`,
	`memory_bytes OPERATOR on (host, type) group_right () sum by (host, type) (memory_bytes)`, `memory_bytes / on (host, job, type, __name__) memory_bytes`,
	`sum without (job) (memory_bytes) / on (host, type) memory_bytes`, `memory_bytes / on (host, job) group_left cpus`, `memory_bytes / on (host, type, job, none) memory_bytes`,
	`memory_bytes SET memory_bytes`, `memory_bytes SET memory_bytes{type="free"}`, `memory_bytes SET on (host) cpus`, `cpus SET ignoring (type) memory_bytes`, `none SET cpus`, `cpus SET none`,
	`-memory_bytes`, `+memory_bytes`, `memory_bytes + -(1)`, `cpus * Inf`, `cpus * -Inf`, `cpus * NaN`, `cpus atan2 memory_bytes`, `cpus atan2 on (host, job) cpus`,
	`refused: memory_bytes / on (host) memory_bytes`, `refused: memory_bytes / on (host) group_left cpus_of_many`, `refused: memory_bytes and 1`, `refused: memory_bytes == bool`,
	// Functions of ranges.
	`OVER(memory_bytes[RANGE])`, `quantile_over_time(QUANTILE, memory_bytes[RANGE])`, `RATE(none[5m])`, `RATE(cpu_seconds_total[RANGE])`, `INSTANT(cpu_seconds_total[RANGE])`,
	`RATE(cpu_seconds_total[5m] offset OFFSET)`, `deriv(disk_bytes[RANGE])`, `predict_linear(disk_bytes[RANGE], 600)`, `resets(cpu_seconds_total[RANGE])`, `changes(finished_seconds[RANGE])`,
	`OVER(now_and_then[RANGE])`,
	// Functions of vectors.
	`MATH(memory_bytes)`, `MATH(-memory_bytes)`, `ANGLE(ratio)`, `round(memory_bytes, 100)`, `timestamp(cpus)`, `timestamp(timestamp(cpus))`, `timestamp(memory_bytes * 1)`, `timestamp(-memory_bytes)`,
	`DATE()`, `DATE(finished_seconds offset OFFSET)`, `DATE(vector(1456790399))`, `CLAMP(memory_bytes, 2000)`, `clamp(memory_bytes, 0, 1)`, `clamp(memory_bytes, 0, 1e12)`, `clamp(memory_bytes, 1e12, 0)`,
	`sort(memory_bytes)`, `sort_desc(memory_bytes)`, `absent(memory_bytes)`, `absent(none)`, `absent(none{type="free",host=~"h0"})`,
	`label_replace(cpus, "job", "is-$1", "host", "h(.*)")`, `label_replace(cpus, "job", "is-$1", "host", "other(.*)")`, `label_replace(cpus, "job", "$1-$2", "host", "(h)(.*)")`,
	`label_replace(cpus, "job", "value-$1", "none", "source-(.*)")`, `label_replace(cpus, "job", "value-$1", "none", "(.*)")`, `label_replace(cpus, "job", "", "host", ".*")`, `label_replace(cpus, "new", "$name", "host", "(?P<name>.*)")`,
	`label_join(cpus, "new", "-", "host", "job")`, `label_join(cpus, "job", "-", "host", "job")`, `label_join(cpus, "job", "-", "host")`, `label_join(cpus, "new", "-")`,
	`refused: label_replace(cpus, "job", "value", "host", "(.*")`, `refused: label_replace(cpus, "a\xff", "", "host", "(.*)")`, `refused: label_replace(cpus, "host", "", "host", ".*")`,
	`refused: label_join(cpus, "a\xff", "-", "host")`, `refused: clamp(memory_bytes)`, `refused: rate(memory_bytes)`,
	`histogram_quantile(QUANTILE, rate(latency_seconds_bucket[1m]))`, `histogram_quantile(QUANTILE, sum by (le) (rate(latency_seconds_bucket[5m])))`, `histogram_quantile(0.9, none)`, `histogram_quantile(0.9, memory_bytes)`,
	`histogram_quantile(0.9, {__name__=~"latency_seconds_.+"})`,
	// Subqueries.
	`OVER(memory_bytes[5m:10s])`, `max_over_time((time() - max(finished_seconds) < 1000)[5m:10s] offset 5m)`, `avg_over_time(rate(cpu_seconds_total[1m])[2m:10s])`, `max_over_time(rate(cpu_seconds_total[1m])[5m:])`,
	`quantile_over_time(QUANTILE, sum(memory_bytes)[5m:30s])`, `RATE(cpu_seconds_total[5m:15s])`, `min_over_time(memory_bytes[5m:1m] @ end())`,
}

var word = regexp.MustCompile(`\b[A-Z]{3,}\b`)

// expand writes a case once for each of the arguments of its first word that stands for some, and so on.
func expand(text string) (all []string) {
	at := word.FindStringIndex(text)
	if at == nil {
		return []string{text}
	}
	for _, one := range arguments[text[at[0]:at[1]]] {
		all = append(all, expand(text[:at[0]]+one+text[at[1]:])...)
	}
	return all
}

// machines is the data: an hour of what exporters of three machines show, a value every five seconds.
func machines(random *rand.Rand) (lines []line) {
	const step = 5000
	from := end.Add(-time.Hour).UnixMilli()
	add := func(f func(i int) float64, pairs ...string) {
		one := line{labels: labels.FromStrings(pairs...)}
		for i := range 3600_000 / step {
			if v := f(i); value.IsStaleNaN(v) || !math.IsNaN(v) {
				one.points = append(one.points, point{t: from + int64(i*step), v: v})
			}
		}
		lines = append(lines, one)
	}
	missing, stale := math.NaN(), math.Float64frombits(value.StaleNaN)
	for k, host := range []string{"h0", "h1", "h2"} {
		with := func(name string, more ...string) []string {
			return append([]string{"__name__", name, "host", host, "job", "demo"}, more...)
		}
		for n, kind := range []string{"free", "used", "cached", "buffers"} {
			add(func(int) float64 { return 1000*float64(n+1) + math.Round(random.NormFloat64()*100) }, with("memory_bytes", "type", kind)...)
		}
		for _, mode := range []string{"idle", "user", "system"} {
			total := 0.0
			add(func(i int) float64 {
				if total += float64(random.IntN(500)) / 100; i%211 == 100+k {
					total = 0
				}
				return total
			}, with("cpu_seconds_total", "mode", mode)...)
		}
		add(func(int) float64 { return float64(int(4) << k) }, with("cpus")...)
		add(func(int) float64 { return random.Float64()*2 - 1 }, with("ratio")...)
		add(func(i int) float64 { return 1e9 + float64(i)*1e5 + random.NormFloat64()*1e4 }, with("disk_bytes")...)
		add(func(i int) float64 { return float64(from/1000) + float64(i/24*120) }, with("finished_seconds")...)
		add(func(i int) float64 {
			switch i % 60 {
			case 0:
				return stale
			default:
				if i%60 > 40 {
					return missing
				}
				return float64(i)
			}
		}, with("now_and_then")...)
		sums := [5]float64{}
		for b, le := range []string{"0.1", "0.5", "1", "5", "+Inf"} {
			add(func(int) float64 { sums[b] += float64((b + 1) * random.IntN(4)); return sums[b] }, with("latency_seconds_bucket", "le", le)...)
		}
		add(func(i int) float64 { return float64(3 * i) }, with("latency_seconds_count")...)
		for _, side := range []string{"a", "b"} {
			add(func(int) float64 { return 1 }, with("cpus_of_many", "side", side)...)
		}
	}
	return lines
}

func TestCompliance(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 39))
	p := newPair(t, machines(random), random)
	asked, filled := 0, 0
	for _, text := range cases {
		text, refused := strings.CutPrefix(text, "refused: ")
		for _, expression := range expand(text) {
			for _, step := range []time.Duration{0, 10 * time.Second} {
				from, to := end.Add(-12*time.Minute), end.Add(-2*time.Minute)
				got, want := p.ask(t, expression, from, to, step), p.expect(t, expression, from, to, step)
				if asked++; refused != (want.err != nil) {
					t.Fatalf("%s: Prometheus answers with the error %v: the table is wrong", expression, want.err)
				}
				if len(want.list) > 0 {
					filled++
				}
				if step > 0 || !strings.HasPrefix(expression, "sort") && !strings.HasPrefix(expression, "topk") && !strings.HasPrefix(expression, "bottomk") {
					byLabels := func(a, b result) int { return strings.Compare(a.labels, b.labels) } // elsewhere any order is right
					slices.SortFunc(got.list, byLabels)
					slices.SortFunc(want.list, byLabels)
				}
				if complaint := differ(got, want); complaint != "" {
					t.Errorf("%s by %v: %s", expression, step, complaint)
				}
			}
		}
	}
	t.Logf("%d questions, %d with results", asked, filled)
	if asked < 2*539 || filled < asked*3/4 {
		t.Errorf("%d questions, of which %d have results, are too few", asked, filled)
	}
}
