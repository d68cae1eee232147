package main

// A limit on the memory of a process, by a control group of version 1 or 2; where there is neither, by watching it.

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// confined is a process that may not take more than so much memory.
type confined struct {
	folder string // of its control group; empty when there is none
	most   atomic.Int64
}

// confine limits a process's memory until the test ends. The kernel ends a process that takes more; besides, and where there are
// no control groups instead, what it has in memory is read every few milliseconds, and too much fails the test.
func confine(t *testing.T, pid int, bytes int64) *confined {
	t.Helper()
	c := &confined{}
	name := fmt.Sprintf("cistern-test-%d", pid)
	for _, version := range []struct{ root, limit string }{
		{"/sys/fs/cgroup/memory", "memory.limit_in_bytes"}, {"/sys/fs/cgroup", "memory.max"},
	} {
		folder := filepath.Join(version.root, name)
		if os.Mkdir(folder, 0o755) != nil {
			continue
		}
		err := os.WriteFile(filepath.Join(folder, version.limit), []byte(strconv.FormatInt(bytes, 10)), 0o644)
		if err == nil {
			err = os.WriteFile(filepath.Join(folder, "cgroup.procs"), []byte(strconv.Itoa(pid)), 0o644)
		}
		if err != nil {
			_ = os.Remove(folder)
			continue
		}
		c.folder = folder
		t.Cleanup(func() { _ = os.Remove(folder) })
		t.Logf("the process is in the control group %s with %s = %d", folder, version.limit, bytes)
		break
	}
	if c.folder == "" {
		t.Logf("NO CONTROL GROUP can be made here: the process's resident memory is watched instead, and more than %d bytes fail the test", bytes)
	}
	done := make(chan struct{})
	t.Cleanup(func() { close(done) })
	go func() {
		for {
			select {
			case <-done:
				return
			case <-time.After(5 * time.Millisecond):
			}
			now := resident(pid)
			if now > c.most.Load() {
				c.most.Store(now)
			}
		}
	}()
	t.Cleanup(func() {
		most := c.most.Load()
		t.Logf("at most %d MiB were resident, of %d", most>>20, bytes>>20)
		if most > bytes {
			t.Errorf("%d MiB were resident, more than %d", most>>20, bytes>>20)
		}
	})
	return c
}

// resident is how much of a process is in memory; 0 when that cannot be read.
func resident(pid int) int64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(text))
	if len(fields) < 2 {
		return 0
	}
	pages, _ := strconv.ParseInt(fields[1], 10, 64)
	return pages * int64(os.Getpagesize())
}
