//go:build !linux

package tracer

type sources = kstatSources

func newSources(config Config) *sources { return newKstatSources(config) }
