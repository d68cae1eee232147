package rules

// When rules are evaluated: aligned, in order, made up, missed; and the past.

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"cistern/services/histogram"
	"cistern/services/platform/vfs"
	"cistern/services/store/api"
	"cistern/services/store/query/fast"
	"cistern/services/store/tsdb"

	"github.com/prometheus/prometheus/promql"
)

// times is what is due next, as often as something is, each done at once.
func (f *fixture) times(group []*rule) (all []string) {
	f.t.Helper()
	for {
		at, due := f.due(group)
		if at+milliseconds(f.options.Delay) > f.now {
			return all
		}
		for _, r := range due {
			if !f.evaluate(f.t.Context(), r, at) {
				f.t.Fatal(r.state.Error)
			}
			all = append(all, fmt.Sprintf("%s@%d", r.Name, (at-began)/1000))
		}
	}
}

func TestTimesAreAligned(t *testing.T) {
	f := newFixture(t)
	f.options.Delay = 5 * time.Second
	slow := one("2", "b", "a + 1")
	slow.IntervalSeconds = 30
	f.set(one("1", "a", "x"), slow)
	f.put(0, "x", 1)
	f.now = began + 47_300
	for i, want := range []string{"a@40 ", "", "a@50 ", "a@60 b@60 "} {
		got := ""
		for _, text := range f.times(f.rules) {
			got += text + " "
		}
		if i == 0 {
			want = "b@30 " + want // the newest of each, at once
		}
		if got != want {
			t.Errorf("after %d: %q, not %q", i, got, want)
		}
		f.now += []int64{4000, 4000, 11_000, 0}[i]
	}
	f.wants("b", "60=2")
}

// What a restart left out is made up, with the same results and ends; what is too long ago is missed, and counted.
func TestMadeUp(t *testing.T) {
	f := newFixture(t)
	f.set(one("1", "r", "x > 1"))
	for second := range 3000 {
		if second%5 == 0 {
			f.put(second, "x", second%20)
		}
	}
	f.now = began + 20_000
	f.times(f.rules)
	f.restart()
	f.now += 40_000
	f.times(f.rules)
	f.wants("r", "30=10 40=end 50=10 60=end")
	f.restart()
	f.now = began + 2_000_000
	if got := f.times(f.rules); len(got) != 61 || got[0] != "r@1400" || got[60] != "r@2000" {
		t.Error(len(got), got)
	}
	if s := f.Rules()[0].State; s.Missed != 133 || s.Evaluations != 61 {
		t.Errorf("%+v", s)
	}
	// A group that takes longer than its interval goes on with the newest.
	f.now += 35_000
	f.skip(f.rules, 11*time.Second)
	if got := fmt.Sprint(f.times(f.rules)); got != "[r@2030]" {
		t.Error(got)
	}
	if s := f.Rules()[0].State; s.Missed != 135 {
		t.Errorf("%+v", s)
	}
}

// After a crash the state on disk may be old: what was done since is done again, and nobody else is taken for the writer.
func TestCrash(t *testing.T) {
	f := newFixture(t)
	f.set(one("1", "r", "x"))
	f.put(0, "x", 1)
	f.now = began + 10_000
	f.times(f.rules)
	f.now = began + 60_000
	f.times(f.rules)
	_ = f.store.Close()
	f.fs = f.fs.Kill()
	f.open()
	f.times(f.rules)
	if s := f.Rules()[0].State; s.Error != "" || s.Evaluations == 0 {
		t.Errorf("%+v", s)
	}
	f.wants("r", "10=1 20=1 30=1 40=1 50=1 60=1")
}

