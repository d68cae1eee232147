package journal

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"testing"

	"cistern/services/platform/vfs"
)

// A reader of a shared journal looks at the disk, which must not make its process's writer believe that it had seen to
// what the others did there: it would write to the segment before the last, or behind a torn tail.
func TestSharedReaderLeavesTheWriterAlone(t *testing.T) {
	memory := vfs.NewMemory()
	open := func() *Journal {
		j, err := Open("/j", Options{FS: memory, Shared: true, SegmentBytes: 200})
		if err != nil {
			t.Fatal(err)
		}
		return j
	}
	one, other := open(), open()
	var want []string
	add := func(j *Journal, n int) {
		t.Helper()
		text := fmt.Sprintf("entry %d, of some length", n)
		at, err := j.Append([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if want = append(want, text); at != j.End() {
			t.Fatalf("entry %d is at %s, the journal ends at %s", n, at, j.End())
		}
	}
	reader := one.Read(0)
	defer reader.Close()
	var got []string
	read := func() {
		t.Helper()
		for {
			entry, err := reader.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, string(entry.Data))
		}
	}
	for n := range 60 {
		add(other, n*3)
		add(other, n*3+1)
		read()
		if n%7 == 3 { // a writer that died in its turn
			segments, err := memory.List("/j")
			if err != nil {
				t.Fatal(err)
			}
			last := ""
			for _, entry := range segments {
				if _, ok := parseSegmentName(entry.Name); ok {
					last = entry.Name
				}
			}
			file, err := memory.Append("/j/" + last)
			if err != nil {
				t.Fatal(err)
			}
			_, _ = file.Write(appendEntry(nil, []byte("never acknowledged"))[:12])
			read()
		}
		add(one, n*3+2)
	}
	read()
	if !slices.Equal(got, want) {
		t.Errorf("%d entries were read, want %d:\n%q\n%q", len(got), len(want), got, want)
	}
	if all := everything(t, other, 0); !slices.Equal(all, want) {
		t.Errorf("the other process reads %d entries, want %d", len(all), len(want))
	}
	if err := one.Close(); err != nil {
		t.Fatal(err)
	}
	if err := other.Close(); err != nil {
		t.Fatal(err)
	}
}
