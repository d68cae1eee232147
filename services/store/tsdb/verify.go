package tsdb

// Checking every byte of a store, and saving what can be saved of a damaged block. Checking needs nobody's leave: blocks
// do not change. Repairing needs the store to be closed.

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"cistern/services/histogram"
	"cistern/services/journal"
	"cistern/services/platform/vfs"
)

// Finding is one thing that is wrong.
type Finding struct {
	Where  string `json:"where"`            // a file's name
	Series string `json:"series,omitempty"` // when it is about one
	Detail string `json:"detail"`
}

// Verified is what Verify looked at.
type Verified struct {
	Blocks         int    `json:"blocks"`
	DamagedBlocks  int    `json:"damagedBlocks"`
	Series         int    `json:"series"`
	Samples        int64  `json:"samples"`
	Bytes          int64  `json:"bytes"`
	JournalEntries uint64 `json:"journalEntries"`
	JournalDamage  int64  `json:"journalDamagedBytes"`
}

// Verify reads a whole store, which may be open, and reports what is wrong with it: each block's header, index and
// postings, each series' samples and rollups, and the journal. The error is about what kept it from looking.
func Verify(fsys vfs.FS, folder string, report func(Finding)) (Verified, error) {
	var sum Verified
	blocks := filepath.Join(folder, "blocks")
	entries, err := fsys.List(blocks)
	if err != nil {
		return sum, fmt.Errorf("looking for blocks: %w", err)
	}
	for _, entry := range entries {
		if strings.HasSuffix(entry.Name, damagedSuffix) {
			report(Finding{Where: entry.Name, Detail: "this block was set aside as damaged, and nothing of it is served; restore it from a snapshot, or give it up with storaged repair"})
			sum.DamagedBlocks++
			continue
		}
		sequence, ok := parseBlockName(entry.Name)
		if !ok {
			continue
		}
		sum.Blocks++
		sum.Bytes += entry.Bytes
		b, err := openBlock(fsys, blocks, sequence)
		if vfs.NotExist(err) {
			continue // merged away in the meantime
		}
		if err != nil {
			report(Finding{Where: entry.Name, Detail: err.Error()})
			sum.DamagedBlocks++
			continue
		}
		found := 0
		b.verify(func(series, detail string) {
			found++
			report(Finding{entry.Name, series, detail})
		})
		sum.Series += b.Series
		sum.Samples += b.Samples
		if found > 0 {
			sum.DamagedBlocks++
		}
		b.release()
	}
	view, err := journal.View(fsys, filepath.Join(folder, "journal"))
	if err != nil {
		return sum, fmt.Errorf("looking at the journal: %w", err)
	}
	reader := view.Read(view.Begin())
	defer reader.Close()
	for {
		if _, err := reader.Next(); err != nil {
			if !isEOF(err) {
				report(Finding{Where: "journal", Detail: err.Error()})
			}
			break
		}
		sum.JournalEntries++
	}
	if sum.JournalDamage = reader.Skipped; reader.Skipped > 0 {
		report(Finding{Where: "journal", Detail: fmt.Sprintf("%d bytes hold no entry that can be read", reader.Skipped)})
	}
	return sum, nil
}

