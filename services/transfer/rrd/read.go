package rrd

// Files of rrdtool's XML as a source: a data source is a series, named as its file, or as the user says, with the data source's name
// as the label ds, and with the file's folder beneath the one that is imported as the label dir.

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"cistern/services/transfer"

	"github.com/prometheus/prometheus/model/labels"
)

// maxUnpacked bounds what a packed file unpacks to.
const maxUnpacked = 4 << 30

// Options say what becomes of the files.
type Options struct {
	// Function is the consolidation function whose archives are taken: AVERAGE, MIN, MAX or LAST.
	Function string
	// Name is all series' name; empty: their files' names.
	Name string
}

// Source is some files.
type Source struct {
	options Options
	files   []file
}

type file struct {
	path, dir, name string
	size            int64
}

// Open finds the files: those that are named, and those of the folders that are.
func Open(paths []string, options Options) (*Source, error) {
	s := &Source{options: options}
	for _, path := range paths {
		if err := s.find(path); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(s.files, func(a, b file) int { return strings.Compare(a.path, b.path) })
	seen := map[string]string{}
	for _, f := range s.files {
		id := f.dir + "\x00" + f.name
		if other, twice := seen[id]; twice {
			return nil, fmt.Errorf("%s and %s would become the same series: import them one by one, each with a --label or --name of its own", other, f.path)
		}
		seen[id] = f.path
	}
	return s, nil
}

const dump = `dump them first: for f in *.rrd; do rrdtool dump "$f" "$f.xml"; done`

func (s *Source) find(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		s.add(path, "", info.Size())
		return nil
	}
	before, binary := len(s.files), 0
	err = filepath.WalkDir(path, func(at string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		switch {
		case strings.HasSuffix(at, ".xml") || strings.HasSuffix(at, ".xml.gz"):
			info, err := e.Info()
			if err != nil {
				return err
			}
			dir, err := filepath.Rel(path, filepath.Dir(at))
			if err != nil {
				return err
			}
			s.add(at, strings.TrimPrefix(filepath.ToSlash(dir), "."), info.Size())
		case strings.HasSuffix(at, ".rrd"):
			binary++
		}
		return nil
	})
	if err == nil && len(s.files) == before {
		err = fmt.Errorf("%s has no dumps of rrdtool (*.xml, *.xml.gz)", path)
		if binary > 0 {
			err = fmt.Errorf("%w, and %d databases (*.rrd), whose form belongs to the machine that they are from: %s", err, binary, dump)
		}
	}
	return err
}

func (s *Source) add(path, dir string, size int64) {
	name := filepath.Base(path)
	for _, suffix := range []string{".gz", ".xml", ".rrd"} {
		name = strings.TrimSuffix(name, suffix)
	}
	s.files = append(s.files, file{path: path, dir: dir, name: name, size: size})
}

// Identity is the list of the files with their sizes.
func (s *Source) Identity() string {
	sum := sha256.New()
	for _, f := range s.files {
		fmt.Fprintf(sum, "%s %d\n", f.path, f.size)
	}
	return hex.EncodeToString(sum.Sum(nil)[:16])
}

// Close is for the interface.
func (s *Source) Close() error { return nil }

// Survey reads all files.
func (s *Source) Survey(ctx context.Context, selection *transfer.Selection, before int64) (*transfer.Survey, error) {
	survey, err := transfer.Count(ctx, s, selection, before)
	if err != nil {
		return nil, err
	}
	survey.Files = len(s.files)
	return survey, nil
}

// Parts are numbered by file and data source.
const sourceBits = 16

// Walk yields a part for each data source of each file.
func (s *Source) Walk(ctx context.Context, w transfer.Walk) error {
	for i, f := range s.files {
		if err := ctx.Err(); err != nil {
			return err
		}
		first := int64(i) << sourceBits
		if first+1<<sourceBits <= w.From {
			continue
		}
		d, err := read(f.path)
		if err == nil && !slices.Contains(d.Functions(), s.options.Function) {
			err = fmt.Errorf("it has no archive of %s, only of %s: choose one with --function", s.options.Function, strings.Join(d.Functions(), ", "))
		}
		if err != nil {
			if first >= w.From {
				w.Report(f.path, err, -1)
			}
			continue
		}
		for source := range d.Sources {
			number := first + int64(source)
			set, ok := w.Selection.Labels(s.labels(f, d.Sources[source].Name))
			if number < w.From || !ok {
				continue
			}
			err := w.Use(&transfer.Part{Number: number, Labels: set, Kind: transfer.Gauge, Each: func(use func(transfer.Sample) error) error {
				for _, p := range d.Points(source, s.options.Function) {
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
	}
	return nil
}

func (s *Source) labels(f file, ds string) labels.Labels {
	name := s.options.Name
	if name == "" {
		name = f.name
	}
	pairs := []labels.Label{{Name: transfer.NameLabel, Value: name}, {Name: "ds", Value: ds}}
	if f.dir != "" {
		pairs = append(pairs, labels.Label{Name: "dir", Value: f.dir})
	}
	return transfer.FromPairs(pairs)
}

func read(path string) (*Database, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	buffered := bufio.NewReaderSize(f, 256<<10)
	magic, _ := buffered.Peek(4) // what is shorter is no dump, which Parse says
	if bytes.Equal(magic, []byte("RRD\x00")) {
		return nil, errors.New("it is a database, whose form belongs to the machine that it is from: " + dump)
	}
	var in io.Reader = buffered
	if bytes.HasPrefix(magic, []byte{0x1f, 0x8b}) {
		unpacked, err := gzip.NewReader(buffered)
		if err != nil {
			return nil, err
		}
		in = io.LimitReader(unpacked, maxUnpacked)
	}
	return Parse(in)
}
