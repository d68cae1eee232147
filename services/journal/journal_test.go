package journal

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"cistern/services/platform/vfs"
)

func open(t *testing.T, fsys vfs.FS, segment int64) *Journal {
	t.Helper()
	j, err := Open("/j", Options{FS: fsys, SegmentBytes: segment})
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// everything reads all entries behind from.
func everything(t *testing.T, j *Journal, from Position) []string {
	t.Helper()
	reader := j.Read(from)
	defer reader.Close()
	list := []string{}
	for {
		entry, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return list
		}
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, string(entry.Data))
	}
}

// The order of writes, syncs and renames is what durability rests on: a missing line here is a lost sample.
func TestDurableSteps(t *testing.T) {
	var log vfs.Log
	fsys := vfs.Watch(vfs.NewMemory(), log.Before)
	step := func(name string, want ...string) {
		t.Helper()
		if got := log.Take(); !slices.Equal(got, want) {
			t.Errorf("%s:\n got %s\nwant %s", name, strings.Join(got, ", "), strings.Join(want, ", "))
		}
	}
	j := open(t, fsys, 100)
	first := "0000000000000000.journal"
	step("making a journal", "lock LOCK", "create "+first, "write "+first+" 32", "sync "+first, "syncdir j")
	if _, err := j.Subscribe("mail", false); err != nil {
		t.Fatal(err)
	}
	step("subscribing", "create mail.subscriber.tmp", "write mail.subscriber.tmp 20", "sync mail.subscriber.tmp",
		"rename mail.subscriber.tmp mail.subscriber", "syncdir j")
	if _, err := j.Append([]byte("0123456789")); err != nil {
		t.Fatal(err)
	}
	step("appending", "write "+first+" 18")
	position, err := j.AppendDurable(Fsync, []byte("0123456789"))
	if err != nil {
		t.Fatal(err)
	}
	step("appending durably", "write "+first+" 18", "sync "+first)
	if err := j.Sync(position); err != nil {
		t.Fatal(err)
	}
	step("what is durable already")
	position, err = j.AppendDurable(Fsync, make([]byte, 60))
	if err != nil {
		t.Fatal(err)
	}
	second := "0000000000000044.journal"
	step("a new segment", "sync "+first, "create "+second, "write "+second+" 32", "sync "+second, "syncdir j",
		"write "+second+" 68", "sync "+second)
	if err := j.Checkpoint("mail", position); err != nil {
		t.Fatal(err)
	}
	step("a checkpoint, and what it sets free", "create mail.subscriber.tmp", "write mail.subscriber.tmp 20", "sync mail.subscriber.tmp",
		"rename mail.subscriber.tmp mail.subscriber", "syncdir j", "remove "+first, "syncdir j")
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	step("closing")
}

var errCut = errors.New("the power is gone")

