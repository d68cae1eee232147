package journal

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"cistern/services/platform/golden"
	"cistern/services/platform/vfs"
)

// goldenEntries are what the golden journals hold. They must never change: those of released versions have them.
func goldenEntries() (all []string) {
	for i := range 40 {
		all = append(all, fmt.Sprintf("entry %d ", i)+strings.Repeat("abc", i))
	}
	return append(all, "", "\x00\xff")
}

// goldenJournal appends them in batches, and leaves a subscriber after the tenth and a mark after the third; the process
// then dies. Subscriber "new" has read nothing.
func goldenJournal(t *testing.T, o Options) golden.Files {
	memory := vfs.NewMemory()
	o.FS = memory
	j, err := Open("/j", o)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"mail", "new"} {
		if _, err := j.Subscribe(name, false); err != nil {
			t.Fatal(err)
		}
	}
	batches := slices.Collect(slices.Chunk(goldenEntries(), 6))
	add := func(batches [][]string, durable bool) {
		var end Position
		for _, batch := range batches {
			var entries [][]byte
			for _, entry := range batch {
				entries = append(entries, []byte(entry))
			}
			if end, err = j.Append(entries...); err != nil {
				t.Fatal(err)
			}
		}
		if durable {
			if err := j.Sync(end); err != nil {
				t.Fatal(err)
			}
		}
	}
	add(batches[:2], true)
	reader := j.Read(0)
	defer reader.Close()
	for i := range 10 {
		entry, err := reader.Next()
		if err != nil {
			t.Fatal(err)
		}
		switch i {
		case 2:
			err = j.Mark("here", entry.Position)
		case 9:
			err = j.Checkpoint("mail", entry.Position)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	add(batches[2:], o.PreCommit == 0) // else they stay in the buffer
	files, err := golden.Dump(memory.Kill(), "/j")
	if err != nil {
		t.Fatal(err)
	}
	delete(files, "LOCK")
	return files
}

func checkGoldenJournal(t *testing.T, files golden.Files) {
	memory := vfs.NewMemory()
	if err := golden.Load(memory, "/j", files); err != nil {
		t.Fatal(err)
	}
	j := open(t, memory, 0)
	defer j.Close()
	want := goldenEntries()
	mail, _ := j.Subscriber("mail")
	fresh, known := j.Subscriber("new")
	mark, marked := j.Marked("here")
	for from, list := range map[Position][]string{0: want, fresh: want, mail: want[10:], mark: want[3:]} {
		if got := everything(t, j, from); !slices.Equal(got, list) {
			t.Errorf("from %v: %q, want %q", from, got, list)
		}
	}
	if !known || !marked || mail == 0 || mark == 0 {
		t.Errorf("mail %v, new %v %v, here %v %v", mail, fresh, known, mark, marked)
	}
	if stat := j.Stat(); stat.Damaged != 0 {
		t.Errorf("%+v", stat)
	}
}

// Journals that other versions left are read: segments of plain entries, of groups, and the pre-commit buffer.
func TestGolden(t *testing.T) {
	for set, o := range map[string]Options{
		"journal": {SegmentBytes: 700}, "journal-groups": {SegmentBytes: 700, Compress: true}, "journal-precommit": {PreCommit: MinPreCommit},
	} {
		t.Run(set, func(t *testing.T) {
			golden.Check(t, set, func(t *testing.T) golden.Files { return goldenJournal(t, o) }, checkGoldenJournal)
		})
	}
}
