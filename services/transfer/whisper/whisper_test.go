package whisper

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"cistern/services/transfer"
)

type line struct {
	width, time int64
	value       float64
}

// fetched is what Graphite's own library gave of the files (testdata/make.py).
func fetched(t *testing.T) map[string][]line {
	t.Helper()
	f, err := os.Open("testdata/expected.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	all := map[string][]line{}
	for in := bufio.NewScanner(f); in.Scan(); {
		var name string
		var one line
		if _, err := fmt.Sscan(in.Text(), &name, &one.width, &one.time, &one.value); err != nil {
			t.Fatal(err)
		}
		all[name] = append(all[name], one)
	}
	return all
}

// Of each time the finest archive's value is taken, as Graphite's library reads it; what only a coarser one knows is there too.
func TestRead(t *testing.T) {
	expected := fetched(t)
	if len(expected) != 2 {
		t.Fatal(len(expected))
	}
	for name, lines := range expected {
		f, err := os.Open(filepath.Join("testdata/tree", name))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		info, err := f.Stat()
		if err != nil {
			t.Fatal(err)
		}
		points, method, stray, err := Read(f, info.Size())
		if err != nil || stray != 0 || method == "" {
			t.Fatal(method, stray, err)
		}
		got := map[int64]float64{}
		for i, p := range points {
			got[p.Time] = p.Value
			if i > 0 && p.Time <= points[i-1].Time {
				t.Fatalf("%s: %d comes behind %d", name, p.Time, points[i-1].Time)
			}
		}
		known := map[[2]any]bool{}
		first := int64(math.MaxInt64) // of all archives that are finer than the one at hand
		slices.SortStableFunc(lines, func(a, b line) int { return int(a.width - b.width) })
		var finer []line
		for i, l := range lines {
			known[[2]any{l.time, l.value}] = true
			if i > 0 && lines[i-1].width != l.width {
				finer = lines[:i]
				first = slices.MinFunc(finer, func(a, b line) int { return int(a.time - b.time) }).time
			}
			covered := slices.ContainsFunc(finer, func(f line) bool { return f.time >= l.time && f.time < l.time+l.width })
			if v, there := got[l.time]; (!covered || l.time < first) && (!there || v != l.value) {
				t.Errorf("%s: %d of the archive of %d s is %v %v, want %v", name, l.time, l.width, v, there, l.value)
			}
		}
		for at, v := range got {
			if !known[[2]any{at, v}] {
				t.Errorf("%s: nobody else has %v at %d", name, v, at)
			}
		}
	}
}

// The series of a file are those of carbon's lines.
func TestLabels(t *testing.T) {
	for file, want := range map[string]string{
		"servers/web1/load.wsp": `{__name__="servers.web1.load"}`,
		"load.wsp":              `{__name__="load"}`,
		"_tagged/1a2/b3c/disk_DOT_used;dc=dc1;rack=a.wsp": `{__name__="disk.used", dc="dc1", rack="a"}`,
		"_tagged/1a2/b3c/x;a=1;a=2.wsp":                   `{__name__="x", a="2"}`,
	} {
		if set, err := Labels(file); err != nil || set.String() != want {
			t.Errorf("%s: %v %v, want %s", file, set, err, want)
		}
	}
	for _, file := range []string{"_tagged/1a2/b3c/" + strings.Repeat("a", 64) + ".wsp", "_tagged/a/b/x;y.wsp", "_tagged/a/b/x;__name__=y.wsp"} {
		if set, err := Labels(file); err == nil {
			t.Errorf("%s: %v", file, set)
		}
	}
}

// A file that cannot be read is named, and the others are read.
func TestDamagedFiles(t *testing.T) {
	folder := t.TempDir()
	good, err := os.ReadFile("testdata/tree/servers/web1/load.wsp")
	if err != nil {
		t.Fatal(err)
	}
	put := func(name string, content []byte) {
		if err := os.WriteFile(filepath.Join(folder, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	change := func(at int, v uint32) []byte {
		other := slices.Clone(good)
		binary.BigEndian.PutUint32(other[at:], v)
		return other
	}
	put("a.wsp", good)
	put("cut.wsp", good[:len(good)-1])
	put("short.wsp", good[:10])
	put("empty.wsp", nil)
	put("text.wsp", []byte("dear all, this is not a whisper file"))
	put("many.wsp", change(12, math.MaxUint32))
	put("huge.wsp", change(24, math.MaxUint32))
	put("still.wsp", change(20, 0))
	put("far.wsp", change(16, math.MaxUint32))
	put("z.wsp", good)
	if err := os.Symlink(folder, filepath.Join(folder, "loop")); err != nil {
		t.Fatal(err)
	}
	s, err := Open(folder)
	if err != nil {
		t.Fatal(err)
	}
	var damaged, read []string
	err = s.Walk(t.Context(), transfer.Walk{Selection: transfer.Everything(),
		Damaged: func(where string, why error, _ int64) { damaged = append(damaged, where+": "+why.Error()) },
		Use:     func(p *transfer.Part) error { read = append(read, p.Labels.Get(transfer.NameLabel)); return nil }})
	if err != nil || len(damaged) != 8 || strings.Join(read, " ") != "a z" {
		t.Errorf("%v; %s; %s", err, strings.Join(damaged, "\n"), read)
	}
	if _, err := Open(t.TempDir()); err == nil || !strings.Contains(err.Error(), "no whisper files") {
		t.Error(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if err := s.Walk(ctx, transfer.Walk{Selection: transfer.Everything(), Use: func(*transfer.Part) error { return nil }}); err == nil {
		t.Error("it goes on when it should stop")
	}
}

func FuzzRead(f *testing.F) {
	for _, name := range []string{"servers/web1/load.wsp", "empty.wsp"} {
		content, err := os.ReadFile(filepath.Join("testdata/tree", name))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(content)
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		points, _, _, err := Read(bytes.NewReader(content), int64(len(content)))
		if err == nil && len(points)*pointBytes > 2*len(content) {
			t.Fatalf("%d points of %d bytes", len(points), len(content))
		}
	})
}
