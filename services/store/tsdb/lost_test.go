package tsdb

// What could be lost, or come back, where two things happen at once: damage and a restart, a query and a merge, a flush
// that fails and a merge.

import (
	"bytes"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"cistern/services/histogram"
	"cistern/services/platform/vfs"
)

func oneHistogram(values ...float64) *histogram.Histogram {
	h := &histogram.Histogram{}
	for _, v := range values {
		_ = h.Insert(v, 1)
	}
	return h
}

// A flush made two blocks. That the second is damaged later takes nothing from the first: the journal, which would hold its
// samples had the flush not come to its end, let them go long ago.
func TestDamageOfTheLastBlockLeavesItsSiblings(t *testing.T) {
	memory := vfs.NewMemory()
	s := openStore(t, testOptions(memory))
	day := time.Duration(dayMillis) * time.Millisecond
	mustIngest(t, s, Sample{Key: key(t, "old"), Kind: Gauge, Time: start.Add(-day).UnixMilli(), Value: 1},
		Sample{Key: key(t, "new"), Kind: Gauge, Time: start.UnixMilli(), Value: 2})
	mustFlush(t, s)
	blocks := s.Status().Blocks
	if len(blocks) != 2 {
		t.Fatalf("%d blocks", len(blocks))
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	file, err := memory.Append("/store/blocks/" + blocks[1].ID + blockSuffix)
	if err != nil {
		t.Fatal(err)
	}
	if err := file.Truncate(100); err != nil {
		t.Fatal(err)
	}
	s = openStore(t, testOptions(memory))
	defer s.Close()
	if got := read(t, s, 0, math.MaxInt64); len(got.numbers[string(key(t, "old"))]) != 1 {
		t.Error("the sound block is gone")
	}
}

// A query holds blocks that were merged, and what they were merged into was merged again. A kill then leaves nothing of
// them: what they held is in the last block, and what was deleted from them is gone.
func TestKillUnderAQueryBringsNothingBack(t *testing.T) {
	memory := vfs.NewMemory()
	o, now := clockOptions(memory)
	s := openStore(t, o)
	at := start.Truncate(24 * time.Hour)
	total := 0
	for hour := range 8 {
		now.set(at.Add(time.Duration(hour) * time.Hour))
		mustIngest(t, s, Sample{Key: key(t, "h"), Kind: Histogram, Time: now.UnixMilli(), Histogram: oneHistogram(1)},
			Sample{Key: key(t, "secret"), Kind: Gauge, Time: now.UnixMilli(), Value: 1})
		mustFlush(t, s)
		total++
	}
	_, release, err := s.Select(t.Context(), 0, math.MaxInt64)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Delete(t.Context(), 0, math.MaxInt64, equal(NameLabel, "secret")); err != nil {
		t.Fatal(err)
	}
	now.set(at.Add(48 * time.Hour))
	if err := s.tidy(); err != nil {
		t.Fatal(err)
	}
	if n := len(s.Status().Blocks); n != 1 {
		t.Fatalf("%d blocks", n)
	}
	killed := memory.Kill()
	release()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	o.FS = killed
	s = openStore(t, o)
	defer s.Close()
	got := read(t, s, 0, math.MaxInt64)
	n := uint64(0)
	for _, h := range got.histograms[string(key(t, "h"))] {
		n += h.Count()
	}
	if n != uint64(total) {
		t.Errorf("%d values, %d were stored", n, total)
	}
	if len(got.numbers) > 0 {
		t.Error("what was deleted is back")
	}
}

// A merge whose block could not be opened after it had its name is done again; the first one's block must not be there
// besides after a restart, where histograms would count twice.
func TestMergeThatFailsAtItsEnd(t *testing.T) {
	memory := vfs.NewMemory()
	fail := ""
	o, now := clockOptions(vfs.Watch(memory, func(op, name string, _ int) error {
		if op == fail && name == "blocks" {
			fail = ""
			return errors.New("input/output error")
		}
		return nil
	}))
	s := openStore(t, o)
	at := start.Truncate(24 * time.Hour)
	for hour := range 3 {
		now.set(at.Add(time.Duration(hour) * time.Hour))
		mustIngest(t, s, Sample{Key: key(t, "h"), Kind: Histogram, Time: now.UnixMilli(), Histogram: oneHistogram(1)})
		mustFlush(t, s)
	}
	now.set(at.Add(48 * time.Hour))
	fail = "syncdir"
	if err := s.tidy(); err == nil {
		t.Fatal("a merge that could not be made durable was taken for done")
	}
	if err := s.tidy(); err != nil {
		t.Fatal(err)
	}
	o.FS = memory.Kill()
	killed := openStore(t, o)
	defer killed.Close()
	n := uint64(0)
	for _, h := range read(t, killed, 0, math.MaxInt64).histograms[string(key(t, "h"))] {
		n += h.Count()
	}
	if n != 3 {
		t.Errorf("%d values, 3 were stored", n)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// A flush that failed after its blocks had their names is tried again under the same, in a merge that went on meanwhile.
// That must not take one of these: a crash would find the rest of both tries, and histograms would count twice.
func TestMergeBetweenTwoTriesOfAFlush(t *testing.T) {
	memory := vfs.NewMemory()
	full := false
	var killed []*vfs.Memory
	o, now := clockOptions(vfs.Watch(memory, func(op, name string, _ int) error {
		if op == "rename" {
			killed = append(killed, memory.Kill())
		}
		if full && op == "create" && strings.HasPrefix(name, descriptionsFile) {
			return errors.New("no space left on device")
		}
		return nil
	}))
	s := openStore(t, o)
	day := time.Duration(dayMillis) * time.Millisecond
	at := start.Truncate(24 * time.Hour).Add(-3 * day)
	for hour := range 3 {
		mustIngest(t, s, Sample{Key: key(t, "other"), Kind: Gauge, Time: at.Add(time.Duration(hour) * time.Hour).UnixMilli(), Value: 1})
		mustFlush(t, s)
	}
	mustIngest(t, s, Sample{Key: key(t, "old"), Kind: Histogram, Time: now.now().Add(-day).UnixMilli(), Histogram: oneHistogram(1)},
		Sample{Key: key(t, "new"), Kind: Histogram, Time: now.UnixMilli(), Histogram: oneHistogram(1)})
	s.Describe([]Metadata{{Name: "old", Help: "what was there"}})
	full = true
	if _, err := s.Flush(); err == nil {
		t.Fatal("the descriptions could be written")
	}
	full, killed = false, nil
	if err := s.tidy(); err != nil {
		t.Fatal(err)
	}
	if n := len(s.Status().Blocks); n != 3 {
		t.Fatalf("%d blocks: nothing was merged", n)
	}
	for i, one := range append(killed, memory.Kill()) {
		again := openStore(t, testOptions(one))
		got := read(t, again, 0, math.MaxInt64)
		for _, name := range []string{"old", "new"} {
			n := uint64(0)
			for _, h := range got.histograms[string(key(t, name))] {
				n += h.Count()
			}
			if n != 1 {
				t.Errorf("after a kill before the %d. renaming: %d values of %s, want 1", i, n, name)
			}
		}
		if err := again.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// A series changed its kind while its old samples were being written to a block. A kill then leaves both in the journal.
func TestKindChangesBeforeAKill(t *testing.T) {
	memory := vfs.NewMemory()
	full := false
	o := testOptions(vfs.Watch(memory, func(op, name string, _ int) error {
		if full && op == "create" && strings.Contains(name, blockSuffix) {
			return errors.New("no space left on device")
		}
		return nil
	}))
	s := openStore(t, o)
	m := newModel()
	add := func(one Sample) {
		t.Helper()
		mustIngest(t, s, one)
		m.add([]Sample{one})
	}
	add(Sample{Key: key(t, "a"), Kind: Gauge, Time: start.UnixMilli(), Value: 1})
	full = true
	if _, err := s.Flush(); err == nil {
		t.Fatal("the disk is full")
	}
	add(Sample{Key: key(t, "a"), Kind: Histogram, Time: start.UnixMilli(), Histogram: oneHistogram(1, 2)})
	o.FS = memory.Kill()
	killed := openStore(t, o)
	if d := read(t, killed, 0, math.MaxInt64).difference(m); d != "" {
		t.Errorf("after a kill: %s", d)
	}
	again := []Sample{{Key: key(t, "a"), Kind: Histogram, Time: start.UnixMilli() + 1000, Histogram: oneHistogram(3)}}
	mustIngest(t, killed, again...)
	m.add(again)
	mustFlush(t, killed)
	if d := read(t, killed, 0, math.MaxInt64).difference(m); d != "" {
		t.Errorf("after a flush: %s", d)
	}
	if err := killed.Close(); err != nil {
		t.Fatal(err)
	}
	full = false
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// The journal's folder is gone, because somebody removed it to be rid of a damaged one, and the blocks stay. What the new
// journal takes must lie behind what the blocks say they hold: otherwise the next replay would pass it over.
func TestNewJournalBesideOldBlocks(t *testing.T) {
	memory := vfs.NewMemory()
	s := openStore(t, testOptions(memory))
	for i := range int64(20) {
		mustIngest(t, s, Sample{Key: key(t, "a"), Kind: Gauge, Time: start.UnixMilli() + i, Value: 1})
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	files, err := memory.List("/store/journal")
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range files {
		if err := memory.Remove("/store/journal/" + one.Name); err != nil {
			t.Fatal(err)
		}
	}
	s = openStore(t, testOptions(memory))
	mustIngest(t, s, Sample{Key: key(t, "b"), Kind: Gauge, Time: start.UnixMilli(), Value: 2})
	killed := openStore(t, testOptions(memory.Kill()))
	defer killed.Close()
	if got := read(t, killed, 0, math.MaxInt64); len(got.numbers) != 2 {
		t.Errorf("%d of 2 series are there", len(got.numbers))
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// Blocks that were merged cannot be removed, as in a full ZFS dataset, and what they were merged into is merged again.
// After a kill they are known to be replaced, and when there is room they go.
func TestRemovalThatFails(t *testing.T) {
	memory := vfs.NewMemory()
	full := false
	o, now := clockOptions(vfs.Watch(memory, func(op, name string, _ int) error {
		if full && op == "remove" && strings.HasSuffix(name, blockSuffix) {
			return errors.New("no space left on device")
		}
		return nil
	}))
	s := openStore(t, o)
	at := start.Truncate(24 * time.Hour)
	for hour := range 8 {
		now.set(at.Add(time.Duration(hour) * time.Hour))
		mustIngest(t, s, Sample{Key: key(t, "h"), Kind: Histogram, Time: now.UnixMilli(), Histogram: oneHistogram(1)})
		mustFlush(t, s)
	}
	now.set(at.Add(9 * time.Hour)) // six hours are merged
	full = true
	if err := s.tidy(); err != nil {
		t.Fatal(err)
	}
	full = false
	now.set(at.Add(48 * time.Hour)) // the day is, and the six hours' block goes
	killed := []*vfs.Memory{memory.Kill()}
	s.options.FS = vfs.Watch(memory, func(op, name string, _ int) error {
		killed = append(killed, memory.Kill())
		return nil
	})
	if err := s.tidy(); err != nil {
		t.Fatal(err)
	}
	for i, one := range append(killed, memory.Kill()) {
		o.FS = one
		again := openStore(t, o)
		n := uint64(0)
		for _, h := range read(t, again, 0, math.MaxInt64).histograms[string(key(t, "h"))] {
			n += h.Count()
		}
		if n != 8 {
			t.Errorf("%d values after kill %d, 8 were stored", n, i)
		}
		if err := again.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	files, err := memory.List("/store/blocks")
	if err != nil || len(files) != 1 {
		t.Errorf("%v %v: one block is left", files, err)
	}
}

// handles counts the files that are open for writing.
type handles struct {
	vfs.FS
	open, most int
}

type handle struct {
	vfs.File
	of   *handles
	done bool
}

func (h *handles) Create(path string) (vfs.File, error) {
	file, err := h.FS.Create(path)
	if err != nil {
		return nil, err
	}
	h.open++
	h.most = max(h.most, h.open)
	return &handle{file, h, false}, nil
}

func (h *handle) Close() error {
	if !h.done {
		h.done = true
		h.of.open--
	}
	return h.File.Close()
}

// A head with samples of many days becomes as many blocks, one after the other: with all of them open a back-fill of years
// would need hundreds of files and buffers at once, besides the memory that the head may take.
func TestBlocksOfAFlushAreWrittenOneByOne(t *testing.T) {
	files := &handles{FS: vfs.NewMemory()}
	s := openStore(t, testOptions(files))
	defer s.Close()
	for day := range 30 {
		mustIngest(t, s, Sample{Key: key(t, "a", "day", strings.Repeat("x", day+1)), Kind: Gauge, Time: start.Add(-time.Duration(day) * 24 * time.Hour).UnixMilli(), Value: 1})
	}
	before := files.open
	files.most = before
	mustFlush(t, s)
	if n := len(s.Status().Blocks); n != 30 {
		t.Fatalf("%d blocks", n)
	}
	if files.most > before+2 {
		t.Errorf("%d files were open at once", files.most-before)
	}
	if files.open > before {
		t.Errorf("%d files were left open", files.open-before)
	}
}

// Two heads are in the journal, because the first could not be written, and damage takes what the second one defined: its
// samples are lost, and not the first one's series' that had the same number. The same after a restart, whose head numbers
// its series anew.
func TestDamagedDefinitionsGiveNothingToOthers(t *testing.T) {
	memory := vfs.NewMemory()
	full := true
	o := testOptions(vfs.Watch(memory, func(op, name string, _ int) error {
		if full && op == "create" && strings.Contains(name, blockSuffix) {
			return errors.New("no space left on device")
		}
		return nil
	}))
	at := func(second int64, name string, value float64) Sample {
		return Sample{Key: key(t, name), Kind: Gauge, Time: start.UnixMilli() + second*1000, Value: value}
	}
	s := openStore(t, o)
	mustIngest(t, s, at(0, "first_name", 1))
	if _, err := s.Flush(); err == nil {
		t.Fatal("the disk is full")
	}
	mustIngest(t, s, at(1, "second_name", 2)) // defines what damage takes
	mustIngest(t, s, at(2, "second_name", 3))
	killed := memory.Kill()
	journals, err := killed.List("/store/journal")
	if err != nil {
		t.Fatal(err)
	}
	damaged := 0
	for _, one := range journals {
		path := "/store/journal/" + one.Name
		content, err := vfs.ReadFile(killed, path)
		if err != nil {
			continue
		}
		if i := bytes.Index(content, []byte("second_name")); i >= 0 {
			content[i] ^= 1
			damaged++
			if err := vfs.Replace(killed, "/store/journal", path, content); err != nil {
				t.Fatal(err)
			}
		}
	}
	if damaged != 1 {
		t.Fatalf("%d files of %v were damaged", damaged, journals)
	}
	o = testOptions(killed)
	again := openStore(t, o)
	m := newModel()
	m.add([]Sample{at(0, "first_name", 1)})
	if d := read(t, again, 0, math.MaxInt64).difference(m); d != "" {
		t.Errorf("after the damage: %s", d)
	}
	if d := again.Status().Damaged; len(d) != 1 || d[0].Block != InJournal || !strings.Contains(d[0].Detail, "missing: 1") {
		t.Errorf("that something was lost is not said: %+v", d)
	}
	// What is taken from then on defines its series again, also those that the replay has found.
	more := []Sample{at(3, "third_name", 4), at(4, "first_name", 5)}
	mustIngest(t, again, more...)
	m.add(more)
	third := openStore(t, testOptions(killed.Kill()))
	if d := read(t, third, 0, math.MaxInt64).difference(m); d != "" {
		t.Errorf("after another kill: %s", d)
	}
	full = false
	for _, one := range []*Store{s, again, third} {
		if err := one.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// While what was frozen cannot be written it is the oldest that is in no block, however young what came since is.
func TestLagIsOfWhatCannotBeWritten(t *testing.T) {
	full := true
	o, now := clockOptions(vfs.Watch(vfs.NewMemory(), func(op, name string, _ int) error {
		if full && op == "create" && strings.Contains(name, ".block") {
			return errors.New("no space left on device")
		}
		return nil
	}))
	s := openStore(t, o)
	lag := func() time.Duration { return time.Duration(s.Status().LagSeconds * float64(time.Second)) }
	mustIngest(t, s, Sample{Key: key(t, "a"), Kind: Gauge, Time: now.UnixMilli(), Value: 1})
	now.advance(time.Hour)
	for range 2 {
		if _, err := s.Flush(); err == nil {
			t.Fatal("the block could be written")
		}
		mustIngest(t, s, Sample{Key: key(t, "a"), Kind: Gauge, Time: now.UnixMilli(), Value: 1})
		now.advance(time.Minute)
	}
	if got := lag(); got != time.Hour+2*time.Minute {
		t.Errorf("the oldest is %v old", got)
	}
	full = false
	mustFlush(t, s)
	mustIngest(t, s, Sample{Key: key(t, "a"), Kind: Gauge, Time: now.UnixMilli(), Value: 1})
	now.advance(time.Second)
	if got := lag(); got != time.Second {
		t.Errorf("%v old after a flush", got)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}
