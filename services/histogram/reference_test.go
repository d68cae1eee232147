package histogram

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/openhistogram/circonusllhist"
)

func ofReference(tb testing.TB, h *circonusllhist.Histogram) *Histogram {
	var text bytes.Buffer
	if err := h.Serialize(&text); err != nil {
		tb.Fatal(err)
	}
	back := &Histogram{}
	if rest, err := back.DecodeReference(text.Bytes()); err != nil || len(rest) > 0 {
		tb.Fatal(err, rest)
	}
	return back
}

// unmirrored is h without the negative bins that it also has with the other sign: the reference's Go library, unlike the
// one in C, takes the two for the same bin.
func unmirrored(h *Histogram) *Histogram {
	other := &Histogram{}
	for i, bin := range h.Bins {
		if _, mirrored := slices.BinarySearch(h.Bins, -bin); bin >= 0 || !mirrored {
			other.Add(bin, h.Counts[i])
		}
	}
	return other
}

func TestReferenceForms(t *testing.T) {
	r := rand.New(rand.NewPCG(31, 32))
	for range 1000 {
		h, theirs := unmirrored(randomHistogram(r, 200, true)), circonusllhist.New(circonusllhist.NoLocks())
		for _, i := range r.Perm(len(h.Bins)) {
			_ = theirs.RecordValues(h.Bins[i].Middle(), int64(h.Counts[i]))
		}
		if back := ofReference(t, theirs); !back.Equal(h) {
			t.Fatalf("%v, the reference has %v", h, back)
		}
		read, err := circonusllhist.Deserialize(bytes.NewReader(h.AppendReference(nil)))
		if err != nil || !ofReference(t, read).Equal(h) {
			t.Fatalf("the reference reads %v: %v", h, err)
		}
		var text bytes.Buffer
		if err := theirs.SerializeB64(&text); err != nil {
			t.Fatal(err)
		}
		back := &Histogram{}
		if err := back.ParseBase64(text.String()); err != nil || !back.Equal(h) {
			t.Fatalf("%s gives %v, %v", &text, back, err)
		}
		var decoded circonusllhist.Histogram
		quoted, _ := json.Marshal(h.Base64())
		if err := json.Unmarshal(quoted, &decoded); err != nil || !ofReference(t, &decoded).Equal(h) {
			t.Fatalf("the reference reads %s: %v", quoted, err)
		}
		list := theirs.DecStrings()
		if ours := h.Strings(); !equalAsSets(ours, list) {
			t.Fatalf("%v, the reference writes %v", ours, list)
		}
		r.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
		if err := back.ParseText(strings.Join(list, ", ")); err != nil || !back.Equal(h) {
			t.Fatalf("%v gives %v, %v", list, back, err)
		}
		own, _ := h.AppendText(nil)
		if err := back.ParseText(string(own)); err != nil || !back.Equal(h) {
			t.Fatalf("%s gives %v, %v", own, back, err)
		}
	}
	// All bins; only the C library and this one read so many.
	h := &Histogram{}
	for bin := -MaxBin; bin <= MaxBin; bin++ {
		h.Add(bin, math.MaxUint64)
	}
	back := &Histogram{}
	if err := back.ParseBase64(h.Base64()); err != nil || !back.Equal(h) {
		t.Fatal(err)
	}
	text, _ := h.AppendText(nil)
	if err := back.ParseText(string(text)); err != nil || !back.Equal(h) {
		t.Fatal(err)
	}
}

func equalAsSets(a, b []string) bool {
	a, b = slices.Clone(a), slices.Clone(b)
	slices.Sort(a)
	slices.Sort(b)
	return slices.Equal(a, b)
}

func TestReferenceFormsAreStrict(t *testing.T) {
	for _, c := range []struct {
		why   string
		bytes []byte
	}{
		{"nothing", nil},
		{"half a header", []byte{0}},
		{"fewer bins than said", []byte{0, 2, 12, 0, 0, 1}},
		{"half a count", []byte{0, 1, 12, 0, 3, 1, 1}},
		{"nine bytes", []byte{0, 1, 12, 0, 8, 1, 1, 1, 1, 1, 1, 1, 1, 1}},
		{"NaN", []byte{0, 1, 0xff, 0, 0, 1}},
		{"one digit", []byte{0, 1, 5, 0, 0, 1}},
		{"three digits", []byte{0, 1, 100, 0, 0, 1}},
		{"zero with an exponent", []byte{0, 1, 0, 3, 0, 1}},
		{"no values", []byte{0, 1, 12, 0, 0, 0}},
	} {
		h := &Histogram{}
		h.Add(5, 5)
		if _, err := h.DecodeReference(c.bytes); err == nil || len(h.Bins) != 0 {
			t.Errorf("%s: %v", c.why, h)
		}
		if err := h.ParseBase64(base64.StdEncoding.EncodeToString(c.bytes)); err == nil {
			t.Errorf("%s in base64: %v", c.why, h)
		}
	}
	for _, text := range []string{"AAEMAAAB=", "AAEMAAA", "AAEMAAABAA==", "AAEM\nAAAB", "AAEM AAAB", strings.Repeat("A", 1<<20)} {
		if err := new(Histogram).ParseBase64(text); err == nil {
			t.Errorf("%.20q is taken", text)
		}
	}
	h := &Histogram{}
	if err := h.ParseText("H[1.2e-3]=4;H[0.00125]=1 \nH[-5]=2,H[0]=0"); err != nil || !slices.Equal(h.Strings(), []string{"H[-5.0e+00]=2", "H[1.2e-03]=5"}) {
		t.Errorf("%v, %v", h.Strings(), err)
	}
	for _, text := range []string{"H[1.2e-3]", "H[1.2e-3]=", "H[]=1", "H[1]=-1", "H[1]=+1", "H[1]=1.5", "H[nan]=1", "H[Inf]=1", "H[0x10]=1",
		"H[1e999]=1", "H[1e130]=1", "H[1_0]=1", "h[1]=1", "[1]=1", "1", "H[1]=18446744073709551616", "H[1]=1H[2]=1", "H[1-2]=1", strings.Repeat(" ", 5<<20)} {
		if err := h.ParseText(text); err == nil || len(h.Bins) > 0 {
			t.Errorf("%.20q is %v", text, h)
		}
	}
}

