package execd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"cistern/services/daemon/problem"
	"cistern/services/execd/compressestimate"
	"cistern/services/execd/host"
	"cistern/services/platform/command"
)

const (
	maxDiff     = 4 << 20
	maxEntries  = 5000
	leastSample = 1 << 20
	maxSample   = 1 << 30
)

type snapshotDiffArgument struct {
	Snapshot string `json:"snapshot"`
	Other    string `json:"other"`
}

type snapshotDiffAnswer struct {
	Output     string `json:"output"` // as 'zfs diff -H -F -t' prints it
	Mountpoint string `json:"mountpoint"`
	Cut        bool   `json:"cut"`
}

// mustBeReadable refuses datasets whose files hold the appliance's own secrets.
func mustBeReadable(dataset string) error {
	if ours(dataset) {
		return problem.New(http.StatusForbidden, "forbidden", fmt.Sprintf("'%s' holds the appliance's own state.", dataset), "")
	}
	return nil
}

func (s *Server) snapshotDiff(r *http.Request, a snapshotDiffArgument) (any, error) {
	dataset, _, err := mustBeSnapshot("/snapshot", a.Snapshot)
	if err != nil {
		return nil, err
	}
	if err := mustBeReadable(dataset); err != nil {
		return nil, err
	}
	other := dataset
	if a.Other != "" {
		if of, _, err := mustBeSnapshot("/other", a.Other); err != nil || of != dataset {
			return nil, host.Invalid("/other", "The other one is a later snapshot of the same dataset.")
		}
		other = a.Other
	}
	return func() (any, error) {
		is, err := facts(r.Context(), dataset, "mountpoint", "mounted")
		if err != nil {
			return nil, err
		}
		if is["mounted"] != "yes" {
			return nil, problem.New(http.StatusConflict, "conflict", fmt.Sprintf("'%s' is not mounted, and zfs compares only what is.", dataset), "Mount it first.")
		}
		out, err := command.Run(r.Context(), zfsDeadline, maxDiff, "zfs", "diff", "-H", "-F", "-t", a.Snapshot, other)
		if err != nil {
			return nil, zfsFailure(err, fmt.Sprintf("'%s' was not compared", a.Snapshot))
		}
		text := string(out.Stdout)
		if out.Cut { // not in the middle of a line
			text = text[:strings.LastIndexByte(text, '\n')+1]
		}
		return snapshotDiffAnswer{text, is["mountpoint"], out.Cut}, nil
	}()
}

type snapshotPathArgument struct {
	Snapshot string `json:"snapshot"`
	Path     string `json:"path"`
}

type fileEntry struct {
	Name       string `json:"name"`
	Kind       string `json:"kind"`
	Bytes      int64  `json:"bytes"`
	ModifiedAt int64  `json:"modifiedAt"` // milliseconds since the epoch
}

type fileList struct {
	Items []fileEntry `json:"items"`
	Cut   bool        `json:"cut"`
}

// inSnapshot opens a snapshot's files for as long as work takes. What work opens cannot lie outside them: neither by
// "..", nor by a link, nor by one that is put there meanwhile.
func (s *Server) inSnapshot(ctx context.Context, a snapshotPathArgument, work func(root *os.Root, inside string) error) error {
	dataset, _, err := mustBeSnapshot("/snapshot", a.Snapshot)
	if err != nil {
		return err
	}
	if err := mustBeReadable(dataset); err != nil {
		return err
	}
	inside := "."
	if a.Path != "" {
		if inside = a.Path; !fs.ValidPath(inside) || strings.ContainsRune(inside, 0) {
			return host.Invalid("/path", "This is no path below the snapshot.")
		}
	}
	_, err = func() (any, error) {
		root, release, err := s.Host.OpenSnapshot(ctx, a.Snapshot)
		if err != nil {
			return nil, problem.New(http.StatusConflict, "conflict", fmt.Sprintf("The files of '%s' cannot be seen: %v.", a.Snapshot, err), "It may have been destroyed, its key may not be loaded, or it is a volume's.")
		}
		defer release()
		return nil, work(root, inside)
	}()
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return problem.New(http.StatusNotFound, "not_found", fmt.Sprintf("There is no '%s' in '%s'.", a.Path, a.Snapshot), "")
	case err == nil || errors.Is(err, errAnswered):
		return err
	}
	var document problem.Document
	if !errors.As(err, &document) {
		return problem.New(http.StatusConflict, "conflict", fmt.Sprintf("'%s' of '%s' cannot be read: %v.", a.Path, a.Snapshot, err), "")
	}
	return err
}