// The loops themselves, by the clock.
func TestLoops(t *testing.T) {
	s, err := tsdb.Open("/s", tsdb.Options{FS: vfs.NewMemory()})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	m, err := Open(s, api.New(s, "test"), Options{FS: vfs.NewMemory(), Folder: "/s", CatchUp: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	m.Start()
	list := []Rule{one("1", "a", "vector(1)"), one("2", "b", "a + 1"), one("3", "c", "vector(time())")}
	for i := range list {
		list[i].IntervalSeconds = 1
	}
	list[2].Group = "another"
	if err := m.Set(list); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		rules := m.Rules()
		if rules[0].State.Evaluations >= 2 && rules[1].State.Samples == 1 && rules[2].State.Evaluations >= 2 {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("%+v", rules)
		}
	}
	f := &fixture{t: t, store: s}
	for _, text := range strings.Fields(f.stored("c")) {
		var at int64
		var v float64
		if _, err := fmt.Sscanf(text, "%d=%g", &at, &v); err != nil || int64(v) != at+began/1000 {
			t.Error(text, err)
		}
	}
}

// wait is until a fill is in a state.
func (f *fixture) wait(state string) Fill {
	f.t.Helper()
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		if fill := f.Rules()[0].Fill; fill != nil && fill.State == state {
			return *fill
		} else if time.Now().After(end) {
			f.t.Fatalf("not %s: %+v", state, fill)
		}
	}
}

func (f *fixture) past() {
	f.t.Helper()
	ctx := tsdb.WithHistory(context.Background())
	for second := -3600; second <= 0; second += 10 {
		if second < -1000 || second > -500 {
			f.putAs(ctx, second, "x", second)
		}
	}
}

func TestFill(t *testing.T) {
	f := newFixture(t)
	f.put(0, "x", 0)
	f.past()
	f.set(one("1", "r", "x * 2"))
	f.at(10)
	f.filling.Go(func() { f.fillAll(f.ctx) })
	for round := range 2 { // again replaces
		if _, err := f.StartFill("1", time.UnixMilli(began-3_595_000), time.Time{}); err != nil {
			t.Fatal(err)
		}
		fill := f.wait(Done)
		if fill.Next != began+20_000 || fill.Refused != 0 {
			t.Errorf("%+v", fill)
		}
		got := strings.Fields(f.stored("r"))
		// To 300 s behind -1010 there is a value, and then an end.
		if want := 1 + (3590-710)/10 + 1 + 49 + 2; got[0] != "-3590=-7180" || got[len(got)-1] != "10=0" || len(got) < want-5 || strings.Count(strings.Join(got, " "), "end") != 1 {
			t.Error(round, len(got), want, got)
		}
	}
	for _, c := range []struct {
		id    string
		from  int64
		words string
	}{{"1", began - 500*86_400_000, "kept for 400 days"}, {"9", 0, "no recording rule 9"}, {"1", began + 3_600_000, "nothing to fill"}} {
		if _, err := f.StartFill(c.id, time.UnixMilli(c.from), time.Time{}); err == nil || !strings.Contains(err.Error(), c.words) {
			t.Error(err)
		}
	}
	if _, err := f.CancelFill("1"); err == nil || !strings.Contains(err.Error(), "ended already") {
		t.Error(err)
	}
}

// gated lets so many windows of a fill through.
type gated struct {
	Queries
	gate chan struct{}
}