// Power is cut at every single operation, with any part of what was not durable kept: what was acknowledged is there,
// in order, and nothing else but what was appended.
func TestPowerCutAtEveryOperation(t *testing.T) {
	random := rand.New(rand.NewPCG(11, 12))
	for cut := 0; ; cut++ {
		memory := vfs.NewMemory()
		operations := 0
		fsys := vfs.Watch(memory, func(string, string, int) error {
			if operations++; operations > cut {
				return errCut
			}
			return nil
		})
		var appended, acknowledged []string
		checkpoint := Position(0)
		var ends []Position
		work := func() error {
			j, err := Open("/j", Options{FS: fsys, SegmentBytes: 200})
			if err != nil {
				return err
			}
			if _, err := j.Subscribe("reader", false); err != nil {
				return err
			}
			for i := range 30 {
				entry := fmt.Sprintf("entry %d %s", i, strings.Repeat("x", i))
				appended = append(appended, entry)
				durability := Buffered
				if i%3 == 0 {
					durability = Fsync
				}
				position, err := j.AppendDurable(durability, []byte(entry))
				if err != nil {
					return err
				}
				ends = append(ends, position)
				if durability == Fsync {
					acknowledged = slices.Clone(appended)
				}
				if i%10 == 9 {
					if err := j.Checkpoint("reader", ends[i-5]); err != nil {
						return err
					}
					checkpoint = ends[i-5]
				}
			}
			return nil
		}
		err := work()
		after := memory.PowerCut(func(_ string, n int) int { return random.IntN(n + 1) })
		j, openErr := Open("/j", Options{FS: after, SegmentBytes: 200})
		if openErr != nil {
			t.Fatalf("cut at %d: %v", cut, openErr)
		}
		from, _ := j.Subscriber("reader")
		if from < checkpoint {
			t.Fatalf("cut at %d: the checkpoint went back from %s to %s", cut, checkpoint, from)
		}
		passed := 0
		for passed < len(ends) && ends[passed] <= from {
			passed++
		}
		got := everything(t, j, from)
		want := appended[min(passed, len(appended)):]
		if len(got) > len(want) || !slices.Equal(got, want[:len(got)]) {
			t.Fatalf("cut at %d: %q is not the beginning of %q", cut, got, want)
		}
		if passed+len(got) < len(acknowledged) {
			t.Fatalf("cut at %d: %d entries were acknowledged, only %d are there", cut, len(acknowledged), passed+len(got))
		}
		// And it goes on.
		if _, err := j.AppendDurable(Fsync, []byte("later")); err != nil {
			t.Fatalf("cut at %d: %v", cut, err)
		}
		if again := everything(t, j, from); len(again) != len(got)+1 || again[len(got)] != "later" {
			t.Fatalf("cut at %d: after appending: %q", cut, again)
		}
		if err == nil {
			if cut < 50 {
				t.Fatalf("only %d operations", cut)
			}
			return
		}
		if !errors.Is(err, errCut) {
			t.Fatalf("cut at %d: %v", cut, err)
		}
	}
}

// A full disk leaves half a write: it is cut off, and writing goes on when there is room.
func TestFullDisk(t *testing.T) {
	full := false
	fsys := vfs.Watch(vfs.NewMemory(), func(op, _ string, _ int) error {
		if full && op == "write" {
			return errors.New("no space left on device")
		}
		return nil
	})
	j := open(t, fsys, 1000)
	want := []string{}
	for i := range 20 {
		full = i%3 == 1
		entry := fmt.Sprintf("entry %d", i)
		_, err := j.AppendDurable(Fsync, []byte(entry))
		if (err != nil) != full {
			t.Fatalf("entry %d, full %v: %v", i, full, err)
		}
		if err == nil {
			want = append(want, entry)
		}
	}
	if got := everything(t, j, 0); !slices.Equal(got, want) {
		t.Fatalf("%q, want %q", got, want)
	}
}

// After a failed fsync nothing may be acknowledged: the kernel may have dropped it.
func TestFailedSyncSticks(t *testing.T) {
	fail := false
	fsys := vfs.Watch(vfs.NewMemory(), func(op, _ string, _ int) error {
		if fail && op == "sync" {
			return errors.New("input/output error")
		}
		return nil
	})
	j := open(t, fsys, 1000)
	fail = true
	if _, err := j.AppendDurable(Fsync, []byte("a")); err == nil {
		t.Fatal("was acknowledged")
	}
	fail = false
	if _, err := j.Append([]byte("b")); err == nil {
		t.Fatal("the journal went on after a failed fsync")
	}
}

