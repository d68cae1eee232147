package otlp

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"cistern/services/store/tsdb"
)

// Names as Prometheus writes them, by each of its strategies.
func TestTranslationStrategies(t *testing.T) {
	body := []byte(`{"resourceMetrics":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"shop"}},{"key":"host.name","value":{"stringValue":"web1"}}]},
		"scopeMetrics":[{"scope":{"name":"lib","attributes":[{"key":"a.b","value":{"stringValue":"s"}}]},"metrics":[
		{"name":"http.requests","unit":"1","sum":{"isMonotonic":true,"aggregationTemporality":2,"dataPoints":[{"asInt":"5",` + at + `,
			"attributes":[{"key":"x.y","value":{"stringValue":"1"}},{"key":"x_y","value":{"stringValue":"2"}}]}]}},
		{"name":"memory.used","unit":"By","gauge":{"dataPoints":[{"asInt":"7",` + at + `}]}},
		{"name":"request.time","unit":"s","summary":{"dataPoints":[{"count":"1","sum":2,` + at + `}]}}]}]}]}`)
	for strategy, want := range map[string][]string{
		"NoTranslation": {
			"counter http.requests,host.name=web1,job=shop,otel_scope_a.b=s,otel_scope_name=lib,x.y=1,x_y=2 5 200000",
			"gauge memory.used,host.name=web1,job=shop,otel_scope_a.b=s,otel_scope_name=lib 7 200000",
			"counter request.time_count,host.name=web1,job=shop,otel_scope_a.b=s,otel_scope_name=lib 1 200000",
			"counter request.time_sum,host.name=web1,job=shop,otel_scope_a.b=s,otel_scope_name=lib 2 200000",
			"gauge target_info,host.name=web1,job=shop 1 200000"},
		"NoUTF8EscapingWithSuffixes": {
			"counter http.requests_total,host.name=web1,job=shop,otel_scope_a.b=s,otel_scope_name=lib,x.y=1,x_y=2 5 200000",
			"gauge memory.used_bytes,host.name=web1,job=shop,otel_scope_a.b=s,otel_scope_name=lib 7 200000",
			"counter request.time_seconds_count,host.name=web1,job=shop,otel_scope_a.b=s,otel_scope_name=lib 1 200000",
			"counter request.time_seconds_sum,host.name=web1,job=shop,otel_scope_a.b=s,otel_scope_name=lib 2 200000",
			"gauge target_info,host.name=web1,job=shop 1 200000"},
		"UnderscoreEscapingWithSuffixes": {
			"counter http_requests_total,host_name=web1,job=shop,otel_scope_a_b=s,otel_scope_name=lib,x_y=1;2 5 200000",
			"gauge memory_used_bytes,host_name=web1,job=shop,otel_scope_a_b=s,otel_scope_name=lib 7 200000",
			"counter request_time_seconds_count,host_name=web1,job=shop,otel_scope_a_b=s,otel_scope_name=lib 1 200000",
			"counter request_time_seconds_sum,host_name=web1,job=shop,otel_scope_a_b=s,otel_scope_name=lib 2 200000",
			"gauge target_info,host_name=web1,job=shop 1 200000"},
		"UnderscoreEscapingWithoutSuffixes": {
			"counter http_requests,host_name=web1,job=shop,otel_scope_a_b=s,otel_scope_name=lib,x_y=1;2 5 200000",
			"gauge memory_used,host_name=web1,job=shop,otel_scope_a_b=s,otel_scope_name=lib 7 200000",
			"counter request_time_count,host_name=web1,job=shop,otel_scope_a_b=s,otel_scope_name=lib 1 200000",
			"counter request_time_sum,host_name=web1,job=shop,otel_scope_a_b=s,otel_scope_name=lib 2 200000",
			"gauge target_info,host_name=web1,job=shop 1 200000"},
	} {
		m := &memory{}
		o := Defaults()
		o.Translation = strategy
		if err := o.Check(); err != nil {
			t.Fatal(err)
		}
		mux := http.NewServeMux()
		New(m, o).Register(mux)
		if w := post(mux, typeJSON, "", body); w.Code != 200 || strings.TrimSpace(w.Body.String()) != "{}" {
			t.Fatal(strategy, w.Code, w.Body)
		}
		if !slices.Equal(m.samples, want) {
			t.Errorf("%s:\n%s", strategy, strings.Join(m.samples, "\n"))
		}
	}
}

