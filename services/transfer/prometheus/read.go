// Package prometheus reads the blocks of Prometheus' own storage, and writes such blocks.
package prometheus

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"cistern/services/transfer"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/tsdb/chunks"
	"github.com/prometheus/prometheus/tsdb/index"
	"github.com/prometheus/prometheus/tsdb/tombstones"
)

// Source is a folder with blocks: Prometheus' data folder, a snapshot of it, or one block.
type Source struct {
	blocks []block // in the order of their times
	broken []string
	notes  []string
}

// block is one of the folder, as its meta.json has it.
type block struct {
	dir     string
	id      string
	from    int64
	samples int64
}

// meta is as much of meta.json as is needed.
type meta struct {
	ULID    string `json:"ulid"`
	MinTime int64  `json:"minTime"`
	MaxTime int64  `json:"maxTime"`
	Version int    `json:"version"`
	Stats   struct {
		NumSamples int64 `json:"numSamples,omitempty"`
	} `json:"stats"`
	Thanos struct {
		Downsample struct {
			Resolution int64 `json:"resolution"` // ms
		} `json:"downsample"`
	} `json:"thanos"`
}

// Open finds the blocks. Nothing is written to the folder.
func Open(dir string) (*Source, error) {
	s := &Source{}
	if _, err := os.Stat(filepath.Join(dir, "meta.json")); err == nil {
		if err := s.add(dir); err != nil {
			return nil, err
		}
		return s, nil
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if !e.IsDir() || len(e.Name()) != 26 { // the length of an ULID
			continue
		}
		if err := s.add(filepath.Join(dir, e.Name())); err != nil {
			s.broken = append(s.broken, err.Error())
		}
	}
	slices.SortFunc(s.blocks, func(a, b block) int {
		if a.from != b.from {
			return int(max(-1, min(1, a.from-b.from)))
		}
		return strings.Compare(a.id, b.id)
	})
	head := ""
	for _, name := range []string{"wal", "chunks_head"} {
		if files, err := os.ReadDir(filepath.Join(dir, name)); err == nil && len(files) > 0 {
			head = name
		}
	}
	const snapshot = "POST /api/v1/admin/tsdb/snapshot of a Prometheus with --web.enable-admin-api, and import the folder that it names"
	switch {
	case len(s.blocks)+len(s.broken) == 0 && head != "":
		return nil, fmt.Errorf("%s has no blocks yet, only the latest samples, which Prometheus still writes to (%s). Take a snapshot first: %s", dir, head, snapshot)
	case len(s.blocks)+len(s.broken) == 0:
		return nil, fmt.Errorf("%s has no blocks of Prometheus: name its data folder, the folder of a snapshot, or one block", dir)
	case head != "":
		s.notes = append(s.notes, "The latest samples, about two hours, are in no block and are not imported. To have them, take a snapshot first: "+snapshot+".")
	}
	return s, nil
}

func (s *Source) add(dir string) error {
	text, err := os.ReadFile(filepath.Join(dir, "meta.json"))
	if err != nil {
		return fmt.Errorf("the block %s: %w", filepath.Base(dir), err)
	}
	var m meta
	if err := json.Unmarshal(text, &m); err != nil || m.ULID == "" {
		return fmt.Errorf("the block %s: its meta.json cannot be read: %v", filepath.Base(dir), err)
	}
	if m.Version != 1 {
		return fmt.Errorf("the block %s: its version is %d, and only 1 is known", filepath.Base(dir), m.Version)
	}
	if m.Thanos.Downsample.Resolution > 0 {
		return fmt.Errorf("the block %s: Thanos has downsampled it, so that it holds no samples; import the block that it was made of", filepath.Base(dir))
	}
	s.blocks = append(s.blocks, block{dir: dir, id: m.ULID, from: m.MinTime, samples: max(0, m.Stats.NumSamples)})
	return nil
}

// Identity is that of all blocks: Prometheus gives a block a new one whenever it is written.
func (s *Source) Identity() string {
	var ids []string
	for _, b := range s.blocks {
		ids = append(ids, b.id)
	}
	return strings.Join(ids, " ")
}

// Close is for the interface: blocks are open only while they are read.
func (s *Source) Close() error { return nil }

// Survey reads the blocks' indexes. How many samples there are is estimated by the chunks.
func (s *Source) Survey(ctx context.Context, selection *transfer.Selection, before int64) (*transfer.Survey, error) {
	survey := transfer.NewSurvey()
	survey.Files, survey.About, survey.Notes, survey.Damaged = len(s.blocks), true, s.notes, int64(len(s.broken))
	series := map[uint64]struct{}{}
	for _, b := range s.blocks {
		all, wanted, older := 0.0, 0.0, 0.0
		samples := b.samples
		err := s.each(ctx, b, func(o *opened) error {
			return o.series(func(set labels.Labels, metas []chunks.Meta, _ tombstones.Intervals) error {
				all += float64(len(metas))
				set, ok := selection.Labels(set)
				if !ok {
					return nil
				}
				any := false
				for _, m := range metas {
					from, to := max(m.MinTime, selection.From), min(m.MaxTime, selection.To)
					if from > to {
						continue
					}
					any = true
					wanted++
					if from < before {
						part := 1.0
						if to >= before {
							part = float64(before-from) / float64(to-from+1)
						}
						older += part
					}
					survey.MinTime, survey.MaxTime = min(survey.MinTime, from), max(survey.MaxTime, to)
				}
				if any {
					series[set.Hash()] = struct{}{}
				}
				return nil
			})
		})
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil {
			survey.Damaged++
			survey.Notes = append(survey.Notes, fmt.Sprintf("The block %s is damaged and is imported as far as it can be read: %v.", b.id, err))
		}
		if all > 0 {
			survey.Samples += int64(math.Ceil(float64(samples) * wanted / all))
			survey.Older += int64(math.Ceil(float64(samples) * older / all))
		}
	}
	for _, one := range s.broken {
		survey.Notes = append(survey.Notes, "Not imported: "+one+".")
	}
	survey.Series = int64(len(series))
	return survey, nil
}

