package main

import (
	"testing"

	"cistern/services/platform/hoststats"
	"cistern/services/store/tsdb"
)

// The machine's readings arrive with their names, labels, kinds and time; one that no key can contain is left out.
func TestHostSamples(t *testing.T) {
	keys := seriesKeys{}
	readings := []hoststats.Reading{
		{Name: "cistern_host_load", Labels: []hoststats.Label{{Name: "minutes", Value: "5"}}, Kind: hoststats.Gauge, Value: 1.5},
		{Name: "cistern_host_disk_bytes_total", Labels: []hoststats.Label{{Name: "disk", Value: "vda"}}, Kind: hoststats.Counter, Value: 7},
		{Name: "cistern_host_load", Labels: []hoststats.Label{{Name: "minutes", Value: "\xff"}}, Kind: hoststats.Gauge, Value: 1},
	}
	for range 2 { // the second time from the keys already made
		samples := keys.host(nil, readings, 1000)
		if len(samples) != 2 {
			t.Fatalf("%d samples, want 2", len(samples))
		}
		for i, want := range []struct {
			label string
			kind  tsdb.Kind
			value float64
		}{{"5", tsdb.Gauge, 1.5}, {"vda", tsdb.Counter, 7}} {
			got := samples[i]
			labels, err := tsdb.ParseKey(string(got.Key))
			if err != nil || len(labels) != 2 || labels[0].Value != readings[i].Name || labels[1].Value != want.label ||
				got.Kind != want.kind || got.Time != 1000 || got.Value != want.value {
				t.Errorf("%v %+v (%v)", labels, got, err)
			}
		}
	}
}
