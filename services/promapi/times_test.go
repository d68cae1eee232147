package promapi

import (
	"fmt"
	"strings"
	"testing"
)

// A distribution of all time is one window, however far away its ends are: a time.Duration is 292 years at most.
func TestDistributionOfAllTime(t *testing.T) {
	f := newFixture(t)
	f.latency(t)
	for _, start := range []string{"-99999999999", "-9000000000", "0"} {
		for _, end := range []string{"99999999999", fmt.Sprint(began.Unix() + 100)} {
			got := f.body(t, "/api/v1/histogram/distribution", "query", "latency", "start", start, "end", end)
			if !strings.Contains(got, `"count":16,`) {
				t.Errorf("from %s to %s: %s", start, end, got)
			}
		}
	}
}
