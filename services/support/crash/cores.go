package crash

// Crashes where the system writes cores into a folder (coreadm on illumos, "-g /var/cores/core.%f.%p -e global"): each new
// one becomes a record with what pstack says of it. Tested on Linux with a pstack that prints what illumos' prints.

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"cistern/services/platform/command"
)

// maxCores of a folder are kept; the oldest go.
const maxCores = 10

// coreProcesses are the programs that are ours, by the name their core has.
var coreProcesses = map[string]string{"storaged": "storaged", "tracerd": "tracerd", "execd": "execd", "replicd": "replicd", "supportd": "supportd", "node": "akd", "nginx": "nginx", "snmpd": "snmpd"}

// WatchCores looks for new cores every two seconds until ctx ends. What was there before the last record is known.
func (c *Records) WatchCores(ctx context.Context, dir, pstack string) {
	known := map[string]time.Time{}
	c.mu.Lock()
	for _, one := range c.list {
		if one.Core != "" {
			known[one.Core] = one.LastAt
		}
	}
	c.mu.Unlock()
	for {
		for _, path := range c.newCores(dir, known) {
			c.takeCore(ctx, path, pstack)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(2 * time.Second):
		}
	}
}

// newCores are the cores that are written to no longer and were not known, the oldest first. Too many of them are removed.
func (c *Records) newCores(dir string, known map[string]time.Time) []string {
	paths, _ := filepath.Glob(filepath.Join(dir, "core.*.*"))
	at := map[string]time.Time{}
	for _, path := range paths {
		if info, err := os.Lstat(path); err == nil && info.Mode().IsRegular() {
			at[path] = info.ModTime()
		}
	}
	paths = slices.DeleteFunc(paths, func(path string) bool { return at[path].IsZero() })
	slices.SortFunc(paths, func(a, b string) int { return at[a].Compare(at[b]) })
	for len(paths) > maxCores {
		_ = os.Remove(paths[0])
		delete(known, paths[0])
		paths = paths[1:]
	}
	var found []string
	for _, path := range paths {
		if !at[path].After(known[path]) || time.Since(at[path]) < time.Second {
			continue
		}
		known[path] = at[path]
		found = append(found, path)
	}
	return found
}

func (c *Records) takeCore(ctx context.Context, path, pstack string) {
	parts := strings.Split(filepath.Base(path), ".") // core.NAME.PID
	service, ok := coreProcesses[parts[1]]
	info, err := os.Stat(path)
	if !ok || err != nil {
		return
	}
	pid, _ := strconv.Atoi(parts[len(parts)-1])
	one := Record{Kind: KindSignal, Service: service, Process: parts[1], Version: c.Version, PID: pid, Core: path, LastAt: info.ModTime().UTC()}
	r, err := command.Run(ctx, 30*time.Second, 1<<20, pstack, path)
	one.Stacks = string(r.Stdout)
	if err != nil {
		one.Stacks += "\n" + err.Error()
	}
	c.Note(one)
}
