package bundle

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"cistern/services/platform/command"
)

// Paths are where the things are that steps look at; the defaults are the appliance's.
type Paths struct {
	Run   string // sockets, /run/cistern
	State string // /var/lib/cistern
	Opt   string // /opt/cistern
	// Temporary is a folder in memory; empty: the system's own.
	Temporary string
}

// configuration is akd's configuration as JSON, exported by a program of akd's from a *copy* of its database, so that it
// works when akd is dead and cannot disturb it when it is not. Without the just-in-time compiler: supportd's sandbox
// allows no memory that is written and then run.
func configuration(node, program, state, temporary string) Step {
	return Step{Name: "akd.json", Category: "configuration", Deadline: 60 * time.Second, Limit: 32 << 20, Collect: func(ctx context.Context, limit int64, w io.Writer) error {
		dir, err := os.MkdirTemp(temporary, "akd-state-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		databases, err := filepath.Glob(filepath.Join(state, "state.db*"))
		if err != nil || len(databases) == 0 {
			return fmt.Errorf("there is no database in %s", state)
		}
		for _, path := range databases {
			if err := copyFile(path, filepath.Join(dir, filepath.Base(path)), 128<<20); err != nil {
				return err
			}
		}
		cut, _, err := command.Stream(ctx, time.Minute, limit, w, node, "--jitless", program, dir)
		if err == nil && cut {
			err = errCut
		}
		return err
	}}
}

// copyFile refuses what is larger than limit.
func copyFile(from, to string, limit int64) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	n, err := io.Copy(out, io.LimitReader(in, limit+1))
	if err == nil && n > limit {
		err = fmt.Errorf("%s is larger than %d MB", from, limit>>20)
	}
	return errors.Join(err, out.Close())
}

// WebRequests is the web server's last requests, as lines of JSON that write gives.
func WebRequests(write func(ctx context.Context, w io.Writer) error) Step {
	return Step{Name: "web-requests.jsonl", Category: "logs", Deadline: short, Limit: usualLimit, Collect: func(ctx context.Context, limit int64, w io.Writer) error {
		return write(ctx, &limited{w: w, left: limit})
	}}
}
