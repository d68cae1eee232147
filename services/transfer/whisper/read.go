package whisper

// A folder of whisper files as a source. A file's path is its series' name, as carbon makes it: servers/web1/load.wsp is
// servers.web1.load, the same series that carbon's line servers.web1.load becomes (services/ingest/graphite).

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"cistern/services/transfer"

	"github.com/prometheus/prometheus/model/labels"
)

const suffix = ".wsp"

// Source is a folder of files, or one file.
type Source struct {
	root  string
	files []string // relative to the root, in their order
}

// Open finds the files. Links are not followed, so that a folder that is linked into itself ends.
func Open(path string) (*Source, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return &Source{root: filepath.Dir(path), files: []string{filepath.Base(path)}}, nil
	}
	s := &Source{root: path}
	err = filepath.WalkDir(path, func(at string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if e.Type().IsRegular() && strings.HasSuffix(at, suffix) {
			name, err := filepath.Rel(path, at)
			s.files = append(s.files, name)
			return err
		}
		return nil
	})
	if err == nil && len(s.files) == 0 {
		err = fmt.Errorf("%s has no whisper files (*%s): name carbon's folder, usually /var/lib/graphite/whisper", path, suffix)
	}
	slices.Sort(s.files)
	return s, err
}

// Identity is the list of the files: carbon may go on writing to them.
func (s *Source) Identity() string {
	sum := sha256.Sum256([]byte(strings.Join(s.files, "\n")))
	return hex.EncodeToString(sum[:16])
}

// Close is for the interface.
func (s *Source) Close() error { return nil }

// Survey reads all files.
func (s *Source) Survey(ctx context.Context, selection *transfer.Selection, before int64) (*transfer.Survey, error) {
	used := map[string]int64{}
	survey, err := transfer.Count(ctx, &counting{s, used}, selection, before)
	if err != nil {
		return nil, err
	}
	survey.Files = len(s.files)
	var parts []string
	for _, method := range slices.Sorted(maps.Keys(used)) {
		parts = append(parts, fmt.Sprintf("%s of %d", method, used[method]))
	}
	if len(parts) > 0 {
		survey.Notes = append(survey.Notes, "Older points stand for longer times, by the aggregation of their files: "+strings.Join(parts, ", ")+".")
	}
	return survey, nil
}

// counting counts the aggregations of the files that are read.
type counting struct {
	*Source
	methods map[string]int64
}

func (c *counting) Walk(ctx context.Context, w transfer.Walk) error {
	return c.walk(ctx, w, func(method string) { c.methods[method]++ })
}

// Walk yields a part for each file.
func (s *Source) Walk(ctx context.Context, w transfer.Walk) error {
	return s.walk(ctx, w, func(string) {})
}

func (s *Source) walk(ctx context.Context, w transfer.Walk, aggregated func(method string)) error {
	for i, file := range s.files {
		if err := ctx.Err(); err != nil {
			return err
		}
		if int64(i) < w.From {
			continue
		}
		set, err := Labels(file)
		if err != nil {
			w.Report(file, err, -1)
			continue
		}
		set, ok := w.Selection.Labels(set)
		if !ok {
			continue
		}
		points, method, stray, err := s.read(file)
		if err != nil {
			w.Report(file, err, -1)
			continue
		}
		aggregated(method)
		err = w.Use(&transfer.Part{Number: int64(i), Labels: set, Each: func(use func(transfer.Sample) error) error {
			if stray > 0 {
				w.Report(file, errors.New("points are not where their times belong"), stray)
			}
			for _, p := range points {
				if t := p.Time * 1000; w.Selection.Holds(t) {
					if err := use(transfer.Sample{Time: t, Value: p.Value}); err != nil {
						return err
					}
				}
			}
			return nil
		}})
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *Source) read(file string) ([]Point, string, int64, error) {
	f, err := os.Open(filepath.Join(s.root, file))
	if err != nil {
		return nil, "", 0, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, "", 0, err
	}
	return Read(f, info.Size())
}

// Labels is the series of a file: its path with dots, and of one with tags, which carbon keeps in _tagged by a hash, the
// tags in its name (disk;datacenter=dc1;rack=a1) as labels.
func Labels(file string) (labels.Labels, error) {
	path := strings.TrimSuffix(filepath.ToSlash(file), suffix)
	if tagged, ok := strings.CutPrefix(path, "_tagged/"); ok {
		name := tagged[strings.LastIndex(tagged, "/")+1:]
		if !strings.Contains(name, ";") && !strings.Contains(name, "_DOT_") && len(name) == 64 {
			return labels.EmptyLabels(), errors.New("carbon kept only a hash of its name (TAG_HASH_FILENAMES); nobody can say which series it is")
		}
		path = strings.ReplaceAll(name, "_DOT_", ".")
	} else {
		path = strings.ReplaceAll(path, "/", ".")
	}
	name, tags, tagged := strings.Cut(path, ";")
	pairs := []labels.Label{{Name: transfer.NameLabel, Value: name}}
	for tagged {
		var tag string
		tag, tags, tagged = strings.Cut(tags, ";")
		key, value, ok := strings.Cut(tag, "=")
		if !ok || key == "" || value == "" || key == transfer.NameLabel {
			return labels.EmptyLabels(), fmt.Errorf("%q is no tag", tag)
		}
		pairs = append(pairs, labels.Label{Name: key, Value: value})
	}
	return transfer.FromPairs(pairs), nil
}
