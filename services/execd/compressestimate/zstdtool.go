package compressestimate

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"
)

// zstd's levels are those of libzstd, which OpenZFS has in it, by the command zstd: other implementations have other
// levels, and differ by a tenth and more in what they make of a block. Blocks are files of a private folder in the
// meantime; a run of the command takes all of a level's. Where there is no such command the levels are left out.

// zstdLevels are those that are tried, each on so many blocks of a batch at most: the dear ones on fewer.
var zstdLevels = []struct{ level, most int }{{1, zstdBatch}, {3, zstdBatch}, {6, zstdBatch / 2}, {9, zstdBatch / 4}, {19, zstdBatch / 16}}

const (
	// ZFS writes its own header before each block that zstd compressed (zfs_zstdhdr_t), and leaves out the magic number
	// of zstd's frame.
	zstdHeader = 8
	zstdMagic  = 4
	// zstdBatch is how many blocks one run takes: as many arguments as any system lets through.
	zstdBatch = 512
)

// zstdTool collects blocks and has them compressed. Not for several goroutines.
type zstdTool struct {
	path   string // of the command; empty: there is none
	dir    string
	blocks []int // the lengths of those that wait, in files named by their numbers
	totals []zstdTotal
}

type zstdTotal struct{ before, after, elapsed int64 }

// newZstdTool finds the command. close removes what it left.
func newZstdTool() (*zstdTool, error) {
	z := &zstdTool{totals: make([]zstdTotal, len(zstdLevels))}
	path, err := exec.LookPath("zstd")
	if err != nil {
		return z, nil
	}
	z.path = path
	z.dir, err = os.MkdirTemp("", "cistern-estimate-")
	return z, err
}

func (z *zstdTool) close() {
	if z.dir != "" {
		_ = os.RemoveAll(z.dir)
	}
}

func (z *zstdTool) name(i int) string { return filepath.Join(z.dir, strconv.Itoa(i)) }

// add takes a block, which it copies.
func (z *zstdTool) add(ctx context.Context, block []byte) error {
	if z.path == "" {
		return nil
	}
	if err := os.WriteFile(z.name(len(z.blocks)), block, 0o600); err != nil {
		return err
	}
	z.blocks = append(z.blocks, len(block))
	if len(z.blocks) == zstdBatch {
		return z.run(ctx)
	}
	return nil
}

// run compresses what waits, at all levels.
func (z *zstdTool) run(ctx context.Context) error {
	for i, l := range zstdLevels {
		names, before := []string{}, int64(0)
		var taken []int
		for block, length := range z.blocks {
			// Evenly over the batch.
			if n := len(z.blocks); n <= l.most || block*l.most/n != (block-1)*l.most/n {
				names, taken = append(names, z.name(block)), append(taken, block)
				before += int64(length)
			}
		}
		if len(names) == 0 {
			continue
		}
		arguments := append([]string{"-q", "-f", "--no-check", "--single-thread", "-" + strconv.Itoa(l.level), "--"}, names...)
		command := exec.CommandContext(ctx, z.path, arguments...)
		begun := time.Now()
		if out, err := command.CombinedOutput(); err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return fmt.Errorf("zstd -%d: %w: %.300s", l.level, err, out)
		}
		t := &z.totals[i]
		t.before += before
		t.elapsed += time.Since(begun).Nanoseconds()
		for _, block := range taken {
			file, err := os.Stat(z.name(block) + ".zst")
			if err != nil {
				return err
			}
			t.after += int64(stored(z.blocks[block], int(file.Size())-zstdMagic+zstdHeader))
		}
	}
	z.blocks = z.blocks[:0]
	return nil
}

// levels is what came out.
func (z *zstdTool) levels() []Level {
	if z.path == "" {
		return nil
	}
	var all []Level
	for i, l := range zstdLevels {
		found := Level{Compression: fmt.Sprintf("zstd-%d", l.level), Ratio: 1}
		if t := z.totals[i]; t.before > 0 {
			found.Ratio = float64(t.before) / float64(t.after)
			found.NanosecondsPerByte = float64(t.elapsed) / float64(t.before)
		}
		all = append(all, found)
	}
	return all
}
