package main

// The machine's figures as series of the store.

import (
	"cistern/services/platform/hoststats"
	"cistern/services/store/tsdb"
)

// seriesKeys are the keys of series that are written every second, so that each is made once.
type seriesKeys map[string][]byte

// host appends the machine's readings to samples, at time ms.
func (k seriesKeys) host(samples []tsdb.Sample, readings []hoststats.Reading, ms int64) []tsdb.Sample {
	for _, r := range readings {
		labels := make([]tsdb.Label, len(r.Labels))
		for i, l := range r.Labels {
			labels[i] = tsdb.Label(l)
		}
		kind := tsdb.Gauge
		if r.Kind == hoststats.Counter {
			kind = tsdb.Counter
		}
		samples = k.sample(samples, r.Name, labels, kind, ms, r.Value)
	}
	return samples
}

// sample appends one; a series with a label that no key can contain is left out.
func (k seriesKeys) sample(samples []tsdb.Sample, name string, labels []tsdb.Label, kind tsdb.Kind, ms int64, value float64) []tsdb.Sample {
	id := name
	for _, l := range labels {
		id += "\x00" + l.Name + "\x00" + l.Value
	}
	key := k[id]
	if key == nil {
		made, err := tsdb.AppendKey(nil, append([]tsdb.Label{{Name: tsdb.NameLabel, Value: name}}, labels...))
		if err != nil {
			return samples
		}
		if len(k) > 10_000 { // devices that come and go
			clear(k)
		}
		key, k[id] = made, made
	}
	return append(samples, tsdb.Sample{Key: key, Kind: kind, Time: ms, Value: value})
}
