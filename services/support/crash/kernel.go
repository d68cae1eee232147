package crash

// Crashes of the machine itself, noticed at the next boot: what the kernel left in pstore (Linux), and its dumps (illumos).

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"time"

	"cistern/services/support/logs"
)

// NoticeKernel makes records of what the kernel left when the machine itself went down: files of pstore that are newer than
// the last record of their kind.
func (c *Records) NoticeKernel(patterns ...string) {
	last := c.lastKernel()
	for _, pattern := range patterns {
		paths, _ := filepath.Glob(pattern)
		for _, path := range paths {
			info, err := os.Stat(path)
			if err != nil || !info.ModTime().After(last.Add(time.Second)) {
				continue
			}
			var content bytes.Buffer
			if logs.Tail(&content, path, maxStacks) != nil {
				continue
			}
			reason := "The kernel stopped"
			for line := range strings.Lines(content.String()) {
				if at := strings.Index(line, "Kernel panic"); at >= 0 {
					reason = strings.TrimSpace(line[at:])
				}
			}
			c.Note(Record{Kind: KindKernel, Service: "kernel", Process: "kernel", Version: c.Version, Reason: reason, Stacks: content.String(), Core: path, LastAt: info.ModTime().UTC()})
		}
	}
}

// dumpSettled is how long a kernel dump has not been written to when savecore is done with it.
const dumpSettled = time.Minute

// WatchDumps makes a record of each kernel dump (vmdump.N of savecore(8)) that is newer than the last of their kind, and
// looks again every minute, for savecore may need long after the boot. What the kernel said stands in the system's log.
func (c *Records) WatchDumps(ctx context.Context, messages string, patterns ...string) {
	for {
		c.noticeDumps(messages, time.Now().Add(-dumpSettled), patterns...)
		select {
		case <-ctx.Done():
			return
		case <-time.After(time.Minute):
		}
	}
}

func (c *Records) noticeDumps(messages string, settled time.Time, patterns ...string) {
	last := c.lastKernel()
	for _, pattern := range patterns {
		paths, _ := filepath.Glob(pattern)
		for _, path := range paths {
			info, err := os.Lstat(path)
			if err != nil || !info.Mode().IsRegular() || info.ModTime().After(settled) || !info.ModTime().After(last.Add(time.Second)) {
				continue
			}
			reason := "The kernel stopped"
			var log bytes.Buffer
			if logs.Tail(&log, messages, 4<<20) == nil {
				for line := range strings.Lines(log.String()) {
					if _, said, ok := strings.Cut(line, "reboot after panic: "); ok { // the latest
						reason = strings.TrimSpace(said)
					}
				}
			}
			c.Note(Record{Kind: KindKernel, Service: "kernel", Process: "kernel", Version: c.Version, Reason: reason, Core: path, LastAt: info.ModTime().UTC(),
				Stacks: "The dump is " + path + ". `savecore -f` unpacks it, and mdb reads what comes of it: ::status, ::stack.\n"})
		}
	}
}

// lastKernel is when the kernel stopped last, of what there are records of.
func (c *Records) lastKernel() (last time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, one := range c.list {
		if one.Kind == KindKernel && one.LastAt.After(last) {
			last = one.LastAt
		}
	}
	return last
}
