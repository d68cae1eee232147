package histogram

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/openhistogram/circonusllhist"
)

// nearBound says whether a value lies so near below a bound that the reference allows it to be a rounding error.
func nearBound(v float64) bool {
	bin, ok := BinOf(v)
	if !ok || bin == 0 {
		return true
	}
	if bin < 0 {
		bin = -bin
	}
	bound := lower[bin+1]
	return (bound-math.Abs(v))/bound < 2e-14
}

// referenceBin is the bin that the reference counts a value in.
func referenceBin(t *testing.T, v float64) Bin {
	reference := circonusllhist.New(circonusllhist.NoLocks(), circonusllhist.NoLookup(), circonusllhist.Size(0))
	if err := reference.RecordValue(v); err != nil {
		t.Fatal(err)
	}
	h := &Histogram{}
	if err := h.ParseText(reference.DecStrings()[0]); err != nil || len(h.Bins) != 1 {
		t.Fatalf("%v: %v", reference.DecStrings(), err)
	}
	return h.Bins[0]
}

// Each value is counted in the bin of the reference, except where that allows for its rounding errors.
func TestBinsAreTheReferences(t *testing.T) {
	r := rand.New(rand.NewPCG(21, 22))
	checked, differ := 0, 0
	check := func(v float64) {
		bin, ok := BinOf(v)
		if !ok || math.Abs(v) < 1e-126 || math.Abs(v) > 1e126 {
			return // at the ends its power of ten rolls over
		}
		checked++
		if want := referenceBin(t, v); bin != want {
			differ++
			if !nearBound(v) {
				t.Fatalf("%v is in %s, the reference has it in %s", v, bin, want)
			}
		}
	}
	for range 100_000 {
		v := math.Pow(10, r.Float64()*252-126)
		if r.IntN(3) == 0 {
			v = -v
		}
		check(v)
	}
	for i := Bin(1); i <= MaxBin; i++ { // decimal numbers of two digits are what people measure
		check(lower[i])
		check(lower[i] * (1 - 1e-12))
		check(math.Nextafter(lower[i], 0))
		check(math.Nextafter(lower[i], math.Inf(1)))
	}
	for range 20_000 {
		v, _ := strconv.ParseFloat(fmt.Sprintf("%d.%03de%d", r.IntN(1000), r.IntN(1000), r.IntN(12)-9), 64)
		check(v)
	}
	t.Logf("%d values, %d in another bin, all within 2e-14 below a bound", checked, differ)
}

func TestCellsHaveOneBoundAtMost(t *testing.T) {
	for i := 1; i <= int(MaxBin); i++ {
		if bounds[i]>>cellShift == bounds[i+1]>>cellShift {
			t.Fatalf("the bounds %g and %g share a cell", lower[i], lower[i+1])
		}
	}
}

func TestReferenceForms(t *testing.T) {
	r := rand.New(rand.NewPCG(23, 24))
	for range 300 {
		ours, reference := &Histogram{}, circonusllhist.New(circonusllhist.NoLocks())
		sign := float64(1 - 2*r.IntN(2)) // the reference takes a bin and its negative for one
		for range r.IntN(60) {
			v := math.Pow(10, r.Float64()*200-100) * sign * float64(min(1, r.IntN(4)))
			if bin, _ := BinOf(v); bin != 0 {
				v = bin.Middle()
			}
			n := 1 + r.Int64N(1<<r.IntN(55)) // the reference panics when it reads a count of eight bytes
			_ = ours.Insert(v, uint64(n))
			_ = reference.RecordValues(v, n)
		}
		// Theirs to ours.
		var theirs, base64 bytes.Buffer
		if err := reference.Serialize(&theirs); err != nil {
			t.Fatal(err)
		}
		_ = reference.SerializeB64(&base64)
		back := &Histogram{}
		if rest, err := back.DecodeReference(append(theirs.Bytes(), 9)); err != nil || len(rest) != 1 || !back.Equal(ours) {
			t.Fatalf("%v: %v, want %v", err, back, ours)
		}
		if err := back.ParseBase64(base64.String()); err != nil || !back.Equal(ours) {
			t.Fatalf("%v: %v, want %v", err, back, ours)
		}
		if err := back.ParseText(strings.Join(reference.DecStrings(), ", ")); err != nil || !back.Equal(ours) {
			t.Fatalf("%v: %v, want %v", err, back, ours)
		}
		if text, err := json.Marshal(reference); err != nil || json.Unmarshal(text, back) != nil || !back.Equal(ours) {
			t.Fatalf("%v: %v, want %v", err, back, ours)
		}
		// Ours to theirs.
		binary, err := ours.AppendReference(nil)
		if err != nil {
			t.Fatal(err)
		}
		if theirs, err := circonusllhist.Deserialize(bytes.NewReader(binary)); err != nil || !theirs.Equals(reference) {
			t.Fatalf("%v: the reference reads %v, want %v", err, theirs.DecStrings(), reference.DecStrings())
		}
		text, _ := ours.MarshalText()
		if err := back.UnmarshalText(text); err != nil || !back.Equal(ours) {
			t.Fatalf("%v: %s", err, text)
		}
	}
	h := &Histogram{}
	_ = h.Insert(1.2e-3, 4)
	_ = h.Insert(-0.55, 1)
	_ = h.Insert(0, 2)
	if text, _ := h.MarshalText(); string(text) != "H[-5.5e-01]=1,H[0.0e+00]=2,H[1.2e-03]=4" {
		t.Errorf("%s", text)
	}
	if err := h.ParseText("H[1.2e-3]=4\nH[0.00129]=1"); err != nil || h.Count() != 5 || len(h.Bins) != 1 {
		t.Errorf("%v: %v", err, h)
	}
	for _, bad := range []string{"H[1.2e-3]", "1.2e-3=4", "H[x]=4", "H[NaN]=4", "H[1]=-4", "H[1e400]=1", "H[1]=99999999999999999999"} {
		if err := h.ParseText(bad); err == nil || len(h.Bins) > 0 {
			t.Errorf("%s: %v, %v", bad, h, err)
		}
	}
	// A value that was no number is left out.
	if _, err := h.DecodeReference([]byte{0, 2, 0xff, 0, 0, 7, 10, 0, 0, 3}); err != nil || h.Count() != 3 {
		t.Errorf("%v: %v", err, h)
	}
}

