package prometheus

// From an appliance into blocks that a Prometheus opens.

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"time"

	"cistern/services/platform/vfs"
	"cistern/services/transfer"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/tsdb/chunks"
)

// Spans are how long blocks may be: those of Prometheus' own levels, so that it merges them further.
var Spans = []time.Duration{2 * time.Hour, 6 * time.Hour, 18 * time.Hour}

// Export writes the selection into a folder that is not there yet. It has its name when everything is in it.
func Export(ctx context.Context, a transfer.Appliance, s *transfer.Selection, folder string, span, patience time.Duration, screen *transfer.Screen) (sum Stats, err error) {
	if !slices.Contains(Spans, span) {
		return sum, fmt.Errorf("blocks are of %v, %v or %v, not of %v", Spans[0], Spans[1], Spans[2], span)
	}
	if _, err := os.Stat(folder); !errors.Is(err, fs.ErrNotExist) {
		return sum, errors.Join(fmt.Errorf("%s is there already: name a folder that is not", folder), err)
	}
	stretches, err := transfer.Stretches(ctx, a, s)
	if err != nil {
		return sum, err
	}
	part := folder + ".part"
	if err := os.RemoveAll(part); err != nil { // of an export that was killed
		return sum, err
	}
	if err := os.MkdirAll(part, 0o777); err != nil {
		return sum, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(part))
		}
	}()
	windows := cut(stretches, span.Milliseconds())
	for i, w := range windows {
		screen.Passing("%s of %s, %s samples", transfer.Number(int64(i)), transfer.Counted(int64(len(windows)), "block", "blocks"), transfer.Number(sum.NumSamples))
		from, to := max(w.From, s.From), min(w.To, s.To)
		err := transfer.Persist(ctx, patience, screen, func() error {
			one, err := window(ctx, a, s, part, from, to)
			if err == nil {
				sum.add(one)
			}
			return err
		})
		if err != nil {
			return sum, fmt.Errorf("the time from %s: %w", transfer.Day(from), err)
		}
	}
	if err := vfs.OS.Rename(part, folder); err != nil {
		return sum, err
	}
	return sum, nil
}

func (s *Stats) add(other Stats) {
	s.NumSamples += other.NumSamples
	s.NumFloatSamples += other.NumFloatSamples
	s.NumHistogramSamples += other.NumHistogramSamples
	s.NumSeries = max(s.NumSeries, other.NumSeries)
	s.NumChunks += other.NumChunks
}

// cut is the windows of a width in which there is something, in the order of time.
func cut(stretches []transfer.Stretch, width int64) []transfer.Stretch {
	seen := map[int64]bool{}
	var all []transfer.Stretch
	for _, one := range stretches {
		from := one.From / width * width
		if from > one.From {
			from -= width
		}
		for ; from <= one.To; from += width {
			if !seen[from] {
				seen[from] = true
				all = append(all, transfer.Stretch{From: from, To: from + width - 1})
			}
		}
	}
	slices.SortFunc(all, func(a, b transfer.Stretch) int { return int(max(-1, min(1, a.From-b.From))) })
	return all
}

// window writes one block, or none when there is nothing.
func window(ctx context.Context, a transfer.Appliance, s *transfer.Selection, folder string, from, to int64) (Stats, error) {
	b, err := NewBlock(folder)
	if err != nil {
		return Stats{}, err
	}
	err = transfer.ReadChunks(ctx, a, from, to, s.Matchers, func(set labels.Labels, list []chunks.Meta) error { return b.Add(set, list) })
	if err != nil || b.Empty() {
		return Stats{}, errors.Join(err, b.Abandon())
	}
	return b.Finish(ctx)
}