func TestTwoWriters(t *testing.T) {
	memory := vfs.NewMemory()
	j := open(t, memory, 1000)
	if _, err := Open("/j", Options{FS: memory}); !errors.Is(err, vfs.ErrLocked) {
		t.Fatalf("the second writer got %v", err)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := j.Append([]byte("x")); !errors.Is(err, ErrClosed) {
		t.Fatalf("after closing: %v", err)
	}
	open(t, memory, 1000)
}

// Damage in the middle hides only what it hit.
func TestDamage(t *testing.T) {
	folder := t.TempDir()
	j, err := Open(folder, Options{SegmentBytes: 2000})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 100 {
		if _, err := j.Append(fmt.Appendf(nil, "entry number %03d", i)); err != nil {
			t.Fatal(err)
		}
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	entries, _ := vfs.OS.List(folder)
	for _, entry := range entries {
		if !strings.HasSuffix(entry.Name, segmentSuffix) {
			continue
		}
		path := folder + "/" + entry.Name
		content, _ := vfs.ReadFile(vfs.OS, path)
		content[headerBytes+entryHeaderBytes+3] ^= 1 // the first entry of each segment
		if err := vfs.Replace(vfs.OS, folder, path, content); err != nil {
			t.Fatal(err)
		}
	}
	j, err = Open(folder, Options{SegmentBytes: 2000})
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	segments := j.Stat().Segments
	if got := everything(t, j, 0); len(got) != 100-segments || got[0] != "entry number 001" || got[len(got)-1] != "entry number 099" {
		t.Fatalf("%d segments, %d entries left: %q", segments, len(got), got)
	}
}

func TestConcurrentWritersShareSyncs(t *testing.T) {
	j, err := Open(t.TempDir(), Options{SegmentBytes: 4 << 10})
	if err != nil {
		t.Fatal(err)
	}
	var done sync.WaitGroup
	for w := range 16 {
		done.Go(func() {
			for i := range 30 {
				if _, err := j.AppendDurable(Fsync, fmt.Appendf(nil, "writer %d entry %d", w, i)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	done.Wait()
	if got := everything(t, j, 0); len(got) != 480 {
		t.Fatalf("%d entries", len(got))
	}
	if stat := j.Stat(); stat.Syncs >= 480 {
		t.Errorf("%d syncs for 480 appends of 16 writers: they do not share", stat.Syncs)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestSubscribersPinSegments(t *testing.T) {
	j := open(t, vfs.NewMemory(), 100)
	for _, name := range []string{"a", "b"} {
		if _, err := j.Subscribe(name, false); err != nil {
			t.Fatal(err)
		}
	}
	var last Position
	for i := range 20 {
		last, _ = j.Append(fmt.Appendf(nil, "0123456789 %d", i))
	}
	if err := j.Checkpoint("a", last); err != nil {
		t.Fatal(err)
	}
	if got := everything(t, j, 0); len(got) != 20 {
		t.Fatalf("b has not read, but only %d entries are left", len(got))
	}
	if err := j.Checkpoint("a", 5); err != nil {
		t.Fatal(err)
	}
	if at, _ := j.Subscriber("a"); at != last {
		t.Fatalf("a's checkpoint went back to %s", at)
	}
	if err := j.Checkpoint("a", last+1); err == nil {
		t.Fatal("a checkpoint behind the end was taken")
	}
	if err := j.Unsubscribe("b"); err != nil {
		t.Fatal(err)
	}
	if stat := j.Stat(); stat.Segments != 1 {
		t.Fatalf("%d segments are left", stat.Segments)
	}
	for _, name := range []string{"", "../x", "a/b", ".hidden", strings.Repeat("x", 65)} {
		if _, err := j.Subscribe(name, false); err == nil {
			t.Errorf("the name %q was taken", name)
		}
	}
}

func TestPipe(t *testing.T) {
	j := open(t, vfs.NewMemory(), 1000)
	requests := strings.Join([]string{
		`{"id":1,"op":"subscribe","name":"mail","at":"begin"}`,
		`{"id":2,"op":"append","data":"aGVsbG8="}`,
		`{"id":3,"op":"read","subscriber":"mail","max":10}`,
		`{"id":4,"op":"checkpoint","subscriber":"mail","position":"000000000000002d"}`,
		`{"id":5,"op":"read","subscriber":"mail","max":10}`,
		`{"id":6,"op":"read","subscriber":"nobody"}`,
		`nonsense`,
		`{"id":"seven","op":"fly"}`,
		`{"id":8,"op":"append","data":"***"}`,
		`{"id":9,"op":"unsubscribe","name":"mail"}`,
		`{"id":10,"op":"append"`, // cut off: the writer died
	}, "\n")
	var out bytes.Buffer
	if err := j.Pipe(strings.NewReader(requests), &out); err != nil {
		t.Fatal(err)
	}
	want := []string{
		`{"id":1,"ok":true,"position":"0000000000000000"}`,
		`{"id":2,"ok":true,"position":"000000000000002d"}`,
		`{"entries":[{"position":"000000000000002d","data":"aGVsbG8="}],"id":3,"ok":true}`,
		`{"id":4,"ok":true}`,
		`{"entries":[],"id":5,"ok":true}`,
		`{"error":"the journal has no subscriber \"nobody\"","id":6,"ok":false}`,
		`{"error":"invalid character 'o' in literal null (expecting 'u')","id":null,"ok":false}`,
		`{"error":"there is no op \"fly\"","id":"seven","ok":false}`,
		`{"error":"illegal base64 data at input byte 0","id":8,"ok":false}`,
		`{"id":9,"ok":true}`, ``,
	}
	if got := strings.Split(out.String(), "\n"); !slices.Equal(got, want) {
		t.Fatalf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// Whatever a segment holds behind its header, opening and reading end, and what is appended afterwards is read back.
func FuzzSegment(f *testing.F) {
	f.Add([]byte{})
	f.Add(appendEntry(appendEntry(nil, []byte("one")), []byte("two")))
	f.Add(append(appendEntry(nil, []byte("one")), 0, 0, 0, 0, 0, 0))
	f.Add(append(appendEntry(nil, []byte("one")), 255, 255, 255, 143, 0, 0))
	f.Fuzz(func(t *testing.T, content []byte) {
		memory := vfs.NewMemory()
		file, _ := memory.Create("/j/" + segmentName(0))
		_, _ = file.Write(makeHeader(0, 0))
		_, _ = file.Write(content)
		j, err := Open("/j", Options{FS: memory})
		if err != nil {
			t.Fatal(err)
		}
		before := everything(t, j, 0)
		if _, err := j.Append([]byte("after")); err != nil {
			t.Fatal(err)
		}
		if got := everything(t, j, 0); len(got) != len(before)+1 || got[len(before)] != "after" {
			t.Fatalf("%q, then %q", before, got)
		}
	})
}

func BenchmarkAppend(b *testing.B) {
	j, err := Open(b.TempDir(), Options{SegmentBytes: 64 << 20})
	if err != nil {
		b.Fatal(err)
	}
	defer j.Close()
	if _, err := j.Subscribe("x", false); err != nil {
		b.Fatal(err)
	}
	batch := make([][]byte, 1000)
	for i := range batch {
		batch[i] = make([]byte, 100)
	}
	b.SetBytes(100 * 1000)
	n := 0
	for b.Loop() {
		at, err := j.Append(batch...)
		if err != nil {
			b.Fatal(err)
		}
		if n++; n%500 == 0 {
			if err := j.Checkpoint("x", at); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ReportMetric(float64(b.N)*1000/b.Elapsed().Seconds(), "entries/s")
}

// BenchmarkDurable is writers that each wait until their entry is synced before they write the next.
func BenchmarkDurable(b *testing.B) {
	for _, writers := range []int{1, 4, 64} {
		b.Run(fmt.Sprint(writers), func(b *testing.B) {
			j, err := Open(b.TempDir(), Options{SegmentBytes: 64 << 20})
			if err != nil {
				b.Fatal(err)
			}
			defer j.Close()
			entry := make([]byte, 100)
			var left atomic.Int64
			left.Store(int64(b.N))
			var group sync.WaitGroup
			b.ResetTimer()
			for range writers {
				group.Go(func() {
					for left.Add(-1) >= 0 {
						if _, err := j.AppendDurable(Fsync, entry); err != nil {
							b.Error(err)
							return
						}
					}
				})
			}
			group.Wait()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "entries/s")
			b.ReportMetric(float64(b.N)/float64(j.stats.syncs), "entries/sync")
		})
	}
}

// Writers that share a write get their own positions, their entries stay together, and where a write of all of them fails
// each gets its own result: what was acknowledged is there once, and what was refused for want of room is not.
func TestWritersShareWrites(t *testing.T) {
	var fail atomic.Bool
	writes := atomic.Int64{}
	fsys := vfs.Watch(vfs.OS, func(op, path string, size int) error {
		if op != "write" || !strings.HasSuffix(path, segmentSuffix) || size <= headerBytes {
			return nil
		}
		// Where there is little room a small write may fit when a large one does not.
		if n := writes.Add(1); fail.Load() && size > 200 && n%2 == 0 {
			return errors.New("no space left on device")
		}
		return nil
	})
	j, err := Open(t.TempDir(), Options{FS: fsys, SegmentBytes: 8 << 10})
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	acknowledged, refused, appends := map[string]Position{}, map[string]bool{}, int64(0)
	var done sync.WaitGroup
	for w := range 16 {
		done.Go(func() {
			r := rand.New(rand.NewPCG(uint64(w), 1))
			for i := range 25 {
				fail.Store(i > 12)
				entries := make([][]byte, 1+r.IntN(3))
				for k := range entries {
					entries[k] = fmt.Appendf(nil, "writer %d call %d entry %d of %d%s", w, i, k, len(entries), strings.Repeat(".", r.IntN(300)))
				}
				last := string(entries[len(entries)-1])
				position, err := j.AppendDurable(Fsync, entries...)
				mu.Lock()
				appends++
				if err == nil {
					acknowledged[last] = position
				} else {
					refused[last] = true
				}
				mu.Unlock()
			}
		})
	}
	done.Wait()
	if _, err := j.AppendDurable(Fsync, make([]byte, MaxEntry+1)); err == nil {
		t.Error("an entry was taken that is too large")
	}
	if writes.Load() >= appends || len(refused) == 0 {
		t.Errorf("%d writes for %d appends, %d refused", writes.Load(), appends, len(refused))
	}
	reader := j.Read(j.Begin())
	defer reader.Close()
	var open string // the call whose next entry has to follow
	next := 0
	for {
		entry, err := reader.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		text := string(entry.Data)
		var w, i, k, of int
		if _, err := fmt.Sscanf(text, "writer %d call %d entry %d of %d", &w, &i, &k, &of); err != nil {
			t.Fatal(err)
		}
		call := fmt.Sprint(w, " ", i)
		if k != next || k > 0 && call != open {
			t.Fatalf("%q follows %d entries of %q", text, next, open)
		}
		if open, next = call, k+1; next < of {
			continue
		}
		next = 0
		if refused[text] {
			t.Errorf("%q was refused, and is there", text)
		}
		if position, ok := acknowledged[text]; !ok || position != entry.Position {
			t.Errorf("%q ends at %v, its writer got %v", text, entry.Position, position)
		}
		delete(acknowledged, text)
	}
	if len(acknowledged) > 0 {
		t.Errorf("%d calls were acknowledged and are not there", len(acknowledged))
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := j.AppendDurable(Fsync, []byte("late")); !errors.Is(err, ErrClosed) {
		t.Error(err)
	}
}

// A segment that is begun early lets go of what was read before it was full.
func TestRoll(t *testing.T) {
	j := open(t, vfs.NewMemory(), 1<<20)
	if _, err := j.Subscribe("reader", false); err != nil {
		t.Fatal(err)
	}
	if err := j.Roll(0); err != nil || j.Stat().Segments != 1 {
		t.Fatalf("an empty segment was followed by another: %d segments, %v", j.Stat().Segments, err)
	}
	for i := range 100 {
		if _, err := j.Append(fmt.Appendf(nil, "entry %d", i)); err != nil {
			t.Fatal(err)
		}
	}
	if err := j.Roll(1 << 19); err != nil || j.Stat().Segments != 1 {
		t.Fatalf("%d segments, %v: fewer bytes than asked for began another", j.Stat().Segments, err)
	}
	if err := j.Roll(100); err != nil || j.Stat().Segments != 2 {
		t.Fatalf("%d segments, %v; want 2", j.Stat().Segments, err)
	}
	end := j.End()
	if _, err := j.Append([]byte("behind")); err != nil {
		t.Fatal(err)
	}
	if got := everything(t, j, 0); len(got) != 101 || got[100] != "behind" {
		t.Fatalf("%d entries, the last is %q", len(got), got[len(got)-1])
	}
	if err := j.Checkpoint("reader", end); err != nil {
		t.Fatal(err)
	}
	if got := everything(t, j, 0); j.Stat().Segments != 1 || len(got) != 1 || got[0] != "behind" {
		t.Fatalf("%d segments with %q are left, want the last one", j.Stat().Segments, got)
	}
}