func FuzzDecodeReference(f *testing.F) {
	h := &Histogram{}
	for _, v := range []float64{-3, 0, 0.0012, 55, 1e99} {
		_ = h.Insert(v, 300)
	}
	f.Add(h.AppendReference(nil))
	f.Add([]byte{0, 2, 12, 0, 0, 1, 0xf4, 0, 1, 1, 0})
	f.Add([]byte{0, 1, 12, 0, 7, 1, 1, 1, 1, 1, 1, 1, 1})
	f.Fuzz(func(t *testing.T, data []byte) {
		h := &Histogram{}
		rest, err := h.DecodeReference(data)
		if err != nil {
			return
		}
		check(t, h)
		again := &Histogram{}
		if left, err := again.DecodeReference(h.AppendReference(nil)); err != nil || len(left) > 0 || !again.Equal(h) {
			t.Fatalf("%v became %v: %v", h, again, err)
		}
		// What is taken here, the reference takes and understands likewise; of eight bytes it reads a ninth, and panics.
		for bin := data[2 : len(data)-len(rest)]; len(bin) > 0; bin = bin[4+bin[2]:] {
			if bin[2] == 7 {
				return
			}
		}
		theirs, err := circonusllhist.Deserialize(bytes.NewReader(data[:len(data)-len(rest)]))
		if err != nil {
			t.Fatal(err)
		}
		if slices.Max(append(h.Counts, 0)) < 1<<55 && data[0] < 0x80 && unmirrored(h).Equal(h) { // beyond, its sums wrap; it reads 32,767 bins
			if got := ofReference(t, theirs); !got.Equal(h) {
				t.Fatalf("%v, the reference has %v", h, got)
			}
		}
	})
}

func FuzzParseText(f *testing.F) {
	f.Add("H[1.2e-3]=4,H[0]=1 H[-1e127]=18446744073709551615")
	f.Add("H[1.2e-03]=4;H[1.2e-03]=4")
	f.Fuzz(func(t *testing.T, text string) {
		h := &Histogram{}
		if h.ParseText(text) != nil {
			return
		}
		check(t, h)
		own, _ := h.AppendText(nil)
		back := &Histogram{}
		if err := back.ParseText(string(own)); err != nil || !back.Equal(h) {
			t.Fatalf("%s gives %v, %v", own, back, err)
		}
	})
}

func FuzzParseBase64(f *testing.F) {
	f.Add("AAEMAAAB")
	f.Fuzz(func(t *testing.T, text string) {
		h := &Histogram{}
		if h.ParseBase64(text) != nil {
			return
		}
		check(t, h)
		if err := new(Histogram).ParseBase64(h.Base64()); err != nil {
			t.Fatal(err)
		}
	})
}

func check(t *testing.T, h *Histogram) {
	for i, bin := range h.Bins {
		if !bin.Valid() || h.Counts[i] == 0 || i > 0 && h.Bins[i-1] >= bin {
			t.Fatalf("%v is no histogram", h)
		}
	}
}

// A round trip through the reference's own text, and its quantiles. The reference's C library would be a second one to
// compare with, but it could not be had here: PyPI's circllhist is a binding that needs it installed, and Debian packages none.
// Quantiles are compared of histograms without negative values: the Go library does not order negative bins.
func TestReferenceAgrees(t *testing.T) {
	r := rand.New(rand.NewPCG(33, 34))
	quantiles := []float64{0, 0.1, 0.5, 0.9, 0.99, 1}
	for n := range 600 {
		negative := n%2 == 0
		h := unmirrored(randomHistogram(r, 200, negative))
		read, err := circonusllhist.Deserialize(base64.NewDecoder(base64.StdEncoding, strings.NewReader(h.Base64())))
		if err != nil {
			t.Fatalf("the reference reads %s: %v", h.Base64(), err)
		}
		var text bytes.Buffer
		if err := read.SerializeB64(&text); err != nil {
			t.Fatal(err)
		}
		back := &Histogram{}
		if err := back.ParseBase64(text.String()); err != nil || !back.Equal(h) || read.Count() != h.Count() {
			t.Fatalf("%s became %s, %d samples of %d: %v", h.Base64(), text.String(), read.Count(), h.Count(), err)
		}
		if negative {
			continue
		}
		theirs, err := read.ApproxQuantile(quantiles)
		if err != nil {
			t.Fatal(err)
		}
		for k, got := range h.Quantiles(quantiles...) {
			if math.Abs(got-theirs[k]) > 1e-9*math.Abs(got) {
				t.Fatalf("quantile %g of %v: %g, the reference says %g", quantiles[k], h, got, theirs[k])
			}
		}
	}
}
