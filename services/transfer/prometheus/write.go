package prometheus

// Writing blocks: chunks as they come, then the index of them. It is the library's writers of both parts, not its block writer:
// that one would bring the packages of a whole Prometheus with it, and hold a block's samples in memory.

import (
	"context"
	"crypto/rand"
	"encoding/base32"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"time"

	"cistern/services/platform/vfs"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/tsdb/chunks"
	"github.com/prometheus/prometheus/tsdb/index"
	"github.com/prometheus/prometheus/tsdb/tombstones"
)

// Stats counts what a block holds.
type Stats struct {
	NumSamples          int64 `json:"numSamples,omitempty"`
	NumFloatSamples     int64 `json:"numFloatSamples,omitempty"`
	NumHistogramSamples int64 `json:"numHistogramSamples,omitempty"`
	NumSeries           int64 `json:"numSeries,omitempty"`
	NumChunks           int64 `json:"numChunks,omitempty"`
}

// Block is a block that is being written. It has its name when Finish has returned, and none before.
type Block struct {
	folder, id, part string
	chunks           *chunks.Writer
	series           []written
	symbols          map[string]struct{}
	minTime, maxTime int64
	stats            Stats
}

type written struct {
	labels labels.Labels
	chunks []chunks.Meta
}

// NewBlock begins a block in a folder.
func NewBlock(folder string) (*Block, error) {
	id := newULID(time.Now())
	b := &Block{folder: folder, id: id, part: filepath.Join(folder, id+".tmp-for-creation"), // Prometheus removes what has this name
		symbols: map[string]struct{}{}, minTime: math.MaxInt64, maxTime: math.MinInt64}
	if err := os.MkdirAll(b.part, 0o777); err != nil {
		return nil, err
	}
	var err error
	if b.chunks, err = chunks.NewWriter(filepath.Join(b.part, "chunks")); err != nil {
		return nil, errors.Join(err, os.RemoveAll(b.part))
	}
	return b, nil
}

// Add adds chunks of a series, in the order of their times; the series come in the order of their labels. What comes of the same
// series one after the other is one.
func (b *Block) Add(set labels.Labels, list []chunks.Meta) error {
	if len(list) == 0 {
		return nil
	}
	same := false
	if n := len(b.series); n > 0 {
		order := labels.Compare(b.series[n-1].labels, set)
		if order > 0 {
			return fmt.Errorf("the series %s comes behind %s", set, b.series[n-1].labels)
		}
		same = order == 0
	}
	if err := b.chunks.WriteChunks(list...); err != nil {
		return err
	}
	for i := range list {
		samples := int64(list[i].Chunk.NumSamples())
		if list[i].Chunk.Encoding() == chunkenc.EncXOR {
			b.stats.NumFloatSamples += samples
		} else {
			b.stats.NumHistogramSamples += samples
		}
		b.stats.NumSamples += samples
		b.minTime, b.maxTime = min(b.minTime, list[i].MinTime), max(b.maxTime, list[i].MaxTime)
		list[i].Chunk = nil // its bytes are in the file
	}
	b.stats.NumChunks += int64(len(list))
	if same {
		last := &b.series[len(b.series)-1]
		last.chunks = append(last.chunks, list...)
		return nil
	}
	set.Range(func(l labels.Label) { b.symbols[l.Name], b.symbols[l.Value] = struct{}{}, struct{}{} })
	b.series = append(b.series, written{set, list})
	b.stats.NumSeries++
	return nil
}

// Empty says whether nothing was added.
func (b *Block) Empty() bool { return len(b.series) == 0 }

// Abandon removes what was written.
func (b *Block) Abandon() error { return errors.Join(b.chunks.Close(), os.RemoveAll(b.part)) }

// Finish writes the index and gives the block its name.
func (b *Block) Finish(ctx context.Context) (Stats, error) {
	err := b.chunks.Close()
	if err == nil {
		err = b.writeIndex(ctx)
	}
	if err == nil {
		_, err = tombstones.WriteFile(slog.New(slog.DiscardHandler), b.part, tombstones.NewMemTombstones())
	}
	if err == nil {
		err = b.writeMeta()
	}
	if err == nil {
		err = os.Rename(b.part, filepath.Join(b.folder, b.id))
	}
	if err == nil {
		err = vfs.OS.SyncDir(b.folder)
	}
	if err != nil {
		return b.stats, errors.Join(fmt.Errorf("writing the block %s: %w", b.id, err), os.RemoveAll(b.part))
	}
	return b.stats, nil
}

func (b *Block) writeIndex(ctx context.Context) error {
	w, err := index.NewWriter(ctx, filepath.Join(b.part, "index"))
	if err != nil {
		return err
	}
	fill := func() error {
		for _, symbol := range slices.Sorted(maps.Keys(b.symbols)) {
			if err := w.AddSymbol(symbol); err != nil {
				return err
			}
		}
		for i, one := range b.series {
			if err := w.AddSeries(storage.SeriesRef(i), one.labels, one.chunks...); err != nil {
				return err
			}
		}
		return nil
	}
	err = fill()
	if closed := w.Close(); err == nil { // it also writes the postings
		err = closed
	}
	return err
}

func (b *Block) writeMeta() error {
	text, err := json.MarshalIndent(map[string]any{
		"ulid": b.id, "minTime": b.minTime, "maxTime": b.maxTime + 1, // the end is not in it
		"stats": b.stats, "compaction": map[string]any{"level": 1, "sources": []string{b.id}}, "version": 1,
	}, "", "\t")
	if err != nil {
		return err
	}
	f, err := os.Create(filepath.Join(b.part, "meta.json"))
	if err != nil {
		return err
	}
	if _, err = f.Write(append(text, '\n')); err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// newULID is a name for a block: 48 bits of time and 80 of chance, in Crockford's base 32 (https://github.com/ulid/spec).
func newULID(now time.Time) string {
	var id [16]byte
	binary.BigEndian.PutUint64(id[:], uint64(now.UnixMilli())<<16)
	_, _ = rand.Read(id[6:]) // it never fails
	// 130 bits for the 26 letters: two zeros come first.
	padded := make([]byte, 20)
	for i := range 128 {
		bit := id[i/8] >> (7 - i%8) & 1
		at := i + 2
		padded[at/8] |= bit << (7 - at%8)
	}
	return base32.NewEncoding("0123456789ABCDEFGHJKMNPQRSTVWXYZ").EncodeToString(padded)[:26]
}
