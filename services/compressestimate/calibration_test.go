package compressestimate

import (
	"bytes"
	"encoding/binary"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// corpora are data of three kinds: source code, a log, and pairs of time and value.
func corpora(t *testing.T) map[string][]byte {
	var source []byte
	files, _ := filepath.Glob("../tsdb/*.go")
	for _, name := range files {
		content, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		source = append(source, content...)
	}
	var samples bytes.Buffer
	value, r := 100.0, seeded()
	for i := range 80_000 {
		value += r.NormFloat64()
		_ = binary.Write(&samples, binary.LittleEndian, int64(1_760_000_000_000+i*1000))
		_ = binary.Write(&samples, binary.LittleEndian, math.Round(value*100)/100)
	}
	return map[string][]byte{"source": source, "log": lines(1 << 20), "samples": samples.Bytes()}
}

// TestZstdIsLikeLibzstd holds the factors of levels against the real thing, block by block.
func TestZstdIsLikeLibzstd(t *testing.T) {
	tool, err := exec.LookPath("zstd")
	if err != nil {
		t.Skip("there is no zstd here to compare with")
	}
	const block, most = 131072, 4
	for name, data := range corpora(t) {
		var compress compressor
		for _, l := range levels {
			if l.make != nil {
				compress = l.make()
			}
			if len(l.name) < 5 || l.name[:5] != "zstd-" {
				continue
			}
			ours, theirs := 0, 0
			for at := 0; at+block <= len(data) && at < most*block; at += block {
				ours += int(float64(compress.size(data[at:at+block])) * l.sizes)
				run := exec.Command(tool, "-q", "-c", "--no-check", "-"+l.name[5:])
				run.Stdin = bytes.NewReader(data[at : at+block])
				out, err := run.Output()
				if err != nil {
					t.Fatal(err)
				}
				theirs += len(out) + zstdHeader
			}
			// The ends of the scale are where the implementations differ most.
			bearable := 0.1
			if l.name == "zstd-1" || l.name == "zstd-19" {
				bearable = 0.2
			}
			if off := float64(ours)/float64(theirs) - 1; math.Abs(off) > bearable {
				t.Errorf("%s of %s: %d, libzstd %d (%+.1f %%)", l.name, name, ours, theirs, off*100)
			} else {
				t.Logf("%s of %s: %+.1f %%", l.name, name, off*100)
			}
		}
	}
}
