package encoding

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// Every word is read as what was written, and so is every escape; the words leave no gap.
func TestCodesAreWhole(t *testing.T) {
	for at := range codes {
		c := &codes[at]
		room := 0
		for _, word := range c.words {
			room += codeTable >> (word >> 12)
		}
		if room != codeTable {
			t.Errorf("code %d fills %d of %d", at, room, codeTable)
		}
		for n := range c.numbers + 2 {
			for k := range uint(maxHalf + 1) {
				values := []uint64{n, 1 << k, n<<k | 1, 0, math.MaxUint64}
				if k == 0 {
					values[2] = n
				}
				out := bitWriter{}
				c.write(&out, values, k)
				cost := c.cost(values, k)
				bytes := out.finish()
				r := bitReader{src: bytes}
				got := make([]uint64, len(values))
				if c.read(&r, got, len(got), k); !slices.Equal(got, values) || r.at != uint(cost) || len(bytes) != (cost+7)/8 {
					t.Fatalf("code %d, k %d: %v became %v; %d bits, cost %d", at, k, values, got, r.at, cost)
				}
			}
		}
	}
}

// On numbers of the distribution that a code is made for it is close to the entropy, and the planner takes one that is.
func TestCodesAreNearTheEntropy(t *testing.T) {
	r := rand.New(rand.NewPCG(31, 32))
	for _, mean := range []float64{1, 2, 3, 5, 7, 10, 20, 40, 100, 1000, 10_000} {
		counts := make([]uint64, 512)
		entropy := 0.0 // of a normal distribution, or summed
		if mean < 20 {
			for k := range 100 {
				gamma, _ := math.Lgamma(float64(k) + 1)
				log := float64(k)*math.Log(mean) - mean - gamma
				entropy -= math.Exp(log) * log / math.Ln2
			}
		} else {
			entropy = math.Log2(2*math.Pi*math.E*mean) / 2
		}
		size, rounds := 0, 60
		for range rounds {
			for i := range counts {
				counts[i] = poisson(r, mean)
			}
			size += len(appendCounts(nil, counts, make([]uint64, len(counts))))
		}
		bits := 8 * float64(size) / float64(rounds*len(counts))
		t.Logf("mean %g: %.3f bits, entropy %.3f", mean, bits, entropy)
		if bits > entropy*1.02+0.1 {
			t.Errorf("mean %g: %.3f bits, entropy %.3f", mean, bits, entropy)
		}
	}
}

// A few numbers far from the rest must not make the rest dear.
func TestOutliersDoNotSpoilAGroup(t *testing.T) {
	r := rand.New(rand.NewPCG(33, 34))
	values := make([]uint64, groupSize)
	for i := range values {
		values[i] = r.Uint64N(16)
	}
	plain := len(appendGroup(nil, values, zigzags))
	values[5], values[77] = math.MaxUint64, 1<<50
	if spoilt := len(appendGroup(nil, values, zigzags)); spoilt > plain+35 {
		t.Errorf("%d bytes without outliers, %d with two", plain, spoilt)
	}
}