// verify reads all of a block.
func (b *block) verify(report func(series, detail string)) {
	x, err := b.index()
	if err != nil {
		report("", err.Error())
		return
	}
	if _, err := x.metrics(); err != nil {
		report("", "the list of names: "+err.Error())
	}
	// What the labels' lists should be.
	lists := map[Label]*postingsWriter{}
	last, samples, whole := "", uint64(0), true
	for number := range x.seriesPages {
		page, err := x.readPage(number)
		if err != nil {
			report("", fmt.Sprintf("the series %d to %d: %v", number*pageSeries, min(b.Series, (number+1)*pageSeries)-1, err))
			whole = false
			continue
		}
		for i := range page {
			s := &page[i]
			labels, err := ParseKey(s.key)
			if err != nil || s.key < last {
				report(fmt.Sprintf("%q", s.key), "its key is wrong or out of order")
			}
			last = s.key
			for _, l := range labels {
				if lists[l] == nil {
					lists[l] = &postingsWriter{}
				}
				lists[l].add(uint32(number*pageSeries + i))
			}
			samples += s.samples
			if err := b.verifySeries(s); err != nil {
				report(FormatLabels(labels), err.Error())
			}
		}
	}
	if whole && samples != uint64(b.Samples) {
		report("", fmt.Sprintf("the footer says %d samples, the series have %d", b.Samples, samples))
	}
	if !whole {
		return
	}
	seen := 0
	for number := range x.labelPages {
		page, err := x.labels(number)
		if err != nil {
			report("", fmt.Sprintf("the labels of page %d: %v", number, err))
			return
		}
		for i := range page {
			l := &page[i]
			want := lists[l.Label]
			refs, err := x.refs(l)
			if err == nil && want != nil {
				var wanted []uint32
				wanted, err = parsePostings(want.finish(), want.count, b.Series)
				if err == nil && !slices.Equal(refs, wanted) {
					err = errDamaged
				}
			}
			if err != nil || want == nil {
				report("", fmt.Sprintf("the list of the series with %s=%q is wrong", l.Name, l.Value))
			}
			seen++
		}
	}
	if seen != len(lists) {
		report("", fmt.Sprintf("%d labels are in the index, the series have %d", seen, len(lists)))
	}
}

// verifySeries decodes a series' tracks.
func (b *block) verifySeries(s *blockSeries) error {
	for track := range tracks {
		frames, err := b.frames(s, track)
		if err != nil {
			return err
		}
		n, last := uint64(0), int64(math.MinInt64)
		for len(frames) > 0 {
			if frames[0].bytes == nil {
				if err := b.fill(frames, math.MaxInt64); err != nil {
					return err
				}
			}
			times, err := decodeTimes(s.kind, frames[0])
			if err != nil {
				return fmt.Errorf("the frame at %s: %w", time.UnixMilli(frames[0].minTime).UTC().Format(time.RFC3339), err)
			}
			for _, t := range times {
				if t <= last {
					return errors.New("its times are out of order")
				}
				last = t
			}
			n += uint64(len(times))
			frames = frames[1:]
		}
		if track == trackRaw && n != s.samples {
			return fmt.Errorf("the index says %d samples, there are %d", s.samples, n)
		}
	}
	return nil
}

func decodeTimes(kind Kind, f frame) ([]int64, error) {
	switch kind {
	case Histogram:
		var b batch[histogram.Histogram]
		err := decodeHistograms(f, &b)
		return b.times, err
	case NativeHistogram:
		var b batch[*nativeHistogram]
		err := decodeNatives(f, &b)
		return b.times, err
	}
	var b batch[float64]
	err := decodeNumbersAs(kind, Default)(f, &b)
	return b.times, err
}

// FormatLabels writes labels as PromQL does: name{a="b"}.
func FormatLabels(labels []Label) string {
	name := ""
	var parts []string
	for _, l := range labels {
		if l.Name == NameLabel {
			name = l.Value
			continue
		}
		parts = append(parts, fmt.Sprintf("%s=%q", l.Name, l.Value))
	}
	if len(parts) == 0 {
		return name
	}
	return name + "{" + strings.Join(parts, ",") + "}"
}

// Repaired is what Repair saved of a block.
type Repaired struct {
	Block   string `json:"block"`
	Series  int    `json:"series"`
	Samples int64  `json:"samples"`
	// Lost is the samples of series that the index still names; SeriesLost those whose names are lost too.
	Lost       int64 `json:"lost"`
	SeriesLost int   `json:"seriesLost"`
}

