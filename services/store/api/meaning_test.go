package api

import (
	"encoding/json"
	"net/http"
	"testing"

	"cistern/services/store/tsdb"
)

// A person's word counts before the sender's, and that before the name's, in the list of metrics, in Prometheus' metadata and
// for expressions.
func TestMeanings(t *testing.T) {
	f := newFixture(t)
	for _, name := range []string{"checkout", "io_seconds_sum", "io_seconds_count", "queue", "disk_bytes", "plain"} {
		f.put(t, sample(t, 0, name, 1.0))
	}
	f.store.Describe([]tsdb.Metadata{
		{Name: "checkout", Unit: "ms", Help: "what the sender says"}, {Name: "io_seconds", Unit: "ms"}, {Name: "queue", Unit: "{message}"},
	})
	limit := 250.0
	if err := f.store.SetMeanings([]tsdb.Meaning{{Name: "disk_bytes", Unit: "MB", Limit: &limit}, {Name: "checkout", Description: "until it is paid"}}); err != nil {
		t.Fatal(err)
	}
	type metric struct {
		Name, Unit, UnitFrom, Description string
		Limit                             *float64
	}
	var list struct{ Metrics []metric }
	if err := json.Unmarshal(f.get("/api/v1/metrics").Body.Bytes(), &list); err != nil {
		t.Fatal(err)
	}
	want := []metric{
		{"checkout", "milliseconds", "sender", "until it is paid", nil}, {"disk_bytes", "megabytes", "person", "", &limit},
		{Name: "io_seconds_count"}, {"io_seconds_sum", "milliseconds", "sender", "", nil}, {Name: "plain"},
		{"queue", "message", "sender", "", nil},
	}
	for i, one := range list.Metrics {
		if got, _ := json.Marshal(one); i >= len(want) || string(got) != string(must(json.Marshal(want[i]))) {
			t.Errorf("%s", got)
		}
	}
	if len(list.Metrics) != len(want) {
		t.Errorf("%d metrics", len(list.Metrics))
	}
	var metadata struct {
		Data map[string][]struct{ Unit, Help string }
	}
	if err := json.Unmarshal(f.get("/api/v1/metadata").Body.Bytes(), &metadata); err != nil {
		t.Fatal(err)
	}
	if one := metadata.Data["checkout"][0]; one.Unit != "ms" || one.Help != "until it is paid" {
		t.Errorf("%+v", one)
	}
	if one := metadata.Data["disk_bytes"][0]; one.Unit != "megabytes" {
		t.Errorf("%+v", one)
	}
	for query, want := range map[string]string{
		"checkout": `{"unit":"milliseconds","perSecond":false}`, "rate(disk_bytes[1m])": `{"unit":"megabytes","perSecond":true}`,
		"rate(io_seconds_sum[1m]) / rate(io_seconds_count[1m])": `{"unit":"milliseconds","perSecond":false}`, "nothing": `{"unit":"","perSecond":false}`,
	} {
		if w := f.get("/api/v1/unit", "query", query); w.Body.String() != `{"status":"success","data":`+want+`}` {
			t.Errorf("%s: %s", query, w.Body)
		}
	}
	for _, bad := range []string{"", "a ++", "a.b"} {
		if w := f.get("/api/v1/unit", "query", bad); w.Code != http.StatusBadRequest {
			t.Errorf("%q: %d %s", bad, w.Code, w.Body)
		}
	}
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}