// Walk yields block after block, in each series after series.
func (s *Source) Walk(ctx context.Context, w transfer.Walk) error {
	next := int64(0) // the number of the next part
	if w.From == 0 { // an import that goes on has counted them
		for _, one := range s.broken {
			w.Report(one, errors.New("it is not imported"), -1)
		}
	}
	for _, b := range s.blocks {
		var failed error // of Use
		err := s.each(ctx, b, func(o *opened) error {
			return o.series(func(set labels.Labels, metas []chunks.Meta, deleted tombstones.Intervals) error {
				if err := ctx.Err(); err != nil {
					failed = err
					return err
				}
				number := next
				next++
				if number < w.From {
					return nil
				}
				set, ok := w.Selection.Labels(set)
				if !ok || !slices.ContainsFunc(metas, func(m chunks.Meta) bool { return m.MinTime <= w.Selection.To && m.MaxTime >= w.Selection.From }) {
					return nil
				}
				part := &transfer.Part{Number: number, Labels: set, Each: func(use func(transfer.Sample) error) error {
					return o.samples(set, metas, deleted, &w, use)
				}}
				failed = w.Use(part)
				return failed
			})
		})
		if failed != nil {
			return failed
		}
		if err != nil && next >= w.From {
			w.Report("the block "+b.id, err, -1)
		}
	}
	return nil
}

// opened is a block that is being read.
type opened struct {
	ctx        context.Context
	id         string
	index      *index.Reader
	chunks     *chunks.Reader
	tombstones tombstones.Reader
}

// each opens a block for f.
func (s *Source) each(ctx context.Context, b block, f func(*opened) error) error {
	o := &opened{ctx: ctx, id: b.id}
	err := intact(func() (err error) {
		o.index, err = index.NewFileReader(filepath.Join(b.dir, "index"), index.DecodePostingsRaw)
		return err
	})
	if err != nil {
		return err
	}
	defer o.index.Close()
	if o.chunks, err = chunks.NewDirReader(filepath.Join(b.dir, "chunks"), nil); err != nil {
		return err
	}
	defer o.chunks.Close()
	err = intact(func() (err error) {
		o.tombstones, _, err = tombstones.ReadTombstones(b.dir)
		return err
	})
	if err != nil {
		return err
	}
	defer o.tombstones.Close()
	return f(o)
}

// intact calls a function of the library, which panics about some bytes that are no index.
func intact(f func() error) (err error) {
	defer func() {
		if bad := recover(); bad != nil {
			err = fmt.Errorf("it is damaged: %v", bad)
		}
	}()
	return f()
}

// series calls use with each series of the block, in the order of the index.
func (o *opened) series(use func(set labels.Labels, metas []chunks.Meta, deleted tombstones.Intervals) error) error {
	name, value := index.AllPostingsKey()
	postings, err := o.index.Postings(o.ctx, name, value)
	if err != nil {
		return err
	}
	var builder labels.ScratchBuilder
	var metas []chunks.Meta
	next := func() (deleted tombstones.Intervals, more bool, err error) {
		if !postings.Next() {
			return nil, false, postings.Err()
		}
		ref := postings.At()
		if err := o.index.Series(ref, &builder, &metas); err != nil {
			return nil, false, err
		}
		deleted, err = o.tombstones.Get(ref)
		return deleted, true, err
	}
	for {
		var deleted tombstones.Intervals
		var more bool
		err := intact(func() (err error) {
			deleted, more, err = next()
			return err
		})
		if err != nil {
			return err
		}
		if !more {
			return nil
		}
		if err := use(builder.Labels(), metas, deleted); err != nil {
			return err
		}
	}
}

// samples reads a series' chunks. One that is damaged is reported, and the others are read.
func (o *opened) samples(set labels.Labels, metas []chunks.Meta, deleted tombstones.Intervals, w *transfer.Walk, use func(transfer.Sample) error) error {
	var it chunkenc.Iterator
	for _, m := range metas {
		if m.MinTime > w.Selection.To || m.MaxTime < w.Selection.From {
			continue
		}
		damaged := func(err error) {
			w.Report(fmt.Sprintf("the block %s, series %s, the chunk of %d to %d", o.id, set, m.MinTime, m.MaxTime), err, -1)
		}
		chunk, iterable, err := o.chunks.ChunkOrIterable(m)
		if err != nil {
			damaged(err)
			continue
		}
		if iterable != nil {
			it = iterable.Iterator(it)
		} else {
			it = chunk.Iterator(it)
		}
		for kind := it.Next(); kind != chunkenc.ValNone; kind = it.Next() {
			t := it.AtT()
			if !w.Selection.Holds(t) || slices.ContainsFunc(deleted, func(d tombstones.Interval) bool { return d.InBounds(t) }) {
				continue
			}
			one := transfer.Sample{Time: t}
			switch kind {
			case chunkenc.ValFloat:
				_, one.Value = it.At()
			case chunkenc.ValHistogram, chunkenc.ValFloatHistogram:
				_, one.Native = it.AtFloatHistogram(&histogram.FloatHistogram{})
			default:
				damaged(fmt.Errorf("it holds samples of the kind %v, which is not known", kind))
				continue
			}
			if err := use(one); err != nil {
				return err
			}
		}
		if err := it.Err(); err != nil {
			damaged(err)
		}
	}
	return nil
}
