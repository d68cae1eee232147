package histogram

// The speeds that `./build.sh bench storaged` shows: it takes the first benchmark whose name begins with Insert, Merge,
// or holds Week, and leaves out those of the reference.

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/openhistogram/circonusllhist"
)

func logNormal(n int, seed uint64) []float64 {
	r := rand.New(rand.NewPCG(seed, seed+1))
	values := make([]float64, n)
	for i := range values {
		values[i] = math.Exp(r.NormFloat64()) * 0.01
	}
	return values
}

func BenchmarkInsert(b *testing.B) {
	values := logNormal(1024, 7)
	var a Accumulator
	for i := 0; b.Loop(); i++ {
		_ = a.Insert(values[i%1024], 1)
	}
}

func BenchmarkInsertReference(b *testing.B) {
	values := logNormal(1024, 7)
	h := circonusllhist.New(circonusllhist.NoLocks())
	for i := 0; b.Loop(); i++ {
		_ = h.RecordValue(values[i%1024])
	}
}

// The time is that of one value.
func BenchmarkInsertBulk(b *testing.B) {
	values := logNormal(1024, 7)
	var a Accumulator
	for left := b.N; left > 0; left -= len(values) {
		a.BulkInsert(values[:min(left, len(values))])
	}
}

func BenchmarkInsertWide(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 1))
	values := make([]float64, 1<<16)
	for i := range values {
		values[i] = math.Pow(10, r.Float64()*9-6)
	}
	var a Accumulator
	for i := 0; b.Loop(); i++ {
		_ = a.Insert(values[i%(1<<16)], 1)
	}
}

func BenchmarkMerge(b *testing.B) {
	all := make([]*Histogram, 64)
	for i := range all {
		all[i] = &Histogram{}
		for _, v := range logNormal(2000, uint64(100+i)) {
			_ = all[i].Insert(v, 1)
		}
	}
	sum := &Histogram{}
	for i := 0; b.Loop(); i++ {
		sum.Merge(all[i%64])
	}
}

func BenchmarkMergeReference(b *testing.B) {
	all := make([]*circonusllhist.Histogram, 64)
	for i := range all {
		all[i] = circonusllhist.New(circonusllhist.NoLocks())
		for _, v := range logNormal(2000, uint64(100+i)) {
			_ = all[i].RecordValue(v)
		}
	}
	sum := circonusllhist.New(circonusllhist.NoLocks())
	for i := 0; b.Loop(); i++ {
		sum.Merge(all[i%64])
	}
}

func BenchmarkDense(b *testing.B) {
	var h Histogram
	for _, v := range logNormal(20000, 5) {
		_ = h.Insert(v, 1)
	}
	b.Run("Merge", func(b *testing.B) {
		var d Dense
		for b.Loop() {
			d.Merge(&h)
		}
	})
	var d Dense
	d.Merge(&h)
	b.Run("MergeDense", func(b *testing.B) {
		var sum Dense
		for b.Loop() {
			sum.MergeDense(&d)
		}
	})
	b.Run("Quantiles", func(b *testing.B) {
		for b.Loop() {
			d.Quantiles(0.5, 0.9, 0.99)
		}
	})
	b.Run("CountAbove", func(b *testing.B) {
		for b.Loop() {
			d.CountAbove(0.02)
		}
	})
	b.Run("Modes", func(b *testing.B) {
		for b.Loop() {
			d.Modes(ModeOptions{})
		}
	})
}

// What a value costs whose sum is kept.
func BenchmarkRecordDecimal(b *testing.B) {
	values := logNormal(1024, 7)
	bins, wholes := make([]Bin, len(values)), make([]float64, len(values))
	for i, v := range values {
		wholes[i] = math.Round(v * 1e5)
		bins[i], _ = BinOf(wholes[i] / 1e5)
	}
	var a Accumulator
	for i := 0; b.Loop(); i++ {
		a.RecordDecimal(bins[i%1024], 1, wholes[i%1024], -5)
	}
}