// Repair writes a new block of what can be read of each damaged one, which is kept beside it with the ending
// ".repaired". The store must not be open. It returns what it saved, block by block; of a block whose header is gone
// nothing can be saved: it is named in the report and kept likewise. Verify finds nothing more afterwards.
func Repair(fsys vfs.FS, folder string, report func(Finding)) ([]Repaired, error) {
	lock, err := fsys.Lock(filepath.Join(folder, "journal", "LOCK"))
	if err != nil {
		return nil, fmt.Errorf("storaged must be stopped before its store is repaired: %w", err)
	}
	defer lock.Close()
	blocks := filepath.Join(folder, "blocks")
	entries, err := fsys.List(blocks)
	if err != nil {
		return nil, err
	}
	next := uint64(0)
	for _, entry := range entries {
		if sequence, ok := parseBlockName(strings.TrimSuffix(strings.TrimSuffix(entry.Name, damagedSuffix), repairedSuffix)); ok {
			next = max(next, sequence)
		}
	}
	keep := func(name string) error {
		to := strings.TrimSuffix(name, damagedSuffix) + repairedSuffix
		if err := fsys.Rename(filepath.Join(blocks, name), filepath.Join(blocks, to)); err != nil {
			return err
		}
		return fsys.SyncDir(blocks)
	}
	const lost = "nothing can be read of it, and its samples are lost unless it is restored from a snapshot"
	var done []Repaired
	for _, entry := range entries {
		sequence, ok := parseBlockName(entry.Name)
		if !ok {
			if strings.HasSuffix(entry.Name, damagedSuffix) {
				report(Finding{Where: entry.Name, Detail: lost})
				if err := keep(entry.Name); err != nil {
					return done, err
				}
			}
			continue
		}
		b, err := openBlock(fsys, blocks, sequence)
		if errors.Is(err, errDamaged) {
			report(Finding{Where: entry.Name, Detail: err.Error() + "; " + lost})
			if err := keep(entry.Name); err != nil {
				return done, err
			}
			continue
		}
		if err != nil {
			return done, err
		}
		damaged := false
		b.verify(func(series, detail string) {
			damaged = true
			report(Finding{entry.Name, series, detail})
		})
		if damaged {
			next++
			one, err := b.salvage(next)
			if err != nil {
				b.release()
				return done, err
			}
			if err := keep(entry.Name); err != nil {
				b.release()
				return done, err
			}
			done = append(done, one)
		}
		b.release()
	}
	return done, nil
}

// salvage writes a block that replaces b with what can be read of it.
func (b *block) salvage(sequence uint64) (Repaired, error) {
	one := Repaired{Block: b.ID}
	w, err := newBlockWriter(b.fs, filepath.Dir(b.path), blockHead{sequence: sequence, minTime: b.MinTime, maxTime: b.MaxTime,
		through: b.through, rank: b.rank, last: b.last, parents: []uint64{b.sequence}, now: b.Made})
	if err != nil {
		return one, err
	}
	x, err := b.index()
	if err != nil { // the directory is gone: an empty block keeps what the old one vouched for
		x = &blockIndex{block: b}
		one.SeriesLost = b.Series
	}
	last := ""
	for number := range x.seriesPages {
		page, err := x.readPage(number)
		if err != nil {
			one.SeriesLost += min(pageSeries, b.Series-number*pageSeries)
			continue
		}
		for i := range page {
			s := &page[i]
			if _, err := ParseKey(s.key); err != nil || s.key < last {
				one.Lost += int64(s.samples)
				continue
			}
			last = s.key
			data := b.salvageSeries(s)
			one.Lost += int64(s.samples) - int64(data.samples)
			if data.empty() {
				continue
			}
			if err := w.add(s.key, s.kind, data); err != nil {
				w.abandon()
				return one, err
			}
			one.Series++
			one.Samples += int64(data.samples)
		}
	}
	if err := w.finish(); err != nil {
		return one, err
	}
	return one, publish(w)
}

// salvageSeries is the frames of a series that can be read.
func (b *block) salvageSeries(s *blockSeries) *seriesData {
	data := &seriesData{minTime: s.minTime, maxTime: s.maxTime}
	for track := range tracks {
		frames, err := b.frames(s, track)
		if err != nil {
			continue
		}
		last := int64(math.MinInt64)
		for i := range frames {
			f := frames[i]
			if f.bytes == nil && b.fill(frames[i:i+1], math.MaxInt64) != nil {
				continue
			}
			f = frames[i]
			times, err := decodeTimes(s.kind, f)
			if err != nil || times[0] <= last {
				continue
			}
			last = times[len(times)-1]
			data.frames[track] = append(data.frames[track], f)
			if track == trackRaw {
				data.samples += uint64(len(times))
			}
		}
	}
	// A single frame takes its times from the series' record.
	if raw := data.frames[trackRaw]; len(raw) == 1 {
		data.minTime, data.maxTime = raw[0].minTime, raw[0].maxTime
	}
	return data
}
