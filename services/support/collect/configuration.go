package collect

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"cistern/services/platform/command"
)

// databaseLimit is how large akd's database, or its log, may be.
const databaseLimit = 128 << 20

// Configuration is akd's configuration as JSON. What is collected is a *copy* of akd's database, so that it works when akd is
// dead and cannot disturb it when it is not; what is kept is what a program of akd's exports from it, in a folder in memory.
// Without the just-in-time compiler: supportd's sandbox allows no memory that is written and then run.
func Configuration(node, program, state, temporary string) Step {
	return Step{Name: "akd.json", Category: "configuration", Deadline: 60 * time.Second, Limit: 32 << 20, RawLimit: 3*databaseLimit + 1<<20,
		Collect: func(_ context.Context, _ int64, w io.Writer) error {
			databases, err := filepath.Glob(filepath.Join(state, "state.db*"))
			if err != nil || len(databases) == 0 {
				return fmt.Errorf("there is no database in %s", state)
			}
			out := tar.NewWriter(w)
			for _, path := range databases {
				if err := addFile(out, path); err != nil {
					return err
				}
			}
			return out.Close()
		},
		Refine: func(ctx context.Context, raw io.Reader, w io.Writer) error {
			dir, err := os.MkdirTemp(temporary, "akd-state-")
			if err != nil {
				return err
			}
			defer os.RemoveAll(dir)
			if err := unpack(raw, dir); err != nil {
				return err
			}
			cut, _, err := command.Stream(ctx, time.Minute, 32<<20, w, node, "--jitless", program, dir)
			if err == nil && cut {
				err = ErrCut
			}
			return err
		}}
}

// addFile refuses what is too large. A file that grows meanwhile is taken as it was.
func addFile(out *tar.Writer, path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() || info.Size() > databaseLimit {
		return fmt.Errorf("%s is larger than %d MB, or no file", path, databaseLimit>>20)
	}
	if err := out.WriteHeader(&tar.Header{Name: filepath.Base(path), Mode: 0o600, Size: info.Size(), ModTime: info.ModTime()}); err != nil {
		return err
	}
	_, err = io.CopyN(out, f, info.Size())
	return err
}

// unpack writes the files of an archive into a folder.
func unpack(raw io.Reader, dir string) error {
	for in := tar.NewReader(raw); ; {
		header, err := in.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if !strings.HasPrefix(header.Name, "state.db") || header.Name != filepath.Base(header.Name) {
			return fmt.Errorf("'%s' is no file of akd's database", header.Name)
		}
		out, err := os.OpenFile(filepath.Join(dir, header.Name), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if err != nil {
			return err
		}
		_, err = io.Copy(out, in)
		if err := errors.Join(err, out.Close()); err != nil {
			return err
		}
	}
}

// WebRequests is the web server's last requests, as lines of JSON that write gives.
func WebRequests(write func(ctx context.Context, w io.Writer) error) Step {
	return Step{Name: "web-requests.jsonl", Category: "logs", Deadline: short, Limit: UsualLimit, Collect: func(ctx context.Context, limit int64, w io.Writer) error {
		return write(ctx, &limited{w: w, left: limit})
	}}
}
