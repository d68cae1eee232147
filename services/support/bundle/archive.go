package bundle

// The archive is a tar file in zstd, made of many frames: one for an entry's header, those of its content, one for its
// padding. What a step collects is compressed once, as it comes, into a file of its own, and its frames are copied here
// when it has ended. So an archive needs no room twice, whatever did not fit is cut off again, and a retry copies the
// good entries without looking into them.

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/klauspost/compress/zstd"
)

// encoderOptions keep a compressor's memory at some megabytes, whatever is written through it.
var encoderOptions = []zstd.EOption{zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(512 << 10), zstd.WithLowerEncoderMem(true), zstd.WithEncoderLevel(zstd.SpeedDefault)}

// place of an entry in the archive, headers and padding included; content are the frames of the content alone.
type extent struct {
	At      int64 `json:"at"`
	Length  int64 `json:"length"`
	Content int64 `json:"content"` // offset of the content's frames
	End     int64 `json:"end"`     // end of the content's frames
}

type archive struct {
	f      *os.File
	at     int64
	prefix string
	time   time.Time
	small  *zstd.Encoder
	// room returns an error when so many more bytes must not be written; nil: no limit.
	room func(bytes int64) error
}

func createArchive(path, prefix string, modified time.Time, room func(int64) error) (*archive, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_RDWR, 0o640)
	if err != nil {
		return nil, err
	}
	small, err := zstd.NewWriter(nil, encoderOptions...)
	if err != nil {
		f.Close()
		return nil, err
	}
	return &archive{f: f, prefix: prefix, time: modified, small: small, room: room}, nil
}

// undo cuts off what was written after at.
func (a *archive) undo(at int64, err error) error {
	if cut := a.f.Truncate(at); cut != nil {
		return errors.Join(err, cut)
	}
	if _, seek := a.f.Seek(at, io.SeekStart); seek != nil {
		return errors.Join(err, seek)
	}
	a.at = at
	return err
}

func (a *archive) write(p []byte) error {
	n, err := a.f.Write(p)
	a.at += int64(n)
	return err
}

// add appends an entry of size bytes, whose content in zstd frames is compressed, of length bytes. An entry that
// cannot be written is not there at all.
func (a *archive) add(name string, size int64, compressed io.Reader, length int64) (extent, error) {
	begin := a.at
	if a.room != nil {
		if err := a.room(length); err != nil {
			return extent{}, err
		}
	}
	var header bytes.Buffer
	// The writer is left without its end: only the header's bytes are wanted.
	err := tar.NewWriter(&header).WriteHeader(&tar.Header{Name: a.prefix + "/" + name, Mode: 0o644, Size: size, ModTime: a.time, Format: tar.FormatPAX})
	if err != nil {
		return extent{}, err
	}
	if err := a.write(a.small.EncodeAll(header.Bytes(), nil)); err != nil {
		return extent{}, a.undo(begin, err)
	}
	e := extent{At: begin, Content: a.at}
	n, err := io.CopyN(a.f, compressed, length)
	a.at += n
	if err != nil {
		return extent{}, a.undo(begin, err)
	}
	e.End = a.at
	if padding := -size & 511; padding > 0 {
		if err := a.write(a.small.EncodeAll(make([]byte, padding), nil)); err != nil {
			return extent{}, a.undo(begin, err)
		}
	}
	e.Length = a.at - begin
	return e, nil
}

// addText appends a small entry that is in memory.
func (a *archive) addText(name string, text []byte) error {
	frames := a.small.EncodeAll(text, nil)
	room := a.room
	a.room = nil // the manifest and the README are why the rest of the room was kept
	defer func() { a.room = room }()
	_, err := a.add(name, int64(len(text)), bytes.NewReader(frames), int64(len(frames)))
	return err
}

// copyEntry appends an entry of another archive.
func (a *archive) copyEntry(from *os.File, e extent) (extent, error) {
	begin := a.at
	n, err := io.Copy(a.f, io.NewSectionReader(from, e.At, e.Length))
	a.at += n
	if err == nil && n != e.Length {
		err = fmt.Errorf("the archive is shorter than it was written")
	}
	if err != nil {
		return extent{}, a.undo(begin, err)
	}
	moved := begin - e.At
	return extent{At: begin, Length: e.Length, Content: e.Content + moved, End: e.End + moved}, nil
}

// content reads an entry's content.
func (a *archive) content(e extent) (io.ReadCloser, error) {
	decoder, err := zstd.NewReader(io.NewSectionReader(a.f, e.Content, e.End-e.Content), zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true))
	if err != nil {
		return nil, err
	}
	return decoder.IOReadCloser(), nil
}

// finish writes the end; the archive is whole and on disk when it returns without an error.
func (a *archive) finish() error {
	err := a.write(a.small.EncodeAll(make([]byte, 1024), nil))
	return errors.Join(err, a.f.Sync())
}

func (a *archive) close() error {
	_ = a.small.Close()
	return a.f.Close()
}
