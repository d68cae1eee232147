package encoding

import (
	"math/rand/v2"
	"testing"

	"cistern/services/histogram"
)

// Sums of stretches of records are those of the records as they are decoded: for every way in which columns are written,
// with and without lengths of columns, with numbers behind escapes and stretches of any length. Damaged bytes are refused
// by both ways, or by none.
func TestSumsAreThoseOfTheRecords(t *testing.T) {
	r := rand.New(rand.NewPCG(31, 32))
	read := map[readingKind]int{}
	refused := 0
	var run, again HistogramRun
	for round := range 1500 {
		n := 1 + r.IntN(130)
		if r.IntN(3) == 0 {
			n = 100 + r.IntN(700)
		}
		times, hists := make([]int64, n), make([]histogram.Histogram, n)
		for i := range times {
			times[i] = int64(i) * 1000
		}
		for bin := range 1 + r.IntN(12) {
			column, mean, scale, shape := histogram.Bin(bin*(1+r.IntN(2))*(1+bin%3*40)-20), r.Float64()*10, 1<<r.IntN(18), r.IntN(6)
			for i := range hists {
				c := uint64(0)
				switch shape {
				case 0:
					c = poisson(r, mean)
				case 1:
					c = poisson(r, mean/40)
				case 2, 3: // about a mean, with any number of lower bits
					c = uint64(max(0, float64(40*scale)+float64(scale)*r.NormFloat64()*4))
				case 4:
					c = r.Uint64N(uint64(scale))
				case 5:
					c = 7
				}
				switch r.IntN(400) {
				case 0:
					c += 1000 // behind an escape
				case 1:
					c += 1 << 40
				case 2:
					if shape == 1 {
						c += 1 << 63
					}
				}
				if c > 0 {
					hists[i].Add(column, c)
				}
			}
		}
		bytes := AppendHistograms(nil, times, hists)
		if err := run.Open(bytes); err != nil {
			t.Fatal(err)
		}
		if n <= maxGroup {
			src := run.columns
			for k := range run.bins {
				at := src
				if len(run.ends) > 0 && k > 0 {
					at = run.columns[run.ends[k-1]:]
				}
				read[readings[at[0]].kind]++
				rest, _, err := run.next(k, src, run.column[:n])
				if err != nil {
					t.Fatal(err)
				}
				src = rest
			}
		}
		window, wants := make([]int, n), make([]histogram.Histogram, 5)
		longest := 1 + r.IntN(max(1, n/(1+r.IntN(9))))
		for i := 0; i < n; {
			w := r.IntN(6) - 1
			for range 1 + r.IntN(longest) {
				if i < n {
					if window[i] = w; w >= 0 {
						wants[w].Merge(&hists[i])
					}
					i++
				}
			}
		}
		into := make([]*histogram.Dense, len(wants))
		if err := run.AddWindows(window, into); err != nil {
			t.Fatal(err)
		}
		for w, want := range wants {
			if got := into[w]; got == nil && len(want.Bins) > 0 || got != nil && !got.Histogram().Equal(&want) {
				t.Fatalf("round %d, %d records, window %d: %v, want %v", round, n, w, got.Histogram(), want)
			}
		}
		// One bit is another.
		bad := append([]byte(nil), bytes...)
		bad[len(bad)-1-r.IntN(len(bad)/2+1)] ^= 1 << r.IntN(8)
		if again.Open(bad) != nil || again.Len() != n {
			continue
		}
		decoded, err := again.Decode(nil)
		if err != nil {
			refused++
		}
		var whole, want histogram.Dense
		if added := again.AddRange(0, n, &whole); (added == nil) != (err == nil) {
			t.Fatalf("round %d: %v, but %v", round, added, err)
		}
		for i := range decoded {
			want.Merge(&decoded[i])
		}
		if err == nil && !whole.Histogram().Equal(want.Histogram()) {
			t.Fatalf("round %d: %v, want %v", round, whole.Histogram(), want.Histogram())
		}
	}
	for kind := readCounts; kind <= readAbout; kind++ {
		if read[kind] < 20 {
			t.Errorf("only %d columns of kind %d", read[kind], kind)
		}
	}
	if refused < 20 {
		t.Errorf("only %d were refused", refused)
	}
}
