package journal

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"cistern/services/platform/vfs"
)

// modes is every way a journal can be.
func modes() map[string]Options {
	return map[string]Options{
		"plain": {}, "compressed": {Compress: true}, "pre-commit": {PreCommit: MinPreCommit},
		"pre-commit, compressed": {PreCommit: MinPreCommit, Compress: true}, "shared": {Shared: true},
		"shared, compressed": {Shared: true, Compress: true},
	}
}

// model is a journal in the simplest form.
type model struct {
	entries     []string
	ends        []Position // behind each entry
	flushed     int        // how many are in segments for certain
	synced      int        // how many a power cut leaves for certain
	subscribers map[string]int
	marks       map[string]int
}

func (m *model) index(at Position) int {
	n, _ := slices.BinarySearch(m.ends, at)
	for n < len(m.ends) && m.ends[n] <= at {
		n++
	}
	return n
}

// Random operations against the model: appends of all sizes, reads from every kind of position, checkpoints, rewinding,
// marks, failed writes, kills, power cuts and clean restarts, in every mode.
func TestAgainstModel(t *testing.T) {
	for name, options := range modes() {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(12) {
				againstModel(t, options, rand.New(rand.NewPCG(seed, 5)))
			}
		})
	}
}

func againstModel(t *testing.T, options Options, r *rand.Rand) {
	memory, failing := vfs.NewMemory(), false
	wrap := func() Options {
		o := options
		o.SegmentBytes = 3000
		o.FS = vfs.Watch(memory, func(op, _ string, _ int) error {
			if failing && op == "write" && r.IntN(2) == 0 {
				return errors.New("no space left on device")
			}
			return nil
		})
		return o
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	j, err := Open("/j", wrap())
	must(err)
	m := &model{subscribers: map[string]int{}, marks: map[string]int{}}
	_, err = j.Subscribe("pin", false) // keeps everything, so that the model can be compared from the beginning
	must(err)
	position := func(n int) Position {
		if n == 0 {
			return 0
		}
		return m.ends[n-1]
	}
	check := func(from int) {
		t.Helper()
		must(j.Flush())
		m.flushed = len(m.entries)
		if got, want := everything(t, j, position(from)), m.entries[from:]; !slices.Equal(got, want) {
			t.Fatalf("from %d: %d entries, want %d\n%.200q\n%.200q", from, len(got), len(want), got, want)
		}
	}
	names := []string{"a", "b", "c"}
	for range 300 {
		who := names[r.IntN(len(names))]
		switch r.IntN(16) {
		case 0: // clean restart
			must(j.Close())
			m.flushed, m.synced = len(m.entries), len(m.entries)
			j, err = Open("/j", wrap())
			must(err)
		case 1: // kill: nothing is lost
			memory = memory.Kill()
			j, err = Open("/j", wrap())
			must(err)
			m.flushed, m.synced = len(m.entries), len(m.entries)
			check(0)
		case 2: // power cut: a beginning is left, what was synced in it
			memory = memory.PowerCut(func(_ string, n int) int { return r.IntN(n + 1) })
			j, err = Open("/j", wrap())
			must(err)
			got := everything(t, j, 0)
			if len(got) < m.synced || len(got) > len(m.entries) || !slices.Equal(got, m.entries[:len(got)]) {
				t.Fatalf("after a power cut %d entries are left of %d, %d were synced", len(got), len(m.entries), m.synced)
			}
			m.entries, m.ends = m.entries[:len(got)], m.ends[:len(got)]
			m.flushed, m.synced = len(got), len(got)
			for name, n := range m.subscribers {
				if n > len(got) {
					t.Fatalf("the checkpoint of %s is behind the end", name)
				}
			}
		case 3:
			must(j.Flush()) // End is that of the segments
			must(j.Sync(j.End()))
			m.flushed, m.synced = len(m.entries), len(m.entries)
		case 4:
			check(r.IntN(len(m.entries) + 1))
		case 5:
			must(j.Flush())
			m.flushed = len(m.entries)
			n := r.IntN(len(m.entries) + 1)
			_, known := m.subscribers[who]
			if _, err := j.SubscribeAt(who, position(n)); err != nil {
				t.Fatal(err)
			}
			if !known {
				m.subscribers[who], m.synced = n, max(m.synced, n)
			}
		case 6:
			if now, ok := m.subscribers[who]; ok && len(m.entries) > now {
				must(j.Flush())
				n := now + r.IntN(len(m.entries)-now+1)
				must(j.Checkpoint(who, position(n)))
				m.subscribers[who], m.synced = n, max(m.synced, n)
			}
		case 7:
			if now, ok := m.subscribers[who]; ok {
				n := r.IntN(now + 1)
				must(j.Rewind(who, position(n)))
				m.subscribers[who] = n
			}
		case 8:
			must(j.Flush())
			n := r.IntN(len(m.entries) + 1)
			must(j.Mark(who, position(n)))
			m.marks[who], m.synced = n, max(m.synced, n)
		case 9:
			must(j.Unmark(who))
			delete(m.marks, who)
		case 10: // a full disk: all of a batch or nothing of it
			failing = true
			fallthrough
		default:
			var batch [][]byte
			for range 1 + r.IntN(6) {
				size := r.IntN(200)
				if r.IntN(30) == 0 {
					size = r.IntN(9000)
				}
				batch = append(batch, fmt.Appendf(nil, "%d %s", len(m.entries)+len(batch), strings.Repeat("x", size)))
			}
			at, err := j.Append(batch...)
			failing = false
			if err != nil {
				break
			}
			before := Position(0)
			if n := len(m.ends); n > 0 {
				before = m.ends[n-1]
			}
			if at <= before {
				t.Fatalf("position %s after %s", at, before)
			}
			for i, one := range batch {
				m.entries = append(m.entries, string(one))
				// Only the last one's position is returned; the others' are found by reading.
				m.ends = append(m.ends, at)
				if i < len(batch)-1 {
					m.ends[len(m.ends)-1] = 0
				}
			}
			must(j.Flush())
			reader := j.Read(before)
			for i := len(m.entries) - len(batch); i < len(m.entries); i++ {
				entry, err := reader.Next()
				if err != nil || string(entry.Data) != m.entries[i] {
					t.Fatalf("entry %d: %q %v", i, entry.Data, err)
				}
				m.ends[i] = entry.Position
			}
			reader.Close()
			if r.IntN(3) == 0 { // leave something in the buffer for what comes next
				at, err := j.Append([]byte("tail"))
				must(err)
				m.entries, m.ends = append(m.entries, "tail"), append(m.ends, at)
			}
		}
		for name, n := range m.subscribers {
			if at, ok := j.Subscriber(name); !ok || m.index(at) != n && at != position(n) {
				t.Fatalf("%s stands at %s, want entry %d", name, at, n)
			}
		}
		for name, n := range m.marks {
			if at, ok := j.Marked(name); !ok || at != position(n) {
				t.Fatalf("the mark %s is at %s, want entry %d", name, at, n)
			}
		}
	}
	check(0)
	must(j.Close())
}

// A mark pins the journal; without it what was passed is gone, and going back is an error.
func TestMarksPin(t *testing.T) {
	j := open(t, vfs.NewMemory(), 100)
	if _, err := j.Subscribe("a", false); err != nil {
		t.Fatal(err)
	}
	var at []Position
	for i := range 20 {
		end, _ := j.Append(fmt.Appendf(nil, "0123456789 %d", i))
		at = append(at, end)
	}
	if err := j.Mark("before the update", at[4]); err == nil {
		t.Fatal("a name with blanks was taken")
	}
	if err := j.Mark("before-the-update", at[4]); err != nil {
		t.Fatal(err)
	}
	if err := j.Checkpoint("a", at[19]); err != nil {
		t.Fatal(err)
	}
	if err := j.Rewind("a", at[4]); err != nil {
		t.Fatal(err)
	}
	if got := everything(t, j, at[4]); len(got) != 15 {
		t.Fatalf("%d entries", len(got))
	}
	if err := j.Rewind("a", at[10]); err == nil {
		t.Fatal("going forward was taken for rewinding")
	}
	if err := j.Checkpoint("a", at[19]); err != nil {
		t.Fatal(err)
	}
	if err := j.Unmark("before-the-update"); err != nil {
		t.Fatal(err)
	}
	if err := j.Rewind("a", at[4]); err == nil || !strings.Contains(err.Error(), "was removed") {
		t.Fatalf("%v", err)
	}
}

// The pre-commit buffer is written by time, and by its size.
func TestFlushEvery(t *testing.T) {
	j, err := Open("/j", Options{FS: vfs.NewMemory(), PreCommit: MinPreCommit, FlushEvery: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	if _, err := j.Append([]byte("one")); err != nil {
		t.Fatal(err)
	}
	for len(everything(t, j, 0)) == 0 {
		time.Sleep(time.Millisecond)
	}
	if stat := j.Stat(); stat.Pending != 0 || stat.Flushes != 1 || stat.Entries != 1 {
		t.Fatalf("%+v", stat)
	}
	for _, o := range []Options{{PreCommit: 10}, {PreCommit: MaxPreCommit + 1}, {PreCommit: MinPreCommit, Shared: true}} {
		o.FS = vfs.NewMemory()
		if _, err := Open("/j", o); err == nil {
			t.Errorf("%+v was taken", o)
		}
	}
}

// TestHelperProcess is not a test: it is what the other processes of TestSharedProcesses run.
func TestHelperProcess(t *testing.T) {
	folder := os.Getenv("CISTERN_JOURNAL_SHARED")
	if folder == "" {
		return
	}
	j, err := Open(folder, Options{Shared: true, SegmentBytes: 20_000})
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; ; i++ {
		if _, err := j.Append(fmt.Appendf(nil, "%s %d", os.Getenv("CISTERN_JOURNAL_WRITER"), i)); err != nil {
			t.Fatal(err)
		}
		if i == 10 {
			fmt.Println("ready")
		}
	}
}

// Processes write one journal side by side, and some are killed: each one's entries are there in their order, none
// twice, none torn, and the others go on.
func TestSharedProcesses(t *testing.T) {
	folder := t.TempDir()
	j, err := Open(folder, Options{Shared: true, SegmentBytes: 20_000})
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	var done sync.WaitGroup
	for w := range 3 {
		command := exec.Command(os.Args[0], "-test.run=^TestHelperProcess$")
		command.Env = append(os.Environ(), "CISTERN_JOURNAL_SHARED="+folder, fmt.Sprintf("CISTERN_JOURNAL_WRITER=writer%d", w))
		out, err := command.StdoutPipe()
		if err == nil {
			err = command.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		done.Go(func() {
			buffer := make([]byte, 5)
			if _, err := io.ReadFull(out, buffer); err != nil {
				t.Error(err)
			}
			time.Sleep(time.Duration(w+1) * 30 * time.Millisecond)
			_ = command.Process.Kill()
			_ = command.Wait()
		})
	}
	for i := range 300 {
		if _, err := j.Append(fmt.Appendf(nil, "parent %d", i)); err != nil {
			t.Fatal(err)
		}
	}
	done.Wait()
	if _, err := j.Append([]byte("parent 300")); err != nil {
		t.Fatal(err)
	}
	next := map[string]int{}
	reader := j.Read(0)
	defer reader.Close()
	for {
		entry, err := reader.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		var who string
		var n int
		if _, err := fmt.Sscan(string(entry.Data), &who, &n); err != nil || n != next[who] {
			t.Fatalf("%q after %d of %s: %v", entry.Data, next[who], who, err)
		}
		next[who]++
	}
	if len(next) != 4 || next["parent"] != 301 || next["writer0"] < 10 || reader.Skipped > 0 {
		t.Fatalf("%v, %d bytes skipped", next, reader.Skipped)
	}
}

func FuzzGroup(f *testing.F) {
	var g group
	g.add([]byte("hello hello hello hello hello hello"))
	g.add(nil)
	f.Add(g.append(nil)[entryHeaderBytes:])
	f.Fuzz(func(t *testing.T, data []byte) {
		_, _, _ = unpack(data, nil)
		memory := vfs.NewMemory()
		file, _ := memory.Create("/j/" + segmentName(0))
		_, _ = file.Write(makeHeader(0, flagGroups))
		_, _ = file.Write(appendRecord(nil, data, grouped))
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

// The goals are stated for a million entries of a hundred bytes, and one writer.
func BenchmarkEntries(b *testing.B) {
	entry := make([]byte, 100)
	for i := range entry {
		entry[i] = byte("GET /api/v1/query status=200 "[i%29] + byte(i/29))
	}
	for _, c := range []struct {
		name    string
		options Options
	}{
		{"precommit", Options{PreCommit: 128 << 10, SegmentBytes: 64 << 20}},
		{"precommit-lz4", Options{PreCommit: 128 << 10, Compress: true, SegmentBytes: 64 << 20}},
		{"write-each", Options{SegmentBytes: 64 << 20}},
	} {
		b.Run(c.name, func(b *testing.B) {
			j, err := Open(b.TempDir(), c.options)
			if err != nil {
				b.Fatal(err)
			}
			defer j.Close()
			if _, err := j.Subscribe("x", false); err != nil {
				b.Fatal(err)
			}
			n := 0
			for b.Loop() {
				at, err := j.Append(entry)
				if err != nil {
					b.Fatal(err)
				}
				if n++; n%2_000_000 == 0 { // bounded on the disk
					if err := errors.Join(j.Flush(), j.Checkpoint("x", at)); err != nil {
						b.Fatal(err)
					}
				}
			}
			b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "entries/s")
		})
	}
	b.Run("read", func(b *testing.B) {
		j, err := Open(b.TempDir(), Options{PreCommit: 128 << 10, SegmentBytes: 32 << 20})
		if err != nil {
			b.Fatal(err)
		}
		defer j.Close()
		for range 1_000_000 {
			if _, err := j.Append(entry); err != nil {
				b.Fatal(err)
			}
		}
		if err := j.Flush(); err != nil {
			b.Fatal(err)
		}
		n := 0
		reader := j.Read(0)
		for b.Loop() {
			if _, err := reader.Next(); errors.Is(err, io.EOF) {
				reader.Close()
				reader = j.Read(0)
			} else if err != nil {
				b.Fatal(err)
			}
			n++
		}
		reader.Close()
		b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "entries/s")
	})
	for _, writers := range []int{1, 64} {
		b.Run(fmt.Sprintf("fsync-%d-writers", writers), func(b *testing.B) {
			j, err := Open(b.TempDir(), Options{SegmentBytes: 64 << 20})
			if err != nil {
				b.Fatal(err)
			}
			defer j.Close()
			work := make(chan struct{}, 1024)
			var done sync.WaitGroup
			for range writers {
				done.Go(func() {
					for range work {
						if _, err := j.AppendDurable(Fsync, entry); err != nil {
							b.Error(err)
						}
					}
				})
			}
			n := 0
			for b.Loop() {
				work <- struct{}{}
				n++
			}
			close(work)
			done.Wait()
			b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "entries/s")
		})
	}
}

// BenchmarkLimit is the least that the pre-commit path must do: a header, a checksum, a copy into a mapping, and a write
// when it is full.
func BenchmarkLimit(b *testing.B) {
	folder := b.TempDir()
	m, err := vfs.OS.Map(folder+"/map", 128<<10)
	if err != nil {
		b.Fatal(err)
	}
	defer m.Close()
	file, err := vfs.OS.Create(folder + "/out")
	if err != nil {
		b.Fatal(err)
	}
	defer file.Close()
	entry, bytes, at, n := make([]byte, 100), m.Bytes(), 0, 0
	for b.Loop() {
		if at+108 > len(bytes) {
			if _, err := file.Write(bytes[:at]); err != nil {
				b.Fatal(err)
			}
			at = 0
			if n > 20_000_000 {
				_ = file.Truncate(0)
			}
		}
		record := bytes[at : at+108]
		copy(record[8:], entry)
		record[0], record[3] = 100, 128
		sum := recordSum(100|present, entry)
		record[4], record[5], record[6], record[7] = byte(sum), byte(sum>>8), byte(sum>>16), byte(sum>>24)
		at += 108
		n++
	}
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "entries/s")
}

// What an interval makes durable is everything that was appended before, also what was only in the pre-commit buffer while
// the segments themselves were durable already.
func TestIntervalCoversTheBuffer(t *testing.T) {
	memory := vfs.NewMemory()
	j, err := Open("/j", Options{FS: memory, PreCommit: MinPreCommit})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := j.Append([]byte("buffered")); err != nil {
		t.Fatal(err)
	}
	if err := j.syncAll(); err != nil {
		t.Fatal(err)
	}
	after, err := Open("/j", Options{FS: memory.PowerCut(nil)})
	if err != nil {
		t.Fatal(err)
	}
	if got := everything(t, after, 0); len(got) != 1 {
		t.Fatalf("%q are left", got)
	}
}

// What comes after SkipTo lies behind the place, also after a restart; a place that was passed changes nothing.
func TestSkipTo(t *testing.T) {
	for name, options := range modes() {
		t.Run(name, func(t *testing.T) {
			options.FS = vfs.NewMemory()
			j, err := Open("/j", options)
			if err != nil {
				t.Fatal(err)
			}
			for _, to := range []Position{5000, 5000, 10, 9000} {
				if _, err := j.Append([]byte("before")); err != nil {
					t.Fatal(err)
				}
				if err := j.SkipTo(to); err != nil {
					t.Fatal(err)
				}
				at, err := j.Append([]byte("behind"))
				if err != nil || at <= to {
					t.Fatalf("%s behind %s: %v", at, to, err)
				}
				if err := j.Close(); err != nil {
					t.Fatal(err)
				}
				if j, err = Open("/j", options); err != nil {
					t.Fatal(err)
				}
				if got := everything(t, j, to); len(got) == 0 || got[len(got)-1] != "behind" {
					t.Fatalf("%q", got)
				}
			}
			if got := everything(t, j, 0); len(got) != 8 {
				t.Fatalf("%q", got)
			}
			if err := j.Close(); err != nil {
				t.Fatal(err)
			}
		})
	}
}
