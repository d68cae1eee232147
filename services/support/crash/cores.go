package crash

// Crashes where the system writes cores into a folder (coreadm on illumos, "-g /var/cores/core.%f.%p -e global"): each new
// one becomes a record with what pstack says of it. Tested on Linux with a pstack that prints what illumos' prints.

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"cistern/services/platform/command"
	"cistern/services/support/collect"
)

// Files are what crashes left and only root may read: gatherd lists and gives them (collect.Client).
type Files interface {
	CrashFiles(ctx context.Context) ([]collect.CrashFile, error)
	OpenCrashFile(ctx context.Context, path string) (io.ReadCloser, error)
}

// coreProcesses are the programs that are ours, by the name their core has.
var coreProcesses = map[string]string{"storaged": "storaged", "tracerd": "tracerd", "execd": "execd", "replicd": "replicd", "supportd": "supportd", "gatherd": "gatherd", "node": "akd", "nginx": "nginx", "snmpd": "snmpd"}

// WatchCores looks for new cores every two seconds until ctx ends. What was there before the last record is known. In the
// folder dir is a core while pstack reads it: as this process' user, for it came from outside.
func (c *Records) WatchCores(ctx context.Context, files Files, dir, pstack string) {
	known := map[string]time.Time{}
	c.mu.Lock()
	for _, one := range c.list {
		if one.Core != "" {
			known[one.Core] = one.LastAt
		}
	}
	c.mu.Unlock()
	answers := true
	for {
		list, err := files.CrashFiles(ctx)
		if err != nil && answers && ctx.Err() == nil {
			slog.Warn("cores are not seen", "error", err)
		}
		answers = err == nil
		for _, one := range newCores(list, known) {
			c.takeCore(ctx, files, one, filepath.Join(dir, "core.read"), pstack)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(2 * time.Second):
		}
	}
}

// newCores are the cores that are written to no longer and were not known, the oldest first.
func newCores(list []collect.CrashFile, known map[string]time.Time) (found []collect.CrashFile) {
	for _, one := range list {
		if one.Kind != collect.Core || !one.Modified.After(known[one.Path]) || time.Since(one.Modified) < time.Second {
			continue
		}
		known[one.Path] = one.Modified
		found = append(found, one)
	}
	return found
}

func (c *Records) takeCore(ctx context.Context, files Files, core collect.CrashFile, place, pstack string) {
	parts := strings.Split(filepath.Base(core.Path), ".") // core.NAME.PID
	service, ok := coreProcesses[parts[1]]
	if !ok {
		return
	}
	pid, _ := strconv.Atoi(parts[len(parts)-1])
	one := Record{Kind: KindSignal, Service: service, Process: parts[1], Version: c.Version, PID: pid, Core: core.Path, LastAt: core.Modified.UTC()}
	defer os.Remove(place)
	err := copyCore(ctx, files, core.Path, place)
	if err == nil {
		var r command.Result
		r, err = command.Run(ctx, 30*time.Second, 1<<20, pstack, place)
		one.Stacks = string(r.Stdout)
	}
	if err != nil {
		one.Stacks += "\n" + err.Error()
	}
	c.Note(one)
}

func copyCore(ctx context.Context, files Files, path, to string) error {
	in, err := files.OpenCrashFile(ctx, path)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}
