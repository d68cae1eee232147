package journal

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"cistern/services/platform/vfs"
)

// Any operation on the disk may fail, fsyncs too, and the power be cut at any: what AppendDurable acknowledged with Fsync is
// there, in its order, each entry once, and a checkpoint is never behind the end.
func TestFaultsAtAnyOperation(t *testing.T) {
	for name, options := range modes() {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(25) {
				r := rand.New(rand.NewPCG(seed, 15))
				memory := vfs.NewMemory()
				var left atomic.Int64
				var cut *vfs.Memory
				wrap := func() Options {
					o := options
					o.SegmentBytes = 400
					now := memory
					o.FS = vfs.Watch(memory, func(op, name string, _ int) error {
						if n := left.Add(-1); n != 0 || op == "lock" {
							return nil
						}
						if r.IntN(2) == 0 {
							cut = now.PowerCut(func(_ string, n int) int { return r.IntN(n + 1) })
							return nil
						}
						return errors.New("input/output error")
					})
					return o
				}
				j, err := Open("/j", wrap())
				if err != nil {
					t.Fatal(err)
				}
				if _, err := j.Subscribe("pin", false); err != nil {
					t.Fatal(err)
				}
				var attempted, acknowledged []string
				check := func(m *vfs.Memory, what string, under int) *Journal {
					t.Helper()
					o := options
					o.FS = m
					after, err := Open("/j", o)
					if err != nil {
						t.Fatalf("seed %d, %s: %v", seed, what, err)
					}
					got := everything(t, after, 0)
					next := 0
					for _, entry := range got { // in the order of the attempts, none twice
						at := slices.Index(attempted[next:], entry)
						if at < 0 {
							t.Fatalf("seed %d, %s: %q is there twice or out of order", seed, what, entry)
						}
						next += at + 1
					}
					for _, entry := range acknowledged[:len(acknowledged)-under] {
						if !slices.Contains(got, entry) {
							t.Fatalf("seed %d, %s: %q was acknowledged and is gone", seed, what, entry)
						}
					}
					if at, ok := after.Subscriber("pin"); !ok || at > after.End() {
						t.Fatalf("seed %d, %s: the checkpoint %s is behind the end %s", seed, what, at, after.End())
					}
					return after
				}
				for step := range 120 {
					what := fmt.Sprint("step ", step)
					left.Store(int64(r.IntN(40)))
					under := 0
					switch r.IntN(12) {
					case 0:
						left.Store(0)
						if memory = memory.PowerCut(func(_ string, n int) int { return r.IntN(n + 1) }); r.IntN(2) == 0 {
							memory = memory.Kill()
						}
						after := check(memory, what, 0)
						attempted = everything(t, after, 0) // nothing else can be there from now on
						if err := after.Close(); err != nil {
							t.Fatal(err)
						}
						if j, err = Open("/j", wrap()); err != nil {
							t.Fatal(err)
						}
					case 1:
						_ = j.Flush()
					case 2:
						_ = j.Mark("m", j.End())
					default:
						entry := fmt.Sprintf("%d-%d %s", seed, step, strings.Repeat("x", r.IntN(150)))
						attempted = append(attempted, entry)
						if _, err := j.AppendDurable(Fsync, []byte(entry)); err == nil {
							acknowledged, under = append(acknowledged, entry), 1
						}
					}
					left.Store(0)
					if cut != nil {
						if err := check(cut, what+", cut", under).Close(); err != nil {
							t.Fatal(err)
						}
						cut = nil
					}
				}
			}
		})
	}
}

// A file system over its quota refuses even to make a file shorter, as ZFS does: what a failed write left stays until there
// is room, and nothing is written behind it. Nor does it keep a journal from being opened and read.
func TestFailedWriteThatCannotBeTakenBack(t *testing.T) {
	for _, shared := range []bool{false, true} {
		memory := vfs.NewMemory()
		full := false
		quota := func(op, _ string, _ int) error {
			if full && (op == "write" || op == "truncate" || op == "create") {
				return errors.New("disk quota exceeded")
			}
			return nil
		}
		o := Options{FS: vfs.Watch(memory, quota), SegmentBytes: 1000, Shared: shared}
		open := func() *Journal {
			t.Helper()
			j, err := Open("/journal", o)
			if err != nil {
				t.Fatalf("shared %v: %v", shared, err)
			}
			return j
		}
		j := open()
		var want []string
		add := func(text string) {
			t.Helper()
			if _, err := j.AppendDurable(Fsync, []byte(text)); err != nil {
				t.Fatalf("shared %v: %v", shared, err)
			}
			want = append(want, text)
		}
		check := func() {
			t.Helper()
			if got := everything(t, j, 0); !slices.Equal(got, want) {
				t.Errorf("shared %v: %q, want %q", shared, got, want)
			}
		}
		add("first")
		full = true
		for range 3 {
			if _, err := j.Append(bytes.Repeat([]byte("x"), 500)); err == nil {
				t.Fatal("taken on a full disk")
			}
			check()
		}
		full = false
		add("second")
		full = true
		// The same, with a new segment in between, and a process that is killed.
		if _, err := j.Append(bytes.Repeat([]byte("y"), 300)); err == nil {
			t.Fatal("taken on a full disk")
		}
		full = false
		add(strings.Repeat("z", 900))
		full = true
		if _, err := j.Append([]byte("fourth")); err == nil {
			t.Fatal("taken on a full disk")
		}
		o.FS = vfs.Watch(memory.Kill(), quota)
		j = open()
		check()
		if _, err := j.Append([]byte("fifth")); err == nil {
			t.Fatal("taken on a full disk")
		}
		full = false
		add("sixth")
		check()
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
		j = open()
		check()
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
