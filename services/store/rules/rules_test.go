package rules

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"cistern/services/histogram"
	"cistern/services/journal"
	"cistern/services/platform/vfs"
	"cistern/services/store/api"
	"cistern/services/store/tsdb"

	"github.com/prometheus/prometheus/model/value"
)

// began is a whole minute not long ago.
var began = time.Now().Add(-2 * time.Hour).Truncate(time.Minute).UnixMilli()

type fixture struct {
	t     *testing.T
	fs    *vfs.Memory
	store *tsdb.Store
	api   *api.API
	*Manager
	now   int64
	limit tsdb.Options
}

// newFixture has a manager that is not started: tests evaluate by themselves.
func newFixture(t *testing.T) *fixture {
	f := &fixture{t: t, fs: vfs.NewMemory(), now: began}
	f.open()
	t.Cleanup(func() {
		f.Close()
		_ = f.store.Close()
	})
	return f
}

func (f *fixture) open() {
	f.t.Helper()
	o := f.limit
	o.FS = f.fs
	s, err := tsdb.Open("/s", o)
	if err != nil {
		f.t.Fatal(err)
	}
	f.store, f.api = s, api.New(s, "test")
	f.Manager, err = Open(s, f.api, Options{FS: f.fs, Folder: "/s", Now: func() time.Time { return time.UnixMilli(f.now) }, CatchUp: 10 * time.Minute})
	if err != nil {
		f.t.Fatal(err)
	}
}

func (f *fixture) restart() {
	f.t.Helper()
	f.Close()
	if err := f.store.Close(); err != nil {
		f.t.Fatal(err)
	}
	f.open()
}

func (f *fixture) set(list ...Rule) {
	f.t.Helper()
	if err := f.Set(list); err != nil {
		f.t.Fatal(err)
	}
}

func one(id, name, expression string) Rule {
	return Rule{ID: id, Group: "g", Name: name, Expression: expression, IntervalSeconds: 10, Enabled: true}
}

// at evaluates all rules for a second after began.
func (f *fixture) at(second int) {
	f.t.Helper()
	f.now = began + int64(second)*1000
	for _, r := range f.rules {
		if r.Enabled && !f.evaluate(f.t.Context(), r, f.now) {
			f.t.Fatalf("%s was not evaluated: %s", r.Name, r.state.Error)
		}
	}
}

func (f *fixture) put(second int, name string, content any, pairs ...string) {
	f.t.Helper()
	f.putAs(f.t.Context(), second, name, content, pairs...)
}

func (f *fixture) putAs(ctx context.Context, second int, name string, content any, pairs ...string) []tsdb.Rejection {
	f.t.Helper()
	labels := []tsdb.Label{{Name: tsdb.NameLabel, Value: name}}
	for i := 0; i < len(pairs); i += 2 {
		labels = append(labels, tsdb.Label{Name: pairs[i], Value: pairs[i+1]})
	}
	key, err := tsdb.AppendKey(nil, labels)
	if err != nil {
		f.t.Fatal(err)
	}
	s := tsdb.Sample{Key: key, Kind: tsdb.Gauge, Time: began + int64(second)*1000}
	switch v := content.(type) {
	case int:
		s.Value = float64(v)
	case *histogram.Histogram:
		s.Kind, s.Histogram = tsdb.Histogram, v
	}
	rejected, err := f.store.Ingest(ctx, "test", []tsdb.Sample{s}, journal.Buffered)
	if err != nil {
		f.t.Fatal(err)
	}
	return rejected
}

// stored is all samples of a name, as "second{labels}=value", in the order of their times.
func (f *fixture) stored(name string) string {
	f.t.Helper()
	list, release, err := f.store.Select(f.t.Context(), 0, math.MaxInt64/2, nameMatcher(name))
	if err != nil {
		f.t.Fatal(err)
	}
	defer release()
	type line struct {
		at   int64
		text string
	}
	var lines []line
	for _, one := range list {
		var labels []tsdb.Label
		for _, l := range one.Labels() {
			if l.Name != tsdb.NameLabel {
				labels = append(labels, l)
			}
		}
		text := strings.Trim(fmt.Sprint(labels), "[]")
		add := func(t int64, what string) {
			lines = append(lines, line{t, fmt.Sprintf("%d%s=%s", (t-began)/1000, text, what)})
		}
		numbers := one.Numbers(0, math.MaxInt64/2)
		for numbers.Next() {
			t, v := numbers.At()
			if value.IsStaleNaN(v) {
				add(t, "end")
			} else {
				add(t, fmt.Sprint(v))
			}
		}
		natives := one.Natives(0, math.MaxInt64/2)
		for natives.Next() {
			t, h := natives.At()
			if value.IsStaleNaN(h.Sum) {
				add(t, "end")
			} else {
				add(t, fmt.Sprintf("%v/%v", h.Count, h.Sum))
			}
		}
	}
	slices.SortFunc(lines, func(a, b line) int {
		if a.at != b.at {
			return int(a.at - b.at)
		}
		return strings.Compare(a.text, b.text)
	})
	var all []string
	for _, l := range lines {
		all = append(all, l.text)
	}
	return strings.Join(all, " ")
}

