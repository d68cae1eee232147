// Package tail reads the end of files.
package tail

import (
	"fmt"
	"io"
	"os"
)

// File copies the last limit bytes of a file to w, after a line that says how many were left out. Files of /proc have a
// size of 0: they are read from the beginning.
func File(w io.Writer, path string, limit int64) error {
	// Before it is opened: that alone may wait for ever, on a pipe.
	info, err := os.Stat(path)
	if err != nil || info.IsDir() {
		return err
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s is not a file", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if skip := info.Size() - limit; skip > 0 {
		if _, err := f.Seek(skip, io.SeekStart); err != nil {
			return err
		}
		fmt.Fprintf(w, "[the first %d bytes were left out]\n", skip)
	}
	_, err = io.Copy(w, io.LimitReader(f, limit))
	return err
}
