package compressestimate

import (
	"bytes"
	"context"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
)

func seeded() *rand.Rand { return rand.New(rand.NewPCG(1, 2)) }

func TestBlocksAreStoredInWholeSectors(t *testing.T) {
	for _, c := range []struct{ block, compressed, want int }{
		{131072, 131072, 131072}, // does not compress
		{131072, 114689, 131072}, // saves less than an eighth
		{131072, 114688, 114688}, // exactly an eighth
		{131072, 60000, 61440},   // rounded up to a sector
		{131072, 1, 4096},
		{4096, 100, 4096}, // a sector is a sector
		{2048, 100, 2048}, // and never more than the block
		{16384, 4097, 8192},
	} {
		if got := stored(c.block, c.compressed); got != c.want {
			t.Errorf("a block of %d that compresses to %d takes %d, want %d", c.block, c.compressed, got, c.want)
		}
	}
}

func TestZle(t *testing.T) {
	for text, want := range map[string]int{
		"":                                    0,
		"a":                                   2, // how many, and the byte
		"\x00\x00\x00":                        1,
		string(make([]byte, 192)):             1,
		string(make([]byte, 193)):             2,
		"ab\x00c":                             5, // one zero stays among the others
		"ab\x00\x00\x00c":                     3 + 1 + 2,
		string(bytes.Repeat([]byte("a"), 65)): 65 + 2,
	} {
		if got := (zle{}).size([]byte(text)); got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
	}
}

func TestLzjb(t *testing.T) {
	// Too short for any repetition: the bytes, and a byte of flags for each eight.
	if got := (&lzjb{}).size(bytes.Repeat([]byte("a"), 66)); got != 66+9 {
		t.Errorf("66 bytes become %d", got)
	}
	// The first byte as it is, then repetitions of 66 until fewer than 66 are left, which are as they are.
	n := 1 + 66*10
	left := 65
	steps := 1 + 10 + left
	if got, want := (&lzjb{}).size(bytes.Repeat([]byte("a"), n+left)), 1+10*2+left+(steps+7)/8; got != want {
		t.Errorf("%d equal bytes become %d, want %d", n+left, got, want)
	}
}

func TestLz4(t *testing.T) {
	random := make([]byte, 131072)
	r := seeded()
	for i := range random {
		random[i] = byte(r.Uint32())
	}
	if got := (&lz4{}).size(random); got <= len(random) {
		t.Errorf("random bytes become %d", got)
	}
	// A token, the first literal, one match to the end but for five: 255 bytes of length each byte.
	equal := bytes.Repeat([]byte("a"), 131072)
	if got, want := (&lz4{}).size(equal), 4+1+1+2+1+(131072-1-5-4-15)/255+1+5; got != want {
		t.Errorf("equal bytes become %d, want %d", got, want)
	}
}

// lines is text of a log: it compresses three to six times.
func lines(n int) []byte {
	r := seeded()
	var b bytes.Buffer
	for b.Len() < n {
		b.WriteString("10.0.")
		b.WriteByte(byte('0' + r.IntN(10)))
		b.WriteString(".7 - - GET /products/")
		for range 4 {
			b.WriteByte(byte('0' + r.IntN(10)))
		}
		b.WriteString(" HTTP/1.1 200\n")
	}
	return b.Bytes()[:n]
}

func TestTreeIsSampled(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, content []byte) {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("deep/er/log", lines(1<<20+5))
	write("small", lines(700))
	write("empty", nil)
	write("sparse", make([]byte, 512<<10))
	if err := os.Symlink("/etc/passwd", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	all, err := Estimate(context.Background(), NewTree(root, 131072), 64<<20, seeded())
	if err != nil {
		t.Fatal(err)
	}
	// Nine blocks of the log, the last padded to a whole one; one of 1,024 bytes; four holes.
	if all.SampledBlocks != 14 || all.Holes != 4 || all.SampledBytes != 13*131072+1024 || all.BlockBytes != 131072 {
		t.Errorf("sampled %+v", all)
	}
	ratio := map[string]float64{}
	for _, l := range all.Levels {
		ratio[l.Compression] = l.Ratio
		if l.Compression != "off" && l.NanosecondsPerByte <= 0 {
			t.Errorf("%s costs nothing", l.Compression)
		}
	}
	if ratio["off"] != 1 || ratio["zle"] > 1.2 || ratio["lz4"] < 1.5 || ratio["zstd-3"] <= ratio["lz4"] || ratio["zstd-19"] < ratio["zstd-3"] || ratio["gzip-9"] <= ratio["lzjb"] {
		t.Errorf("ratios %v", ratio)
	}
	some, err := Estimate(context.Background(), NewTree(root, 131072), 3*131072, seeded())
	if err != nil || some.SampledBlocks != 3 {
		t.Errorf("of all blocks %d were sampled: %v", some.SampledBlocks, err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Estimate(ctx, NewTree(root, 131072), 64<<20, seeded()); err == nil {
		t.Error("it went on after it was cancelled")
	}
}

func TestDeviceIsSampled(t *testing.T) {
	path := filepath.Join(t.TempDir(), "volume")
	if err := os.WriteFile(path, append(lines(1<<20), make([]byte, 1<<20)...), 0o644); err != nil {
		t.Fatal(err)
	}
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	found, err := Estimate(context.Background(), NewDevice(file, 16384), 1<<20, seeded())
	if err != nil || found.Holes == 0 || found.Holes == found.SampledBlocks || found.SampledBlocks > 64 || found.Levels[1].Ratio < 1.5 {
		t.Errorf("%+v, %v", found, err)
	}
}

func TestWhatDoesNotCompressIsStoredAsItIs(t *testing.T) {
	dir := t.TempDir()
	content := make([]byte, 1<<20)
	r := seeded()
	for i := range content {
		content[i] = byte(r.Uint32())
	}
	if err := os.WriteFile(filepath.Join(dir, "video"), content, 0o644); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	found, err := Estimate(context.Background(), NewTree(root, 131072), 1<<20, seeded())
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range found.Levels {
		if l.Ratio != 1 {
			t.Errorf("%s makes %v of random bytes", l.Compression, l.Ratio)
		}
	}
}