func (f *fixture) wants(name, want string) {
	f.t.Helper()
	if got := f.stored(name); got != want {
		f.t.Errorf("%s:\n got %s\nwant %s", name, got, want)
	}
}

func TestResults(t *testing.T) {
	f := newFixture(t)
	f.put(0, "x", 1, "job", "a", "i", "1")
	f.put(0, "x", 2, "job", "a", "i", "2")
	f.put(0, "x", 5, "job", "b", "i", "3")
	sum := one("1", "job:x:sum", "sum by (job) (x)")
	sum.Labels = map[string]string{"site": "north"}
	renamed := one("2", "y", "x")
	renamed.Labels = map[string]string{"i": "", "n": "1"}
	f.set(sum, one("3", "job:x:double", "job:x:sum * 2"), one("4", "answer", "scalar(sum(x)) + 34"), renamed)
	f.at(10)
	f.wants("job:x:sum", "10{job a} {site north}=3 10{job b} {site north}=5")
	f.wants("job:x:double", "10{job a} {site north}=6 10{job b} {site north}=10") // of the same moment
	f.wants("answer", "10=42")
	// Two of its series become one, as in Prometheus an error.
	f.wants("y", "")
	if s := f.Rules()[3].State; !strings.Contains(s.Error, "two results become the same series") || s.Failures != 1 || s.ErrorSince == "" {
		t.Errorf("%+v", s)
	}
	if s := f.Rules()[0].State; s.Samples != 2 || s.Error != "" || s.Evaluations != 1 || s.Moment != float64(began+10_000)/1000 {
		t.Errorf("%+v", s)
	}
}

// A series that a rule does not give any more ends; also when the rule goes, when its labels change, and over a restart.
func TestEnds(t *testing.T) {
	f := newFixture(t)
	f.put(0, "x", 1, "i", "1")
	f.put(0, "x", 1, "i", "2")
	f.set(one("1", "r", "x > 0"), one("2", "other", "x"))
	f.at(10)
	f.put(15, "x", 0, "i", "1")
	f.at(20)
	f.at(30)
	f.wants("r", "10{i 1}=1 10{i 2}=1 20{i 1}=end 20{i 2}=1 30{i 2}=1")
	f.put(35, "x", 0, "i", "2")
	f.restart()
	f.at(40)
	f.wants("r", "10{i 1}=1 10{i 2}=1 20{i 1}=end 20{i 2}=1 30{i 2}=1 40{i 2}=end")
	changed := one("2", "other", "x")
	changed.Labels = map[string]string{"n": "1"}
	f.set(one("1", "r", "x > 0"), changed)
	f.at(50)
	f.wants("other", "10{i 1}=1 10{i 2}=1 20{i 1}=0 20{i 2}=1 30{i 1}=0 30{i 2}=1 40{i 1}=0 40{i 2}=0 "+
		"50{i 1} {n 1}=0 50{i 1}=end 50{i 2} {n 1}=0 50{i 2}=end")
	f.now += 5000
	f.set(one("1", "r", "x > 0"))
	if got := f.stored("other"); !strings.HasSuffix(got, "55{i 1} {n 1}=end 55{i 2} {n 1}=end") {
		t.Error(got)
	}
}

