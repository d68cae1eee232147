package tsdb

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"cistern/services/journal"
	"cistern/services/platform/vfs"

	"github.com/prometheus/prometheus/model/labels"
)

func ingest(t testing.TB, s *Store, samples ...Sample) {
	t.Helper()
	if rejected, err := s.Ingest(context.Background(), "test", samples, journal.Buffered); err != nil || len(rejected) > 0 {
		t.Fatal(rejected, err)
	}
}

func isEqual(name, value string) *Matcher {
	return labels.MustNewMatcher(labels.MatchEqual, name, value)
}

// Random numbers in series that come while limits come and go, with heads that end: what is notified is what a model notifies that
// looks at every sample.
func TestWatchAgainstModel(t *testing.T) {
	for seed := range uint64(40) {
		random := rand.New(rand.NewPCG(seed, 7))
		s := openStore(t, testOptions(vfs.NewMemory()))
		limits := func() (list []Limit) {
			for range 1 + random.IntN(12) {
				matchers := []*Matcher{isEqual(NameLabel, "load")}
				switch random.IntN(4) {
				case 0:
					matchers = append(matchers, isEqual("host", fmt.Sprint(random.IntN(8))))
				case 1:
					matchers = append(matchers, labels.MustNewMatcher(labels.MatchRegexp, "host", "[0-3]"))
				case 2:
					matchers = append(matchers[:0], labels.MustNewMatcher(labels.MatchNotEqual, "host", "5"))
				}
				list = append(list, Limit{matchers, float64(random.IntN(10)), random.IntN(2) == 0})
			}
			return list
		}
		var watchings []*Watching
		last, latest, inHead := map[int]float64{}, map[int]int64{}, map[int]bool{}
		for step := range 300 {
			switch random.IntN(30) {
			case 0:
				watchings = append(watchings, s.Watch(limits()))
			case 1:
				if len(watchings) > 0 {
					i := random.IntN(len(watchings))
					watchings[i].Close()
					watchings[i].Close()
					watchings = slices.Delete(watchings, i, i+1)
				}
			case 2:
				if _, err := s.Flush(); err != nil {
					t.Fatal(err)
				}
				clear(inHead)
			}
			host, value := random.IntN(8), float64(random.IntN(10))
			if random.IntN(10) == 0 {
				value = math.NaN()
			}
			at := start.UnixMilli() - 100_000 + int64(step)*100
			if random.IntN(10) == 0 {
				at -= 5000 // late
			}
			newest := latest[host] < at || !inHead[host]
			ingest(t, s, Sample{Key: key(t, "load", "host", fmt.Sprint(host)), Time: at, Value: value, Kind: Gauge})
			for _, w := range watchings {
				var want []int
				for i := range w.limits {
					own := []Label{{NameLabel, "load"}, {"host", fmt.Sprint(host)}}
					before, known := last[host]
					if !known || !inHead[host] {
						before = math.NaN()
					}
					if newest && matchAll(w.limits[i].Matchers, own) && w.limits[i].beyond(value) && !w.limits[i].beyond(before) {
						want = append(want, i)
					}
				}
				rung := len(w.Bell) > 0
				got := w.Take()
				if rung {
					<-w.Bell
				}
				if slices.Sort(got); !slices.Equal(got, want) || rung != (len(want) > 0) {
					t.Fatalf("seed %d, step %d: told %v (bell %v), want %v", seed, step, got, rung, want)
				}
			}
			if newest {
				last[host], latest[host], inHead[host] = value, at, true
			}
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// A limit of more series than a rule may have is not watched, and those that are go on.
func TestWatchTooMany(t *testing.T) {
	s := openStore(t, Options{FS: vfs.NewMemory()})
	defer s.Close()
	at := s.options.Now().UnixMilli()
	var many []Sample
	for i := range maxLimitSeries + 1 {
		many = append(many, Sample{Key: key(t, "many", "n", fmt.Sprint(i)), Time: at, Value: 1, Kind: Gauge})
	}
	ingest(t, s, many...)
	w := s.Watch([]Limit{{Matchers: []*Matcher{isEqual(NameLabel, "many")}, Value: 5}, {Matchers: []*Matcher{isEqual(NameLabel, "few")}, Value: 5}})
	defer w.Close()
	ingest(t, s, Sample{Key: many[0].Key, Time: at + 1, Value: 9, Kind: Gauge},
		Sample{Key: key(t, "few", "n", "1"), Time: at, Value: 9, Kind: Gauge})
	if got := w.Take(); !slices.Equal(got, []int{1}) {
		t.Errorf("told %v", got)
	}
}

// What is watched costs nothing once nobody watches it any more.
func TestWatchLeavesNothing(t *testing.T) {
	s := openStore(t, Options{FS: vfs.NewMemory()})
	defer s.Close()
	at := s.options.Now().UnixMilli()
	one := Sample{Key: key(t, "load"), Time: at, Value: 1, Kind: Gauge}
	ingest(t, s, one)
	s.Watch([]Limit{{Matchers: []*Matcher{isEqual(NameLabel, "load")}, Value: 5}}).Close()
	if s.live.limits != nil || s.live.series[0].limits != 0 || s.live.concerned != nil {
		t.Error("it is still watched")
	}
	one.Time, one.Value = at+1, 9
	ingest(t, s, one)
}
