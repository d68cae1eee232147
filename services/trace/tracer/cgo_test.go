//go:build linux && cgo

package tracer

func init() { withCgo = true }