func TestHistograms(t *testing.T) {
	f := newFixture(t)
	h := &histogram.Histogram{}
	for _, v := range []float64{0.1, 0.2, 0.2, 4} {
		if err := h.Insert(v, 1); err != nil {
			t.Fatal(err)
		}
	}
	f.put(5, "latency", h, "job", "a", "i", "1")
	f.put(5, "latency", h, "job", "a", "i", "2")
	f.set(one("1", "job:latency", "sum by (job) (increase(latency[10s]))"), one("2", "p50", "histogram_quantile(0.5, job:latency)"))
	f.at(10)
	if got := f.stored("job:latency"); !strings.HasPrefix(got, "10{job a}=8/9.") {
		t.Error(got)
	}
	if got := f.stored("p50"); !strings.HasPrefix(got, "10{job a}=0.2") {
		t.Error(got)
	}
	if s := f.Rules()[0].State; s.Histograms != 1 || s.Samples != 1 {
		t.Errorf("%+v", s)
	}
	mux := http.NewServeMux()
	f.api.Register(mux)
	answer := httptest.NewRecorder()
	mux.ServeHTTP(answer, httptest.NewRequest("GET", fmt.Sprintf("/api/v1/histogram/distribution?query=job:latency&start=%d&end=%d", began/1000, began/1000+20), nil))
	if !strings.Contains(answer.Body.String(), `"count":8`) {
		t.Error(answer.Body.String())
	}
	f.at(20)
	if got := f.stored("job:latency"); !strings.HasSuffix(got, "20{job a}=end") {
		t.Error(got)
	}
}

func TestRefusals(t *testing.T) {
	f := newFixture(t)
	for _, c := range []struct{ name, expression, field, words string }{
		{"", "x", "name", "is missing"},
		{"a b", "x", "name", "cannot be a metric's name"},
		{"cistern_x", "x", "name", "the appliance's own"},
		{"r", "", "expression", "is missing"},
		{"r", "sum(", "expression", "unclosed left parenthesis"},
		{"r", "x[5m]", "expression", "range vector"},
		{"r", `"text"`, "expression", "string"},
		{"r", "r + 1", "expression", "reads its own result"},
		{"r", `{__name__=~"r|s"}`, "expression", "reads its own result"},
		{"r", "sum_over_time(r[1h])", "expression", "reads its own result"},
		{"r", "a.b.c", "expression", `{"a.b.c"}`},
	} {
		err := f.Set([]Rule{one("1", c.name, c.expression)})
		refused, ok := err.(*Refused)
		if !ok || len(refused.Fields) != 1 || refused.Fields[0].Name != c.field || !strings.Contains(refused.Fields[0].Message, c.words) {
			t.Errorf("%s = %s: %v", c.name, c.expression, err)
		}
	}
	for _, fine := range []string{"r offset 1m + x", `r{job="other"} `, "sum_over_time(r[1h] offset 10s)", "max_over_time(r[1h:1m] offset 10s)"} {
		r := one("1", "r", fine)
		r.Labels = map[string]string{"job": "mine"}
		if err := f.Set([]Rule{r}); err != nil {
			t.Errorf("%s: %v", fine, err)
		}
	}
	if err := f.Set([]Rule{one("1", "a", "b"), one("2", "b", "c"), one("3", "c", "a")}); err == nil || !strings.Contains(err.Error(), "a ← b ← c ← a") && !strings.Contains(err.Error(), "a ← c ← b ← a") {
		t.Error(err)
	}
	if err := f.Set([]Rule{one("1", "a", "b"), one("2", "a", "c")}); err == nil || !strings.Contains(err.Error(), "the same added labels") {
		t.Error(err)
	}
	wrong := one("1", "a", "b")
	wrong.IntervalSeconds = 0
	if err := f.Set([]Rule{wrong}); err == nil || !strings.Contains(err.Error(), "0 s is no interval: 1 s to 3600 s are") {
		t.Error(err)
	}
	if got := f.Rules()[0].Name; got != "r" { // nothing was changed
		t.Error(got)
	}
}

type sender struct{}

func (sender) Sent(int) {}

func (sender) Create(int) (tsdb.Reason, string) { return "", "" }
func (sender) Refused(int, tsdb.Reason)         {}

