// Package encoding is the compressed form of a run of samples of one series, in memory and in blocks. Runs are from some
// tens to some thousand samples; one is decoded as a whole.
//
// Whatever is stored ends as whole numbers that are small most of the time, in groups: see group.go for their layout,
// numbers.go for that of runs of numbers, histograms.go for that of runs of histograms. The encoder takes for each group
// what is shortest; on counts and on differences that chance made it comes within a few hundredths of a bit of the
// entropy, see the benchmarks.
//
// Varints and uvarints are those of encoding/binary.
package encoding

import "errors"

// MaxRun is the most samples of a run.
const MaxRun = 1 << 16

// ErrDamaged is what bytes that no run encodes to are refused with.
var ErrDamaged = errors.New("these bytes are not a column")