func TestOptions(t *testing.T) {
	for want, o := range map[string]Options{
		"is no translation_strategy":   {Translation: "none"},
		"names host.name twice":        {Promote: []string{"host.name", "host.name"}},
		"in job and instance already":  {Promote: []string{"service.name"}},
		"has an empty name":            {Promote: []string{""}},
		"48 are the limit, because a ": {Promote: make([]string, 49)},
	} {
		if err := o.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if err := Defaults().Check(); err != nil {
		t.Error(err)
	}
}

// target_info is found all the time that a request spans, and what it cannot hold is said.
func TestTargetInfo(t *testing.T) {
	m := &memory{}
	_, mux := handler(m)
	body := `{"resourceMetrics":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"shop"}},{"key":"process.pid","value":{"intValue":"7"}},
		{"key":"job","value":{"stringValue":"mine"}},{"key":"process.command_args","value":{"stringValue":"` + strings.Repeat("x", tsdb.MaxLabelValue+1) + `"}}]},
		"scopeMetrics":[{"metrics":[{"name":"a","gauge":{"dataPoints":[{"asInt":"1",` + at + `},{"asInt":"1","timeUnixNano":"600000000000"}]}}]}]},
		{"resource":{"attributes":[{"key":"host.name","value":{"stringValue":"nobody's"}}]},"scopeMetrics":[{"metrics":[{"name":"a","gauge":{"dataPoints":[{"asInt":"1",` + at + `}]}}]}]}]}`
	w := post(mux, typeJSON, "", []byte(body))
	if w.Code != 200 || m.rejected[BadTarget] != 2 || !strings.Contains(w.Body.String(), `"rejectedDataPoints":"0"`) || !strings.Contains(w.Body.String(), `process.command_args is left out`) &&
		!strings.Contains(w.Body.String(), `the attribute \"job\" is left out`) {
		t.Error(w.Code, w.Body, m.rejected)
	}
	var times []string
	for _, s := range m.samples {
		if rest, ok := strings.CutPrefix(s, "gauge target_info,job=shop,process.pid=7 1 "); ok {
			times = append(times, rest)
		} else if strings.Contains(s, "target_info") {
			t.Error(s)
		}
	}
	if !slices.Equal(times, []string{"200000", "350000", "500000", "600000"}) {
		t.Error(times)
	}
}

// An exemplar that cannot be kept is counted and named; its data point is stored.
func TestExemplarsThatCannotBeKept(t *testing.T) {
	m := &memory{}
	_, mux := handler(m)
	w := post(mux, typeJSON, "", []byte(around(`{"name":"a","gauge":{"dataPoints":[{"asInt":"1",`+at+`,"exemplars":[{"timeUnixNano":"199000000000"},{"asInt":"3","timeUnixNano":"199000000000",
		"filteredAttributes":[{"key":"x","value":{"stringValue":"`+strings.Repeat("x", 2000)+`"}}]},{"asInt":"4","timeUnixNano":"199000000000"}]}]}}`)))
	if w.Code != 200 || m.rejected[BadExemplar] != 2 || len(m.samples) != 1 || !slices.Equal(m.exemplars, []string{" 4 199000"}) || !strings.Contains(w.Body.String(), "otlp_bad_exemplar: 2") {
		t.Error(w.Code, w.Body, m.rejected, m.samples, m.exemplars)
	}
}
