package crash

// Crashes of the machine itself, noticed at the next boot: what the kernel left in pstore (Linux), and its dumps (illumos).

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"strings"
	"time"

	"cistern/services/platform/tail"
	"cistern/services/support/collect"
)

// retryKernel is how soon what the kernel left is asked for again, when nobody answers.
const retryKernel = 5 * time.Second

// NoticeKernel makes records of what the kernel left when the machine itself went down: what is newer than the last record
// of its kind. It asks until it is answered.
func (c *Records) NoticeKernel(ctx context.Context, files Files) {
	answers := true
	for {
		err := c.noticeMessages(ctx, files)
		if err == nil {
			return
		}
		if answers && ctx.Err() == nil {
			slog.Warn("what the kernel left is not known yet", "error", err)
		}
		answers = false
		select {
		case <-ctx.Done():
			return
		case <-time.After(retryKernel):
		}
	}
}

func (c *Records) noticeMessages(ctx context.Context, files Files) error {
	list, err := files.CrashFiles(ctx)
	if err != nil {
		return err
	}
	last := c.lastKernel()
	for _, one := range list {
		if one.Kind != collect.KernelMessage || !one.Modified.After(last.Add(time.Second)) {
			continue
		}
		in, err := files.OpenCrashFile(ctx, one.Path)
		if err != nil {
			return err
		}
		content, err := io.ReadAll(io.LimitReader(in, 2*maxStacks))
		in.Close()
		if err != nil {
			return err
		}
		reason := "The kernel stopped"
		for line := range strings.Lines(string(content)) {
			if at := strings.Index(line, "Kernel panic"); at >= 0 {
				reason = strings.TrimSpace(line[at:])
			}
		}
		c.Note(Record{Kind: KindKernel, Service: "kernel", Process: "kernel", Version: c.Version, Reason: reason, Stacks: string(content), Core: one.Path, LastAt: one.Modified.UTC()})
	}
	return nil
}

// dumpSettled is how long a kernel dump has not been written to when savecore is done with it.
const dumpSettled = time.Minute

// WatchDumps makes a record of each kernel dump (vmdump.N of savecore(8)) that is newer than the last of their kind, and
// looks again every minute, for savecore may need long after the boot. What the kernel said stands in the system's log.
func (c *Records) WatchDumps(ctx context.Context, files Files, messages string) {
	for {
		if list, err := files.CrashFiles(ctx); err == nil { // else WatchCores says so
			c.noticeDumps(list, messages, time.Now().Add(-dumpSettled))
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(time.Minute):
		}
	}
}

func (c *Records) noticeDumps(list []collect.CrashFile, messages string, settled time.Time) {
	last := c.lastKernel()
	for _, one := range list {
		if one.Kind != collect.KernelDump || one.Modified.After(settled) || !one.Modified.After(last.Add(time.Second)) {
			continue
		}
		reason := "The kernel stopped"
		var log bytes.Buffer
		if tail.File(&log, messages, 4<<20) == nil {
			for line := range strings.Lines(log.String()) {
				if _, said, ok := strings.Cut(line, "reboot after panic: "); ok { // the latest
					reason = strings.TrimSpace(said)
				}
			}
		}
		c.Note(Record{Kind: KindKernel, Service: "kernel", Process: "kernel", Version: c.Version, Reason: reason, Core: one.Path, LastAt: one.Modified.UTC(),
			Stacks: "The dump is " + one.Path + ". `savecore -f` unpacks it, and mdb reads what comes of it: ::status, ::stack.\n"})
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