func FuzzReference(f *testing.F) {
	h := &Histogram{}
	for _, v := range []float64{-3, 0, 0.0012, 55, 1e99} {
		_ = h.Insert(v, 300)
	}
	binary, _ := h.AppendReference(nil)
	f.Add(binary)
	f.Add([]byte("H[1.2e-3]=4,H[0]=2"))
	f.Fuzz(func(t *testing.T, data []byte) {
		h, back := &Histogram{}, &Histogram{}
		if _, err := h.DecodeReference(data); err == nil {
			binary, err := h.AppendReference(nil)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := back.DecodeReference(binary); err != nil || !back.Equal(h) {
				t.Fatalf("%v became %v: %v", h, back, err)
			}
		}
		if h.ParseText(string(data)) == nil {
			text, _ := h.MarshalText()
			if err := back.UnmarshalText(text); err != nil || !back.Equal(h) {
				t.Fatalf("%v became %v: %v", h, back, err)
			}
		}
	})
}

// The C library by its Python module, where both are there. To have them: libcircllhist.so from libcircllhist's sources,
// and in ~/.cache/cistern: python3 -m venv venv-circllhist; venv-circllhist/bin/pip install circllhist.
func TestThePythonReference(t *testing.T) {
	home, _ := os.UserHomeDir()
	python := filepath.Join(home, ".cache/cistern/venv-circllhist/bin/python")
	if out, err := exec.Command(python, "-c", "import circllhist").CombinedOutput(); err != nil {
		t.Skipf("the C library's Python module does not run here: %v: %s", err, lastLine(out))
	}
	r := rand.New(rand.NewPCG(25, 26))
	ours := &Histogram{}
	for range 5000 {
		v := math.Exp(3*r.NormFloat64()) * float64(r.IntN(4)-1)
		if !nearBound(v) || v == 0 {
			_ = ours.Insert(v, 1)
		}
	}
	base64, _ := ours.Base64()
	out, err := exec.Command(python, "-c", `
import sys
from circllhist import Circllhist
h = Circllhist.from_b64(sys.argv[1])
print(h.count(), repr(h.mean()), repr(h.stddev()), *[repr(h.quantile(q)) for q in (0, .1, .5, .9, .99, 1)])
print(h.to_b64())`, base64).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	fields := strings.Fields(string(out))
	want := append([]float64{float64(ours.Count()), ours.Mean(), ours.StdDev()}, ours.Quantiles(0, .1, .5, .9, .99, 1)...)
	for i, w := range want {
		if got, err := strconv.ParseFloat(fields[i], 64); err != nil || math.Abs(got-w) > 1e-9*math.Abs(w) {
			t.Errorf("field %d: the C library says %s, we %g", i, fields[i], w)
		}
	}
	back := &Histogram{}
	if err := back.ParseBase64(strings.Trim(fields[len(want)], "b'")); err != nil || !back.Equal(ours) {
		t.Errorf("%v: %v", err, back)
	}
}

func lastLine(out []byte) string {
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	return lines[len(lines)-1]
}
