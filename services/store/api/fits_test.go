package api

// What fits is answered: nothing is refused because there are many samples of which none has to be in memory.

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"cistern/services/histogram"
	"cistern/services/store/tsdb"
)

const fitsTimers, fitsCounters, fitsSeconds = 10_000, 1_000, 360

// manyTimers has timers with a value every ten seconds, and counters.
func manyTimers(t *testing.T) *fixture {
	f := newFixture(t)
	h := &histogram.Histogram{}
	if err := h.Insert(0.25, 2); err != nil {
		t.Fatal(err)
	}
	keyOf := func(name string, i int) []byte {
		key, err := tsdb.AppendKey(nil, []tsdb.Label{{Name: tsdb.NameLabel, Value: name}, {Name: "i", Value: strconv.Itoa(i)}, {Name: "kind", Value: name}})
		if err != nil {
			t.Fatal(err)
		}
		return key
	}
	var keys [][]byte
	for i := range fitsTimers {
		keys = append(keys, keyOf("tm", i))
	}
	for i := range fitsCounters {
		keys = append(keys, keyOf("c_total", fitsTimers+i))
	}
	batch := make([]tsdb.Sample, 0, len(keys))
	for second := 0; second <= fitsSeconds; second += 10 {
		batch = batch[:0]
		at := began.UnixMilli() + int64(second)*1000
		for i, key := range keys {
			one := tsdb.Sample{Key: key, Kind: tsdb.Counter, Time: at, Value: float64(second)}
			if i < fitsTimers {
				one = tsdb.Sample{Key: key, Kind: tsdb.Histogram, Time: at, Histogram: h}
			}
			batch = append(batch, one)
		}
		f.put(t, batch...)
	}
	return f
}

// counting takes an answer without keeping it.
type counting struct {
	status int
	header http.Header
	size   int
	series int
	start  []byte
	last   []byte
}

func (c *counting) Header() http.Header    { return c.header }
func (c *counting) WriteHeader(status int) { c.status = status }
func (c *counting) Write(b []byte) (int, error) {
	c.size += len(b)
	// A piece may end within the word: what is counted is what lies behind it, so that none is counted twice.
	both := append(c.last, b...)
	c.series += bytes.Count(both, []byte(`{"metric":{`))
	keep := min(len(both), len(`{"metric":{`)-1)
	c.last = append([]byte(nil), both[len(both)-keep:]...)
	if len(c.start) < 300 {
		c.start = append(c.start, b[:min(len(b), 300)]...)
	}
	return len(b), nil
}

func (f *fixture) count(path string, pairs ...string) *counting {
	form := url.Values{}
	for i := 0; i < len(pairs); i += 2 {
		form.Add(pairs[i], pairs[i+1])
	}
	c := &counting{status: http.StatusOK, header: http.Header{}}
	f.mux.ServeHTTP(c, httptest.NewRequest("GET", path+"?"+form.Encode(), nil))
	return c
}

func TestWhatFitsIsAnswered(t *testing.T) {
	f := manyTimers(t)
	for _, c := range []struct {
		query, want string
		step        string
	}{
		{"count(tm)", `"10000"`, "120"},
		{"group(tm)", `"1"`, "120"},
		{`count by (kind) ({__name__=~"tm|c_total"})`, `"10000"`, "120"},
		{"count(count_over_time(tm[1m]))", `"10000"`, "120"},
		{"sum(count_over_time(tm[1m]))", `"60000"`, "120"},
		{"topk(3, count by (i) (tm))", `"1"`, "120"},
		{"absent(tm)", `"result":[]`, "120"},
		{`count by (x) (label_replace(tm, "x", "all", "i", ".*"))`, `"10000"`, "120"},
		{`count(label_join(tm, "x", "-", "i", "kind"))`, `"10000"`, "120"},
		{`count(tm) + count(c_total)`, `"11000"`, "1"},
		{"absent(gone)", `"1"`, "120"},
		{`count(rate({__name__=~"tm|c_total"}[1m]))`, `"11000"`, "1"},
		{`histogram_count(sum by (kind) (rate({__name__=~"tm|c_total"}[1m])))`, `"2000"`, "1"},
		{`sum by (kind) (rate({__name__=~"tm|c_total"}[1m]))`, `"count":"2000"`, "1"},
		{`histogram_quantile(0.9, sum(rate(tm[1m])))`, `0.259`, "1"},
	} {
		w := f.get("/api/v1/query_range", "query", c.query, "start", at(60), "end", at(300), "step", c.step, "stats", "all")
		if body := w.Body.String(); w.Code != http.StatusOK || !strings.Contains(body, c.want) {
			t.Errorf("%s: %d %.600s", c.query, w.Code, body)
		}
	}
	// Of numbers and histograms there is no sum, and a note says so.
	w := f.get("/api/v1/query_range", "query", `sum(rate({__name__=~"tm|c_total"}[1m]))`, "start", at(60), "end", at(300), "step", "1")
	var mixed struct {
		Data     struct{ Result []json.RawMessage }
		Warnings []string
	}
	if err := json.Unmarshal(w.Body.Bytes(), &mixed); err != nil || len(mixed.Data.Result) != 0 || len(mixed.Warnings) != 1 || !strings.Contains(mixed.Warnings[0], "mix of histograms and floats") {
		t.Errorf("%v %.600s", err, w.Body)
	}
}

// Three million histograms, which are more than there is memory for, are written one series after the other.
func TestAnswersLargerThanMemory(t *testing.T) {
	f := manyTimers(t)
	c := f.count("/api/v1/query_range", "query", `rate({__name__=~"tm|c_total"}[1m])`, "start", at(60), "end", at(360), "step", "1")
	if c.status != http.StatusOK || c.series != fitsTimers+fitsCounters {
		t.Errorf("%d, %d series in %d bytes: %s", c.status, c.series, c.size, c.start)
	}
	t.Logf("%d series in %d MiB", c.series, c.size>>20)
	if c := f.count("/api/v1/query_range", "query", `rate({__name__=~"tm|c_total"}[1m])`, "start", at(60), "end", at(360), "step", "1", "limit", "3"); c.series != 3 || c.size > 1<<20 {
		t.Errorf("%d series in %d bytes", c.series, c.size)
	}
	if c := f.count("/api/v1/columns", "query", `rate(tm[1m])`, "start", at(60), "end", at(360), "step", "1"); c.status != http.StatusUnprocessableEntity {
		t.Error(c.status, string(c.start))
	}
}
