package units

import (
	"testing"

	"github.com/prometheus/prometheus/promql/parser"
)

func TestCanonical(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "s": "seconds", "ms": "milliseconds", "By": "bytes", "By/s": "bytes/s", "MiBy": "mebibytes", "MB": "megabytes",
		"Seconds": "seconds", "{request}": "request", "{request}/s": "request/s", "1": "count", "%": "percent", " s ": "seconds",
		"widgets": "widgets", "/s": "/s", "a unit so long that nobody could have meant it to be one": "",
	} {
		if got := Canonical(text); got != want {
			t.Errorf("%q is %q, not %q", text, got, want)
		}
	}
	for text, unit := range spellings {
		if Canonical(unit) != unit {
			t.Errorf("%q becomes %q, which becomes %q", text, unit, Canonical(unit))
		}
	}
	for unit := range inNames {
		if Canonical(unit) != unit {
			t.Errorf("%q is in names, and is not a unit", unit)
		}
	}
}

func TestOfName(t *testing.T) {
	for name, want := range map[string]string{
		"http_request_duration_seconds": "seconds", "process_cpu_seconds_total": "seconds", "app.heap.bytes": "bytes",
		"x_seconds_sum": "seconds", "x_seconds_bucket": "seconds", "x_seconds_count": "", "seconds": "", "my_checkout": "",
		"queue_bytes_max": "bytes", "level:disk_used:ratio": "ratio", "milliseconds_since": "", "": "",
	} {
		if got := OfName(name); got != want {
			t.Errorf("%q says %q, not %q", name, got, want)
		}
	}
}

func TestOfExpression(t *testing.T) {
	p := parser.NewParser(parser.Options{EnableExperimentalFunctions: true})
	units := func(name string) string {
		if name == "app.latency" {
			return "milliseconds"
		}
		return OfName(name)
	}
	for text, want := range map[string]Measure{
		`a_seconds`:                              {"seconds", false},
		`{"app.latency", host="a"}`:              {"milliseconds", false},
		`{__name__=~"a_seconds|b_bytes"}`:        {},
		`rate(a_bytes_total[1m])`:                {"bytes", true},
		`sum by (x) (rate(a_seconds_total[1m]))`: {"seconds", true},
		`histogram_quantile(0.99, sum by (le) (rate(a_seconds_bucket[5m])))`: {"seconds", false},
		`histogram_quantile(0.99, increase({"app.latency"}[5m]))`:            {"milliseconds", false},
		`rate(a_seconds_sum[5m]) / rate(a_seconds_count[5m])`:                {"seconds", false},
		`sum(rate(errors_total[5m])) / sum(rate(requests_total[5m]))`:        {},
		`free_bytes / size_bytes`:                                            {"ratio", false},
		`100 * (free_bytes / size_bytes)`:                                    {"percent", false},
		`(1 - free_bytes / size_bytes) * 100`:                                {"percent", false},
		`free_bytes / 1024`:                                                  {},
		`rate(a_bytes_total[1m]) * 8`:                                        {"bits", true},
		`a_seconds * 1000`:                                                   {"milliseconds", false},
		`a_seconds + b_seconds`:                                              {"seconds", false},
		`a_seconds + b_bytes`:                                                {},
		`a_seconds > 2`:                                                      {"seconds", false},
		`2 < a_seconds`:                                                      {"seconds", false},
		`a_seconds > bool 2`:                                                 {},
		`a_seconds and on (x) up`:                                            {"seconds", false},
		`a_seconds or b_bytes`:                                               {},
		`count(a_seconds)`:                                                   {"count", false},
		`max_over_time(rate(a_bytes_total[1m])[1h:1m])`:                      {"bytes", true},
		`quantile_over_time(0.9, a_seconds[10m])`:                            {"seconds", false},
		`histogram_count(rate({"app.latency"}[5m]))`:                         {"count", true},
		`histogram_fraction(0, 0.3, {"app.latency"})`:                        {"ratio", false},
		`time() - a_seconds`:                                                 {},
		`-a_bytes`:                                                           {"bytes", false},
		`topk(3, a_bytes)`:                                                   {"bytes", false},
		`ln(a_seconds)`:                                                      {},
		`3`:                                                                  {},
		`stdvar(a_seconds)`:                                                  {},
		`rate(rate(a_bytes_total[1m])[5m:1m])`:                               {},
		`label_replace(a_bytes, "x", "$1", "y", "(.*)")`:                     {"bytes", false},
		`absent(a_bytes)`:                                                    {},
		`a_seconds ^ 2`:                                                      {},
		`clamp_max(a_ratio, 1)`:                                              {"ratio", false},
		`sum(increase(errors_total[5m])) / sum(increase(requests_total[5m])) * 100`: {},
	} {
		expr, err := p.ParseExpr(text)
		if err != nil {
			t.Fatal(text, err)
		}
		if got := Of(expr, units); got != want {
			t.Errorf("%s is measured in %+v, not %+v", text, got, want)
		}
	}
}
