package tsdb

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"cistern/services/platform/vfs"

	"github.com/prometheus/prometheus/model/labels"
)

// Any matchers find the series that they match one by one, whether they are looked up, subtracted or looked at, in the head
// and in blocks.
func TestRandomMatchers(t *testing.T) {
	r := rand.New(rand.NewPCG(81, 82))
	values := []string{"", "a", "A", "ab", "AB", "aB", "abc", "b", "B", "ba", "é", "É", "a.b", "a|b", "^a$", "a\nb", "k", "K", "\u212a", "ſ", "s", "S"}
	patterns := []string{"", ".*", ".+", "a", "a|b", "a|", "|", "a.*", ".*b", ".*b.*", "^a$", "^(?:a)$", "(?i)a", "(?i)ab|b", "(?i:a)b", "(?i)k", "(?i)S|é", "[ab]", "[^a]", "[ab]+c?", "a(b|bc)",
		"a(?:b|)", `a\.b`, `\Qa|b\E`, "a.b", "(?s).*", "(?s)a.b", "a{1,2}b?", "é|É", "(a|b)(a|b)", "(?i)(a|ab).*", ".", "..", "a?", "(?i).*B", "a.+|b"}
	for _, n := range []int{300, 6000} {
		o := Options{FS: vfs.NewMemory(), Now: testOptions(nil).Now}
		s, err := Open("/s", o)
		if err != nil {
			t.Fatal(err)
		}
		var all [][]Label
		var batch []Sample
		for i := range n {
			set := []Label{{NameLabel, fmt.Sprint("m", i%3)}, {"i", fmt.Sprint(i)}}
			for _, name := range []string{"x", "y", "Z"} {
				if v := values[r.IntN(len(values))]; v != "" {
					set = append(set, Label{name, v})
				}
			}
			k, err := AppendKey(nil, slices.Clone(set)) // it sorts them
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, set)
			batch = append(batch, Sample{Key: k, Kind: Gauge, Time: start.UnixMilli(), Value: 1})
		}
		mustIngest(t, s, batch...)
		for _, where := range []string{"head", "block"} {
			for range 150 {
				var matchers []*Matcher
				for range 1 + r.IntN(3) {
					name := []string{"x", "y", "Z", "missing", NameLabel, "i"}[r.IntN(6)]
					kind := labels.MatchType(r.IntN(4))
					value := patterns[r.IntN(len(patterns))]
					if kind < labels.MatchRegexp {
						value = values[r.IntN(len(values))]
					}
					if name == NameLabel && r.IntN(2) == 0 {
						kind, value = labels.MatchEqual, "m1"
					}
					m, err := labels.NewMatcher(kind, name, value)
					if err != nil {
						t.Fatal(err)
					}
					matchers = append(matchers, m)
				}
				var want []string
				for _, set := range all {
					if (&deletion{matchers: matchers}).matches(set) {
						want = append(want, set[1].Value)
					}
				}
				sameKeys(t, s, 0, math.MaxInt64, matchers...)
				found, release, err := s.Select(t.Context(), 0, math.MaxInt64, matchers...)
				if err != nil {
					t.Fatal(err)
				}
				var got []string
				for _, one := range found {
					got = append(got, LabelOf(one.Key, "i"))
				}
				release()
				slices.Sort(want)
				slices.Sort(got)
				if !slices.Equal(got, want) {
					t.Errorf("%d series in the %s, %v: %d were found, want %d", n, where, matchers, len(got), len(want))
				}
			}
			mustFlush(t, s)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
