package explain

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"cistern/services/histogram"
	"cistern/services/store/tsdb"
)

func comparedNumbers(before, after []float64) (Change, bool) {
	return numberChange(append([]float64(nil), before...), append([]float64(nil), after...), append([]float64(nil), after[len(after)-4:]...))
}

func TestNumbersThatHaveChanged(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 24))
	several := func(n int, add float64) (list []float64) {
		for range n {
			list = append(list, 30+5*r.NormFloat64()+add)
		}
		return list
	}
	alarms := 0
	for range 500 {
		before := several(80, 0)
		if c, _ := comparedNumbers(before, several(20, 0)); c.Score >= Changed {
			alarms++
		}
		if c, ok := comparedNumbers(before, several(20, 100)); !ok || c.Score < Changed {
			t.Errorf("%+v", c)
		}
	}
	if alarms > 0 {
		t.Errorf("%d of 500 that did what they always did have changed", alarms)
	}
	rising := make([]float64, 100)
	for i := range rising {
		rising[i] = 1000 + float64(i)
	}
	if c, _ := comparedNumbers(rising[:80], rising[80:]); c.Score >= Changed {
		t.Errorf("what always grows: %+v", c)
	}
	still := make([]float64, 80)
	late := append(make([]float64, 16), 5, 5, 5, 5)
	if c, _ := comparedNumbers(still, late); c != (Change{0, 5, Farthest}) {
		t.Errorf("what began within the last fifth: %+v", c)
	}
	if c, _ := comparedNumbers(still, still[:20]); c.Score != 0 {
		t.Error(c)
	}
	if _, ok := numberChange([]float64{1, 2, 3}, []float64{9, 9}, nil); ok {
		t.Error("it is too new to be compared")
	}
}

func binned(pairs ...float64) *histogram.Histogram {
	h := &histogram.Histogram{}
	for i := 0; i < len(pairs); i += 2 {
		_ = h.Insert(pairs[i], uint64(pairs[i+1]))
	}
	return h
}

func TestDistance(t *testing.T) {
	for _, c := range []struct {
		a, b *histogram.Histogram
		want float64
	}{
		{binned(10, 10), binned(10, 3), 0},
		{binned(10, 10), binned(40, 20), 30},
		{binned(10, 5, 90, 5), binned(10, 10), 40},
		{binned(-20, 1), binned(30, 1), 51}, // across zero: (-21,-20] to [30,31)
		{binned(0, 4), binned(0, 4, 10, 4), 5.25},
		{binned(10, 1), binned(), 0},
	} {
		for _, got := range []float64{distance(c.a, c.b), distance(c.b, c.a)} {
			if math.Abs(got-c.want) > 0.51 || c.want == 0 && got > 1e-12 {
				t.Errorf("%v to %v: %v, want %v", c.a, c.b, got, c.want)
			}
		}
	}
	// Of bins of one width it is exact; and as long as two ways by a third are.
	a, b, c := binned(20, 3, 25, 7), binned(30, 5), binned(50, 1, 60, 1)
	if got := distance(a, b); math.Abs(got-(3*10+7*5)/10.) > 1e-9 {
		t.Error(got)
	}
	if distance(a, c) > distance(a, b)+distance(b, c)+1e-9 {
		t.Error("a detour is shorter")
	}
}

func TestShapesThatHaveChanged(t *testing.T) {
	slice := func(shift, count float64) *histogram.Histogram { return binned(10, count, 11, count+shift, 12, count) }
	before := []*histogram.Histogram{slice(0, 100), slice(3, 100), slice(-2, 100), slice(1, 100)}
	if c, ok := shapeChange(before, slice(2, 1000)); !ok || c.Score >= Changed {
		t.Errorf("more of the same: %+v", c)
	}
	if c, ok := shapeChange(before, binned(10, 60, 40, 40)); !ok || c.Score <= Changed {
		t.Errorf("a tail that has moved: %+v", c)
	}
	if _, ok := shapeChange(before[:1], slice(0, 100)); ok {
		t.Error("nothing is known of what is usual")
	}
}

// Each kind of series in one store: what changed is found, and said to be what it is.
func TestComparison(t *testing.T) {
	s := newStore(t)
	r := rand.New(rand.NewPCG(6, 24))
	start := time.Now().Add(-2 * time.Hour).Truncate(time.Minute).UnixMilli()
	times := Times{Start: start + 20*minute, End: start + 25*minute, BeforeFrom: start, BeforeUntil: start + 20*minute}
	var samples []tsdb.Sample
	total := map[string]float64{}
	for second := int64(0); second < 25*60; second += 5 {
		at := start + second*1000
		late := at >= times.Start
		add := func(name string, kind tsdb.Kind, value float64) {
			samples = append(samples, tsdb.Sample{Key: key(t, "x", map[string]string{"is": name}), Kind: kind, Time: at, Value: value})
		}
		grow := func(name string, by float64) {
			total[name] += by
			if name == "counter again" && second == 600 {
				total[name] = 3
			}
			add(name, tsdb.Counter, total[name])
		}
		noise := 10 + r.NormFloat64()
		add("gauge", tsdb.Gauge, noise)
		grow("counter", 50+5*r.Float64())
		grow("counter again", 50+5*r.Float64())
		if late {
			add("gauge up", tsdb.Gauge, noise+90)
			grow("counter up", 500)
			add("began", tsdb.Gauge, noise)
		} else {
			add("gauge up", tsdb.Gauge, noise)
			grow("counter up", 50+5*r.Float64())
			add("ended", tsdb.Gauge, noise)
		}
		for name, slow := range map[string]bool{"histogram": false, "histogram up": late} {
			h := &histogram.Histogram{}
			for range 10 {
				v := 0.1 * math.Exp(0.3*r.NormFloat64())
				if slow && r.IntN(3) == 0 {
					v += 2
				}
				_ = h.Insert(v, 1)
			}
			samples = append(samples, tsdb.Sample{Key: key(t, "x", map[string]string{"is": name}), Kind: tsdb.Histogram, Time: at, Histogram: h})
		}
	}
	ingest(t, s, samples)
	list, release, err := s.Select(context.Background(), times.From(), times.End-1)
	defer release()
	if err != nil {
		t.Fatal(err)
	}
	c := NewComparison(list, times, 0)
	if err := c.Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	now := c.Now(10)
	if now.Compared != 9 || now.Of != 9 {
		t.Errorf("%+v", now)
	}
	got := map[string]SeriesChange{}
	for _, one := range now.Changed {
		got[tsdb.LabelOf(one.Key, "is")] = one
	}
	if len(got) != 3 || got["gauge up"].Measure != ByValue || got["counter up"].Measure != ByRate || got["histogram up"].Measure != ByMedian {
		t.Errorf("%+v", got)
	}
	if one := got["counter up"]; math.Abs(one.Before-10.5) > 0.5 || math.Abs(one.After-100) > 1 { // by the second
		t.Errorf("%+v", one)
	}
	if len(now.Began) != 1 || tsdb.LabelOf(now.Began[0], "is") != "began" || len(now.Ended) != 1 || tsdb.LabelOf(now.Ended[0], "is") != "ended" {
		t.Errorf("%q %q", now.Began, now.Ended)
	}
	if short := c.Now(1); len(short.Changed) != 1 || c.Count() != 3 || short.Changed[0].Score < now.Changed[2].Score {
		t.Errorf("%+v", short)
	}
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	if NewComparison(list, times, 0).Run(ended) == nil {
		t.Error("it went on after it was cancelled")
	}
}
