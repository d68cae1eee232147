package squashfs

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"testing"
)

func TestLength(t *testing.T) {
	image := func(magic string, used uint64) io.ReaderAt {
		head := make([]byte, 96)
		copy(head, magic)
		binary.LittleEndian.PutUint64(head[40:], used)
		return bytes.NewReader(head)
	}
	for used, want := range map[uint64]int64{4096: 4096, 4097: 8192, 191690365: 191692800} {
		if got, err := Used(image("hsqs", used)); err != nil || got != int64(used) {
			t.Errorf("%d used: %d, %v", used, got, err)
		}
		if got, err := Length(image("hsqs", used)); err != nil || got != want {
			t.Errorf("%d used: a length of %d, %v; want %d", used, got, err, want)
		}
	}
	for _, other := range []io.ReaderAt{image("hsqt", 4096), image("", 0), image("hsqs", 0), image("hsqs", 1<<63)} {
		if got, err := Length(other); !errors.Is(err, ErrNone) {
			t.Errorf("%d, %v", got, err)
		}
	}
	if _, err := Length(bytes.NewReader([]byte("hsqs"))); !errors.Is(err, io.EOF) {
		t.Errorf("too short: %v", err)
	}
}