func (g gated) Evaluate(ctx context.Context, caller string, q fast.Query, take func(promql.Series) error) error {
	if caller == backFill {
		select {
		case <-g.gate:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return g.Queries.Evaluate(ctx, caller, q, take)
}

// A fill goes on after a restart where it was, and ends when it is cancelled or its rule is changed.
func TestFillStopsAndGoesOn(t *testing.T) {
	f := newFixture(t)
	f.put(0, "x", 0)
	f.past()
	f.set(one("1", "r", "x * 2"))
	f.at(10)
	gate := gated{f.api, make(chan struct{}, 10)}
	start := func() {
		f.queries = gate
		f.filling.Go(func() { f.fillAll(f.ctx) })
	}
	start()
	if _, err := f.StartFill("1", time.UnixMilli(began-3_590_000), time.Time{}); err != nil {
		t.Fatal(err)
	}
	if _, err := f.StartFill("1", time.UnixMilli(began-3_590_000), time.Time{}); err == nil || !strings.Contains(err.Error(), "being filled already") {
		t.Error(err)
	}
	gate.gate <- struct{}{}
	next := began - 3_590_000 + stepsAtOnce*10_000
	for f.wait(Running).Next != next {
		time.Sleep(5 * time.Millisecond)
	}
	f.restart()
	if fill := f.wait(Running); fill.Next != next {
		t.Errorf("%+v", fill)
	}
	gate.Queries = f.api
	start()
	gate.gate <- struct{}{}
	if fill := f.wait(Done); fill.Next != began+20_000 {
		t.Errorf("%+v", fill)
	}
	if got := f.stored("r"); strings.Count(got, "end") != 1 || !strings.HasPrefix(got, "-3590=-7180 ") {
		t.Error(got)
	}
	for _, how := range []string{"cancel", "change", "switch off"} {
		if _, err := f.StartFill("1", time.UnixMilli(began-3_590_000), time.UnixMilli(began-3_000_000)); err != nil {
			t.Fatal(err)
		}
		f.wait(Running)
		changed := one("1", "r", "x * 3")
		switch how {
		case "cancel":
			if fill, err := f.CancelFill("1"); err != nil || fill.State != Cancelled || !strings.Contains(fill.Error, "stays") {
				t.Error(fill, err)
			}
		case "change":
			f.set(changed)
		case "switch off":
			changed.Enabled = false
			f.set(changed)
		}
		if fill := f.wait(Cancelled); fill.EndedAt == "" {
			t.Errorf("%s: %+v", how, fill)
		}
		for len(f.stopping()) > 0 {
			time.Sleep(5 * time.Millisecond)
		}
	}
	if _, err := f.StartFill("1", time.UnixMilli(began-3_590_000), time.Time{}); err == nil || !strings.Contains(err.Error(), "switched off") {
		t.Error(err)
	}
}

func (f *fixture) stopping() map[string]context.CancelCauseFunc {
	f.mu.Lock()
	defer f.mu.Unlock()
	all := map[string]context.CancelCauseFunc{}
	for id, one := range f.stop {
		all[id] = one
	}
	return all
}

func TestRuleFiles(t *testing.T) {
	f := newFixture(t)
	text := `
groups:
  - name: web
    interval: 30s
    query_offset: 1m
    labels: {site: north}
    rules:
      - record: job:requests:rate5m
        expr: sum by (job) (rate(requests_total[5m]))
        labels: {team: web}
      - alert: Slow
        expr: x > 1
      - record: wrong
        expr: sum(
      - record: job:requests:rate5m
        expr: x
        labels: {team: web}
      - record: noted
        expr: x
        annotations: {summary: text}
        colour: red
  - name: odd
    interval: 2d
    rules: [{record: y, expr: x}]
  - name: usual
    rules:
      - {record: z, expr: "job:requests:rate5m{team='web'} * 2"}
`
	taken, not, err := ReadFile([]byte(text), f.api.Parse)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range taken {
		got = append(got, fmt.Sprintf("%s/%s every %d with %v", r.Group, r.Name, r.IntervalSeconds, r.Labels))
	}
	if want := "web/job:requests:rate5m every 30 with map[site:north team:web]; web/noted every 30 with map[site:north]; usual/z every 10 with map[]"; strings.Join(got, "; ") != want {
		t.Error(got)
	}
	var missing []string
	for _, n := range not {
		if n.Line == 0 || n.Reason == "" {
			t.Errorf("%+v", n)
		}
		missing = append(missing, n.What)
	}
	if want := "query_offset of the group “web”; the alert rule Slow; the rule wrong; the rule job:requests:rate5m; " +
		"annotations of the rule noted; colour of the rule noted; the group “odd”"; strings.Join(missing, "; ") != want {
		t.Error(strings.Join(missing, "; "))
	}
	// As many rules as can be are read in an instant, and what is beyond is not taken for something else.
	var many strings.Builder
	many.WriteString("groups:\n- name: a\n  rules:\n")
	for i := range MaxRules {
		fmt.Fprintf(&many, "  - {record: r%d, expr: 'r%d + {__name__=~\"x.*\"}'}\n", i, i+1)
	}
	began := time.Now()
	taken, not, err = ReadFile([]byte(many.String()), f.api.Parse)
	if err != nil || len(taken) != MaxRules || len(not) != 0 || time.Since(began) > 10*time.Second {
		t.Error(len(taken), len(not), err, time.Since(began))
	}
	if _, _, err := ReadFile([]byte(many.String()+"  - {record: more, expr: x}\n"), f.api.Parse); err == nil || !strings.Contains(err.Error(), "1000 is the limit") {
		t.Error(err)
	}
	for _, wrong := range []string{"", "a: [", "groups: []", "[]", "groups: 3"} {
		if _, _, err := ReadFile([]byte(wrong), f.api.Parse); err == nil {
			t.Errorf("%q was read", wrong)
		}
	}
}

// The files of this version are read by every later one.
func TestGoldenState(t *testing.T) {
	f := newFixture(t)
	f.Close()
	_ = f.store.Close()
	for _, name := range []string{rulesFile, stateFile} {
		content, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		if err := vfs.Replace(f.fs, "/s", "/s/"+name, content); err != nil {
			t.Fatal(err)
		}
	}
	f.open()
	list := f.Rules()
	if len(list) != 2 || list[0].Name != "job:x:sum" || list[0].Labels["site"] != "north" || list[1].Enabled || list[0].Fill == nil || list[0].Fill.State != Done {
		t.Errorf("%+v", list)
	}
	if f.rules[0].last != 1767225600000 || !f.owned["job:x:sum"] {
		t.Errorf("%+v", f.rules[0])
	}
}

// Filling the past gives what evaluating at the time would have given, sample for sample: values, histograms and ends.
func TestFillIsWhatEvaluatingWouldHaveBeen(t *testing.T) {
	rules := []Rule{
		one("1", "plain", "x > 3"), one("2", "by:sum", "sum by (job) (x)"), one("3", "rate", "rate(c_total[30s])"),
		one("4", "latency:sum", "sum by (job) (increase(latency[20s]))"), one("5", "mixed", `x{job="a"} or sum(increase(latency[10s]))`),
		one("6", "start", "x @ start()"), one("7", "back", "by:sum offset 10s"), one("8", "often", "max_over_time(x[1m:10s])"),
	}
	rules[7].IntervalSeconds = 30
	data := func(f *fixture) {
		random := rand.New(rand.NewPCG(3, 4))
		for second := -900; second <= 0; second += 5 {
			for _, job := range []string{"a", "b"} {
				if random.IntN(40) == 0 { // a gap that is longer than the look-back, now and then
					second += random.IntN(100)
				}
				f.put(second, "x", random.IntN(8), "job", job, "i", fmt.Sprint(random.IntN(3)))
				f.put(second, "c_total", second+1000, "job", job)
				h := &histogram.Histogram{}
				_ = h.Insert(random.Float64(), uint64(1+random.IntN(4)))
				f.put(second, "latency", h, "job", job)
			}
		}
	}
	live, filled := newFixture(t), newFixture(t)
	for _, f := range []*fixture{live, filled} {
		data(f)
		f.set(rules...)
	}
	live.now = began - 600_000
	for live.now <= began {
		live.times(live.rules)
		live.now += 10_000
	}
	filled.now = began
	filled.times(filled.rules) // the newest
	filled.filling.Go(func() { filled.fillAll(filled.ctx) })
	for i, r := range rules {
		if _, err := filled.StartFill(r.ID, time.UnixMilli(began-600_000), time.Time{}); err != nil {
			t.Fatal(err)
		}
		for end := time.Now().Add(20 * time.Second); filled.Rules()[i].Fill.State != Done; time.Sleep(time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("%+v", filled.Rules()[i].Fill)
			}
		}
		want, got := live.stored(r.Name), filled.stored(r.Name)
		if want != got || strings.Count(want, "=") < 15 {
			t.Errorf("%s:\nlive   %s\nfilled %s", r.Name, want, got)
		}
	}
}
