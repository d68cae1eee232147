package fast

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"cistern/services/journal"
	"cistern/services/platform/vfs"
	"cistern/services/store/tsdb"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
)

// Operations between vectors are the engine's, point by point, and so are their errors: with series that come and go, several
// that match, names that differ, and values that are none.
func TestJoinsAsTheEngine(t *testing.T) {
	r := rand.New(rand.NewPCG(61, 62))
	s, err := tsdb.Open("/s", tsdb.Options{FS: vfs.NewMemory(), Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	const ticks = 60
	for _, name := range []string{"a", "b", "other"} {
		for pod := range 12 {
			for _, version := range []string{"", "1", "2"} {
				if version != "" && (name != "b" || pod%3 != 0) {
					continue
				}
				set := []tsdb.Label{{Name: tsdb.NameLabel, Value: name}, {Name: "job", Value: fmt.Sprint(pod % 4)}, {Name: "pod", Value: fmt.Sprint(pod)}, {Name: "version", Value: version}}
				if pod%5 == 0 {
					set = append(set, tsdb.Label{Name: "__unit__", Value: "seconds"}, tsdb.Label{Name: "A", Value: name})
				}
				key, err := tsdb.AppendKey(nil, set)
				if err != nil {
					t.Fatal(err)
				}
				var batch []tsdb.Sample
				from, to := 0, ticks
				switch version { // one follows the other
				case "1":
					to = ticks / 3
				case "2":
					from = ticks/3 + 8 - pod
				}
				for k := from; k < to; k++ {
					if pod == 7 && k/10%2 == 1 {
						continue
					}
					value := float64(r.IntN(20) - 5)
					if r.IntN(40) == 0 {
						value = []float64{math.NaN(), math.Inf(1), absent}[r.IntN(3)]
					}
					batch = append(batch, tsdb.Sample{Key: key, Kind: tsdb.Gauge, Time: now.UnixMilli() - int64(ticks-k)*30_000, Value: value})
				}
				if rejected, err := s.Ingest(context.Background(), "test", batch, journal.Buffered); err != nil || len(rejected) > 0 {
					t.Fatal(rejected, err)
				}
			}
		}
	}
	p := parser.NewParser(parser.Options{})
	rest := promql.NewEngine(promql.EngineOpts{MaxSamples: 10_000_000, Timeout: time.Minute, LookbackDelta: 5 * time.Minute, EnableAtModifier: true, EnableNegativeOffset: true, Parser: p})
	quick, slow := &Engine{Store: s, Parser: p, Rest: only(rest)}, &Engine{Store: s, Parser: p, Rest: only(rest), Off: true}
	sides := []string{"a", "b", `b{version="2"}`, `{__name__=~"a|b"}`, "sum by (pod) (b)", "sum by (job) (a)", "max by (job, pod) (b)", "rate(a[2m])", "other offset 1m", "a * 2", "missing",
		`{__name__="b",pod!~"0|3|6|9"}`}
	matchings := []string{"", "on (pod)", "on (job, pod)", "on (job)", "ignoring (version)", "ignoring (version, A)", "on (pod) group_left ()", "on (pod) group_right ()", "on (job) group_left ()",
		"on (pod) group_left (version, A)", "on (job) group_right (missing)", "ignoring (version) group_left (version)", "on (pod, __name__)", "on ()", "on () group_left ()"}
	by := map[string]int{}
	for round := range 3000 {
		text := fmt.Sprintf("%s %s %s %s", sides[r.IntN(len(sides))], []string{"+", "-", "*", "/", "%", "^", "atan2", ">", "and"}[r.IntN(9)], matchings[r.IntN(len(matchings))], sides[r.IntN(len(sides))])
		if r.IntN(8) == 0 {
			text = "sum by (job) (" + text + ")"
		}
		q := Query{Text: text, Lookback: time.Minute, Start: now.Add(-time.Duration(r.IntN(ticks*30)) * time.Second)}
		q.End = q.Start
		if r.IntN(2) == 0 {
			q.Step = []time.Duration{30 * time.Second, 47 * time.Second}[r.IntN(2)]
			q.End = q.Start.Add(time.Duration(r.IntN(20)) * q.Step)
		}
		if _, err := p.ParseExpr(text); err != nil {
			continue // set operations have no groups
		}
		got, err := quick.Exec(context.Background(), q)
		want, wantErr := slow.Exec(context.Background(), q)
		if said(err) != said(wantErr) {
			t.Fatalf("round %d, %s: %v, want %v", round, text, err, wantErr)
		}
		if err != nil {
			by["refused"]++
			continue
		}
		if a, b := printed(got.Value), printed(want.Value); a != b {
			t.Fatalf("round %d, %s at %v, step %v, by %s:\n%s\nwant\n%s", round, text, q.Start, q.Step, got.By, a, b)
		}
		by[got.By]++
		got.Close()
		want.Close()
	}
	if by["fast"] < 700 || by["refused"] < 100 || by["mixed"]+by["engine"] < 100 {
		t.Errorf("how they were answered: %v", by)
	}
}

// said is an error's words without the two series that it names: which of many, depends on a map in the engine.
func said(err error) string {
	words, _, _ := strings.Cut(fmt.Sprint(err), ": [")
	words, _, _ = strings.Cut(words, "match group")
	return words
}

// printed is a result as text: a vector in its order, which is the engine's.
func printed(value parser.Value) string {
	var b []byte
	point := func(set labels.Labels, at int64, v float64) { b = fmt.Appendf(b, "%s %d %.9g\n", set, at, v) }
	switch v := value.(type) {
	case promql.Vector:
		for _, one := range v {
			point(one.Metric, one.T, one.F)
		}
	case promql.Matrix:
		for _, one := range v {
			for _, p := range one.Floats {
				point(one.Metric, p.T, p.F)
			}
		}
	}
	return string(b)
}
