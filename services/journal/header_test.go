package journal

import (
	"fmt"
	"slices"
	"testing"

	"cistern/services/platform/vfs"
)

// A segment whose header is damaged holds its entries still, whichever it is: they are read, the journal opens and goes on.
func TestDamagedHeader(t *testing.T) {
	for name, options := range modes() {
		t.Run(name, func(t *testing.T) {
			for which := range 3 {
				memory := vfs.NewMemory()
				options.FS, options.SegmentBytes = memory, 300
				j, err := Open("/j", options)
				if err != nil {
					t.Fatal(err)
				}
				var want []string
				add := func() {
					t.Helper()
					want = append(want, fmt.Sprintf("entry %d of some length", len(want)))
					if _, err := j.Append([]byte(want[len(want)-1])); err != nil {
						t.Fatal(err)
					}
				}
				for len(want) < 50 || j.Stat().Segments < 3 {
					add()
				}
				segments := append([]segment(nil), j.segments...)
				if err := j.Close(); err != nil {
					t.Fatal(err)
				}
				damaged := segments[[]int{0, len(segments) / 2, len(segments) - 1}[which]]
				path := "/j/" + segmentName(damaged.base)
				content, err := vfs.ReadFile(memory, path)
				if err != nil {
					t.Fatal(err)
				}
				content[9] ^= 1
				file, err := memory.Create(path)
				if err != nil {
					t.Fatal(err)
				}
				_, _ = file.Write(content)
				for range 2 {
					if j, err = Open("/j", options); err != nil {
						t.Fatalf("segment %d: %v", which, err)
					}
					if got := everything(t, j, 0); !slices.Equal(got, want) {
						t.Fatalf("segment %d: %d entries, want %d", which, len(got), len(want))
					}
					add()
					if err := j.Flush(); err != nil {
						t.Fatal(err)
					}
					if got := everything(t, j, 0); !slices.Equal(got, want) {
						t.Fatalf("segment %d: %d entries after another one, want %d", which, len(got), len(want))
					}
					if err := j.Close(); err != nil {
						t.Fatal(err)
					}
				}
			}
		})
	}
}
