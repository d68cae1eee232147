package collect

// What crashes left, and only root may read: listed, and given as they are. supportd makes records of them (support/crash).

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"cistern/services/daemon/problem"
	"cistern/services/platform/tail"

	"golang.org/x/sys/unix"
)

// The kinds of file that a crash leaves.
const (
	KernelMessage = "kernel-message" // what the kernel said last, in pstore (Linux)
	KernelDump    = "kernel-dump"    // illumos'; it is not given
	Core          = "core"           // where the system writes cores into a folder (illumos)
)

// CrashFiles are the files of one kind.
type CrashFiles struct {
	Kind     string
	Patterns []string
	// Most are kept; the oldest go. 0: they are not ours to remove.
	Most int
	// Limit is how much of one is given: of a kernel's message the end. 0: nothing.
	Limit int64
}

// CrashFile is one.
type CrashFile struct {
	Kind     string    `json:"kind"`
	Path     string    `json:"path"`
	Bytes    int64     `json:"bytes"`
	Modified time.Time `json:"modified"`
}

// CrashFilesOf this system.
func CrashFilesOf() []CrashFiles {
	if runtime.GOOS == "illumos" {
		return []CrashFiles{
			{Kind: Core, Patterns: []string{"/var/cores/core.*.*"}, Most: 10, Limit: 1 << 30},
			{Kind: KernelDump, Patterns: []string{"/var/crash/vmdump.*", "/var/crash/*/vmdump.*"}},
		}
	}
	return []CrashFiles{{Kind: KernelMessage, Patterns: []string{"/var/lib/systemd/pstore/*/*.txt", "/var/lib/systemd/pstore/*.txt", "/sys/fs/pstore/dmesg-*"}, Limit: 64 << 10}}
}

// list is what there is, the oldest first.
func (c *CrashFiles) list() []CrashFile {
	found := []CrashFile{}
	for _, pattern := range c.Patterns {
		paths, _ := filepath.Glob(pattern)
		for _, path := range paths {
			if info, err := os.Lstat(path); err == nil && info.Mode().IsRegular() {
				found = append(found, CrashFile{c.Kind, path, info.Size(), info.ModTime().UTC()})
			}
		}
	}
	slices.SortFunc(found, func(a, b CrashFile) int { return a.Modified.Compare(b.Modified) })
	for c.Most > 0 && len(found) > c.Most {
		_ = os.Remove(found[0].Path)
		found = found[1:]
	}
	return found
}

func (s *Server) listCrashFiles(w http.ResponseWriter, _ *http.Request) {
	files := []CrashFile{}
	for i := range s.Crashes {
		files = append(files, s.Crashes[i].list()...)
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{"files": files}) // the client has gone
}

func (s *Server) crashFile(w http.ResponseWriter, r *http.Request) {
	path := r.URL.Query().Get("path")
	for i := range s.Crashes {
		kind := &s.Crashes[i]
		files := kind.list()
		// Only what is in the list is ever opened.
		at := slices.IndexFunc(files, func(one CrashFile) bool { return one.Path == path })
		if kind.Limit == 0 || at < 0 {
			continue
		}
		if kind.Kind == Core && files[at].Bytes > kind.Limit {
			problem.Write(w, http.StatusConflict, "conflict", fmt.Sprintf("It is larger than %d MB.", kind.Limit>>20), "Examine it as root where it is.")
			return
		}
		w.Header().Set("Content-Type", "application/octet-stream")
		if err := kind.give(w, path); err != nil {
			panic(http.ErrAbortHandler) // what was given is not all
		}
		return
	}
	problem.Write(w, http.StatusNotFound, "not_found", "There is no such crash file.", "It may have gone to make room for newer ones.")
}

func (c *CrashFiles) give(w io.Writer, path string) error {
	if c.Kind == KernelMessage {
		return tail.File(w, path, c.Limit)
	}
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = io.Copy(w, io.LimitReader(f, c.Limit))
	return err
}
