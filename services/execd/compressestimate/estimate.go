// Package compressestimate tells how well data would compress in ZFS, and at what cost, by compressing samples of its
// own blocks the way ZFS does: each block by itself, in whole sectors, and as it is when that saves less than an
// eighth.
package compressestimate

import (
	"context"
	"math/rand/v2"
	"time"
)

// sector is that of ashift 12, which every pool of ours has.
const sector = 4096

// Level is what one compression makes of the samples.
type Level struct {
	Compression        string  `json:"compression"`
	Ratio              float64 `json:"ratio"`
	NanosecondsPerByte float64 `json:"nanosecondsPerByte"` // of one core, on this machine
}

// Result is an estimate. Holes are blocks of zeros: they are not stored at all, and count for nothing.
type Result struct {
	SampledBytes  int64   `json:"sampledBytes"`
	SampledBlocks int     `json:"sampledBlocks"`
	Holes         int     `json:"holes"`
	BlockBytes    int     `json:"blockBytes"`
	Levels        []Level `json:"levels"`
}

// Source is what is sampled.
type Source interface {
	// Sample calls use with up to n blocks, each as ZFS stores it: all that a small file has, in units of 512 bytes, and
	// whole blocks of a larger one, with zeros behind its end. The slice is only good during the call.
	Sample(ctx context.Context, n int, random *rand.Rand, use func(block []byte) error) error
	BlockBytes() int
}

// stored is how many bytes of disk ZFS takes for a block that compresses to so many.
func stored(block, compressed int) int {
	// ZFS gives a compressor room for seven eighths: what does not fit is stored as it is.
	if compressed > block-block>>3 {
		return block
	}
	return min(block, (compressed+sector-1)/sector*sector)
}

func zeros(block []byte) bool {
	for _, b := range block {
		if b != 0 {
			return false
		}
	}
	return true
}

// Slow levels are tried on one block of so many.
const slowShare = 4

// Estimate reads about so many bytes and tries all levels on them.
func Estimate(ctx context.Context, source Source, sampleBytes int64, random *rand.Rand) (Result, error) {
	result := Result{BlockBytes: source.BlockBytes()}
	type tally struct {
		compressor             compressor
		before, after, elapsed int64
	}
	tallies := make([]tally, len(levels))
	for i, l := range levels {
		tallies[i].compressor = l.make()
	}
	tool, err := newZstdTool()
	defer tool.close()
	if err != nil {
		return result, err
	}
	n := int(max(1, sampleBytes/int64(result.BlockBytes)))
	err = source.Sample(ctx, n, random, func(block []byte) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		result.SampledBlocks++
		result.SampledBytes += int64(len(block))
		if zeros(block) {
			result.Holes++
			return nil
		}
		for i, l := range levels {
			if l.slow && (result.SampledBlocks-result.Holes)%slowShare != 1 {
				continue
			}
			t := &tallies[i]
			begun := time.Now()
			size := t.compressor.size(block)
			t.elapsed += time.Since(begun).Nanoseconds()
			t.before += int64(len(block))
			t.after += int64(stored(len(block), size))
		}
		return tool.add(ctx, block)
	})
	if err == nil {
		err = tool.run(ctx)
	}
	if err != nil {
		return result, err
	}
	result.Levels = append(result.Levels, Level{Compression: "off", Ratio: 1})
	for i, l := range levels {
		t := tallies[i]
		found := Level{Compression: l.name, Ratio: 1}
		if t.before > 0 {
			found.Ratio = float64(t.before) / float64(t.after)
			found.NanosecondsPerByte = float64(t.elapsed) / float64(t.before)
		}
		result.Levels = append(result.Levels, found)
		if l.name == "lz4" {
			result.Levels = append(result.Levels, tool.levels()...)
		}
	}
	return result, nil
}