func kindOf(mode fs.FileMode) string {
	switch {
	case mode.IsRegular():
		return "file"
	case mode.IsDir():
		return "directory"
	case mode&fs.ModeSymlink != 0:
		return "link"
	}
	return "other"
}

func (s *Server) snapshotListFiles(r *http.Request, a snapshotPathArgument) (any, error) {
	list := fileList{Items: []fileEntry{}}
	err := s.inSnapshot(r.Context(), a, func(root *os.Root, inside string) error {
		dir, err := root.Open(inside)
		if err != nil {
			return err
		}
		defer dir.Close()
		entries, err := dir.ReadDir(maxEntries + 1)
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		if len(entries) > maxEntries {
			entries, list.Cut = entries[:maxEntries], true
		}
		for _, entry := range entries {
			info, err := root.Lstat(path.Join(inside, entry.Name()))
			if err != nil {
				continue
			}
			list.Items = append(list.Items, fileEntry{entry.Name(), kindOf(info.Mode()), info.Size(), info.ModTime().UnixMilli()})
		}
		slices.SortFunc(list.Items, func(a, b fileEntry) int { return strings.Compare(a.Name, b.Name) })
		return nil
	})
	return list, err
}

// snapshotReadFile answers with the file itself. It writes its own answer, so it has a row of its own in the table.
func snapshotReadFile(s *Server, w http.ResponseWriter, r *http.Request) (any, any, error) {
	var a snapshotPathArgument
	if !problem.Decode(w, r, &a, 64<<10) {
		return nil, nil, errAnswered
	}
	s.audit(r, a, "asked", nil)
	err := s.inSnapshot(r.Context(), a, func(root *os.Root, inside string) error {
		// Looked at first: opening a pipe would wait for its other end.
		info, err := root.Lstat(inside)
		if err != nil {
			return err
		}
		if !info.Mode().IsRegular() {
			return problem.New(http.StatusConflict, "conflict", fmt.Sprintf("'%s' is a %s; only files can be read.", a.Path, kindOf(info.Mode())), "")
		}
		f, err := root.OpenFile(inside, os.O_RDONLY|syscall.O_NONBLOCK, 0)
		if err != nil {
			return err
		}
		defer f.Close()
		w.Header().Set("Content-Type", "application/octet-stream")
		w.Header().Set("Content-Length", strconv.FormatInt(info.Size(), 10))
		if _, err := io.CopyN(w, f, info.Size()); err != nil {
			s.audit(r, a, "failed", err)
		} else {
			s.audit(r, a, "done", nil)
		}
		return errAnswered // whatever came of it: the answer has begun
	})
	return a, nil, err
}

type datasetSampleArgument struct {
	Dataset string `json:"dataset"`
	Bytes   int64  `json:"bytes"`
}

// datasetSample compresses samples of a dataset's own blocks.
func (s *Server) datasetSample(r *http.Request, a datasetSampleArgument) (any, error) {
	if err := mustBeDataset("/dataset", a.Dataset); err != nil {
		return nil, err
	}
	if a.Bytes < leastSample || a.Bytes > maxSample {
		return nil, host.Invalid("/bytes", fmt.Sprintf("Between %d and %d bytes are read.", leastSample, maxSample))
	}
	return func() (any, error) {
		is, err := facts(r.Context(), a.Dataset, "type", "mounted", "mountpoint", "recordsize", "volblocksize")
		if err != nil {
			return nil, err
		}
		random := rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64()))
		if is["type"] == "volume" {
			block, err := strconv.Atoi(is["volblocksize"])
			if err != nil {
				return nil, err
			}
			device, err := os.Open(s.Host.VolumePath(a.Dataset))
			if err != nil {
				return nil, err
			}
			defer device.Close()
			return compressestimate.Estimate(r.Context(), compressestimate.NewDevice(device, block), a.Bytes, random)
		}
		record, err := strconv.Atoi(is["recordsize"])
		if err != nil {
			return nil, err
		}
		dir := is["mountpoint"]
		if is["mounted"] != "yes" || !strings.HasPrefix(dir, "/") {
			return nil, problem.New(http.StatusConflict, "conflict", fmt.Sprintf("'%s' is not mounted, so its files cannot be sampled.", a.Dataset), "Mount it first.")
		}
		root, err := os.OpenRoot(dir)
		if err != nil {
			return nil, err
		}
		defer root.Close()
		return compressestimate.Estimate(r.Context(), compressestimate.NewTree(root, record), a.Bytes, random)
	}()
}