// A name is a rule's or a sender's, whoever came first.
func TestNamesBelongToOne(t *testing.T) {
	f := newFixture(t)
	theirs := tsdb.WithSender(t.Context(), sender{})
	f.put(0, "x", 1)
	f.putAs(theirs, 5, "taken", 7)
	f.set(one("1", "taken", "x"), one("2", "mine", "x"))
	f.at(10)
	f.wants("taken", "5=7")
	if s := f.Rules()[0].State; !strings.Contains(s.Error, "measurements named taken are sent to the appliance") {
		t.Errorf("%+v", s)
	}
	for _, labels := range [][]string{nil, {"another", "series"}} {
		rejected := f.putAs(theirs, 11, "mine", 7, labels...)
		if len(rejected) != 1 || rejected[0].Reason != tsdb.ReservedName || !strings.Contains(rejected[0].Detail, "recording rule") {
			t.Error(rejected)
		}
	}
	f.restart() // nothing has been evaluated yet
	if rejected := f.putAs(theirs, 12, "mine", 7); len(rejected) != 1 {
		t.Error(rejected)
	}
	f.at(20)
	f.wants("mine", "10=1 20=1")
	f.now += 1000
	f.set()
	if rejected := f.putAs(theirs, 30, "mine", 8); len(rejected) != 0 { // the rule is gone
		t.Error(rejected)
	}
	f.set(one("2", "mine", "x"))
	f.at(40)
	if s := f.Rules()[0].State; !strings.Contains(s.Error, "are sent to the appliance") {
		t.Errorf("%+v", s)
	}
}

// What needs too much is refused in words, and delays nobody.
func TestTooMuch(t *testing.T) {
	f := newFixture(t)
	f.put(0, "x", 1)
	f.set(one("1", "r", "max_over_time(x[1y:1ms])"), one("2", "s", "x"))
	f.at(10)
	if s := f.Rules()[0].State; !strings.Contains(s.Error, "limits.query_points") || s.Failures != 1 {
		t.Errorf("%+v", s)
	}
	f.wants("s", "10=1")
}

// Results beyond the store's limits are counted and named; the others are there.
func TestRefusedByTheStore(t *testing.T) {
	f := &fixture{t: t, fs: vfs.NewMemory(), now: began, limit: tsdb.Options{MaxSeries: 12}}
	f.open()
	t.Cleanup(func() { f.Close(); _ = f.store.Close() })
	for i := range 10 {
		f.put(0, "x", i, "i", fmt.Sprint(i))
	}
	f.set(one("1", "r", "x"))
	f.at(10)
	s := f.Rules()[0].State
	if s.Refused == nil || s.Refused.Samples != 8 || s.Refused.Reason != "series_limit" || s.RefusedTotal != 8 || s.Error != "" {
		t.Errorf("%+v %+v", s, s.Refused)
	}
}

// A rule with more series than are remembered ends them all the same; and its past is filled in smaller parts.
func TestManySeries(t *testing.T) {
	f := newFixture(t)
	const many = 2 * keptSeries
	for i := range many {
		f.put(0, "x", 1, "i", fmt.Sprint(i))
	}
	f.set(one("1", "r", "x > 0"))
	f.at(10)
	f.put(15, "x", 0, "i", "7")
	f.at(20)
	if got := f.stored("r"); strings.Count(got, "=1") != 2*many-1 || !strings.Contains(got, "20{i 7}=end") {
		t.Error(len(got))
	}
	f.filling.Go(func() { f.fillAll(f.ctx) })
	if _, err := f.StartFill("1", time.UnixMilli(began-600_000), time.Time{}); err != nil {
		t.Fatal(err)
	}
	if fill := f.wait(Done); fill.Samples != 3*many-1+1 || fill.Error != "" { // at 0, 10 and 20
		t.Errorf("%+v", fill)
	}
	f.put(20, "x", 1, "i", "7")
	f.now += 5000
	f.set()
	if got := f.stored("r"); strings.Count(got, "25{") != many-1 {
		t.Error(strings.Count(got, "25{"))
	}
}

// What is too much to hold at once is filled in smaller parts.
func TestFillInParts(t *testing.T) {
	f := newFixture(t)
	const many, steps = 1500, 200 // more than maxPoints together
	for i := range many {
		f.put(0, "x", 1, "i", fmt.Sprint(i))
	}
	f.set(one("1", "r", "last_over_time(x[1h])"))
	f.at(steps * 10)
	f.filling.Go(func() { f.fillAll(f.ctx) })
	if _, err := f.StartFill("1", time.UnixMilli(began+10_000), time.Time{}); err != nil {
		t.Fatal(err)
	}
	if fill := f.wait(Done); fill.Samples != many*steps || fill.Error != "" {
		t.Errorf("%+v", fill)
	}
}
