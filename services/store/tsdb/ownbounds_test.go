package tsdb

import (
	"math"
	"reflect"
	"slices"
	"testing"

	"cistern/services/histogram"

	promhistogram "github.com/prometheus/prometheus/model/histogram"
)

// A histogram with the bounds of Cistern's bins is small as a row, and comes back with the same bounds; one with others, even if
// they differ in one, has them in the row.
func TestRowsOfCisternsBins(t *testing.T) {
	one := func(bounds []float64) *nativeHistogram {
		return &nativeHistogram{Schema: promhistogram.CustomBucketsSchema, CounterResetHint: promhistogram.GaugeType, CustomValues: bounds,
			Count: 3, Sum: 1.5, PositiveSpans: []promhistogram.Span{{Offset: 100, Length: 2}}, PositiveBuckets: []float64{1, 2}}
	}
	other := slices.Clone(histogram.UsualBounds())
	other[len(other)-1] = math.Nextafter(other[len(other)-1], math.Inf(1))
	for _, c := range []struct {
		name   string
		bounds []float64
		most   int
	}{
		{"usual", histogram.UsualBounds(), 60},
		{"all", histogram.AllBounds(), 60},
		{"a copy", slices.Clone(histogram.UsualBounds()), 60},
		{"another", other, 1 << 20},
		{"few", []float64{1, 2, 3}, 100},
		{"none", nil, 60},
	} {
		row := appendNativeRow(nil, one(c.bounds))
		if len(row) > c.most {
			t.Errorf("%s: %d bytes", c.name, len(row))
		}
		if got := standalone(row); !reflect.DeepEqual(got, one(c.bounds)) {
			t.Errorf("%s: %v", c.name, got)
		}
		for cut := range min(len(row), 70) {
			var m nativeMemory
			if m.read(&entryReader{rest: row[:cut]}) != nil {
				t.Errorf("%s: cut at %d it was read", c.name, cut)
			}
		}
	}
	row := appendNativeRow(nil, one(histogram.UsualBounds()))
	row[10] = 9 // no bounds that are known
	var m nativeMemory
	if m.read(&entryReader{rest: row}) != nil {
		t.Error("unknown bounds were read")
	}
}
