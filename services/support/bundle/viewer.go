package bundle

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"cistern/services/support/collect"

	"github.com/klauspost/compress/zstd"
)

// statisticsFile is the step whose content the viewer draws.
const statisticsFile = "statistics/last-day.json"

//go:embed viewer.html
var viewerPage []byte

// addViewer puts the viewer into the archive: the page with the manifest and the statistics in it, because a page that is
// opened from a file may read no other. What the steps collected it shows in a frame.
func (w *making) addViewer(manifest []byte) error {
	path := filepath.Join(w.place.dir, w.k.ID+".part", "viewer")
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	defer os.Remove(path)
	defer f.Close()
	zip, err := zstd.NewWriter(f, encoderOptions...)
	if err != nil {
		return err
	}
	var size counter
	out := io.MultiWriter(zip, &size)
	before, rest, ok := bytes.Cut(viewerPage, []byte("/*MANIFEST*/"))
	middle, after, there := bytes.Cut(rest, []byte("/*STATISTICS*/"))
	if !ok || !there {
		return fmt.Errorf("the viewer has lost its places")
	}
	put := func(p []byte) {
		if err == nil {
			_, err = out.Write(p)
		}
	}
	put(before)
	put(inScript(manifest))
	put(middle)
	if e, there := w.extents[statisticsFile]; there {
		content, openErr := w.archive.content(e)
		if openErr != nil {
			return openErr
		}
		// A damaged or cut statistics file must not take the viewer with it: it is JSON or nothing.
		statistics, readErr := io.ReadAll(io.LimitReader(content, collect.UsualLimit))
		content.Close()
		if readErr == nil && json.Valid(statistics) {
			put(inScript(statistics))
		} else {
			put([]byte("null"))
		}
	} else {
		put([]byte("null"))
	}
	put(after)
	if err == nil {
		err = zip.Close()
	}
	if err != nil {
		return err
	}
	length, err := f.Seek(0, io.SeekCurrent)
	if err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		return err
	}
	_, err = w.archive.add("viewer.html", int64(size), f, length)
	return err
}

type counter int64

func (c *counter) Write(p []byte) (int, error) {
	*c += counter(len(p))
	return len(p), nil
}

// inScript makes JSON safe inside a script element: "<" occurs only in its strings.
func inScript(text []byte) []byte { return bytes.ReplaceAll(text, []byte("<"), []byte(`\u003c`)) }
