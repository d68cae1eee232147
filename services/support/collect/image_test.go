package collect

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"path/filepath"
	"strings"
	"testing"
)

// A slot whose image is shorter than its partition, as built, then with one bit that has turned.
func TestTheSystemImageIsCompared(t *testing.T) {
	proc := t.TempDir()
	image := make([]byte, 3*4096)
	copy(image, "hsqs")
	binary.LittleEndian.PutUint64(image[40:], uint64(len(image)-100))
	sum := sha256.Sum256(image)
	partition := write(t, filepath.Join(proc, "sda2"), string(image)+strings.Repeat("x", 50000))
	write(t, filepath.Join(proc, "1/mounts"), "proc /proc proc rw 0 0\n"+partition+" /slot squashfs ro 0 0\n")
	step := systemImage(proc)
	collect := func() (string, error) {
		var out bytes.Buffer
		err := step.Run(context.Background(), &out)
		return out.String(), err
	}
	cmdline := filepath.Join(proc, "cmdline")
	write(t, cmdline, "ro console=tty0\n")
	if out, err := collect(); err == nil || !strings.Contains(out, hex.EncodeToString(sum[:])) {
		t.Errorf("%q %v", out, err)
	}
	write(t, cmdline, "ro cistern.image="+hex.EncodeToString(sum[:])+" x=y\n")
	if out, err := collect(); err != nil || !strings.Contains(out, "the same") {
		t.Errorf("%q %v", out, err)
	}
	var named bytes.Buffer
	name := imageName(proc)
	if err := name.Run(context.Background(), &named); err != nil || !strings.Contains(named.String(), hex.EncodeToString(sum[:])) {
		t.Errorf("%q %v", named.String(), err)
	}
	image[9000] ^= 1
	write(t, partition, string(image))
	if out, err := collect(); err == nil || !strings.Contains(err.Error(), "not what was built") {
		t.Errorf("%q %v", out, err)
	}
	write(t, partition, "something else"+strings.Repeat(" ", 200))
	if _, err := collect(); err == nil {
		t.Error("it took something else for an image")
	}
}
