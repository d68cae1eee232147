package main

// Workloads that are benchmarks or tests of Cistern's own packages: the histogram, the clock, the crash test. They are
// run as they are, and the peers' part is measured here beside them.

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/openhistogram/circonusllhist"
)

var benchmarkLine = regexp.MustCompile(`(?m)^Benchmark(\S+?)(?:-\d+)?\s+\d+\s+([0-9.e+]+) ns/op`)

// goTest runs go test on one of Cistern's packages and returns what it said.
func (b *bench) goTest(ctx context.Context, folder string, environment []string, arguments ...string) (string, error) {
	if b.services == "" {
		return "", errors.New("the folder of the Go services is not known (--services)")
	}
	command := exec.CommandContext(ctx, "go", append([]string{"test"}, append(arguments, "./"+folder)...)...)
	command.Dir = b.services
	command.Env = append(os.Environ(), environment...)
	// The test binary is a child of go's: both end with their group.
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	command.Cancel = func() error { return syscall.Kill(-command.Process.Pid, syscall.SIGKILL) }
	command.WaitDelay = 5 * time.Second
	text, err := command.CombinedOutput()
	if err != nil {
		err = fmt.Errorf("go test ./%s: %w\n%s", folder, err, text[max(0, len(text)-1500):])
	}
	return string(text), err
}

// goBench runs benchmarks of one of Cistern's packages: nanoseconds by name, several of each.
func (b *bench) goBench(ctx context.Context, folder string) (names []string, ns map[string][]float64, err error) {
	if _, err := os.Stat(filepath.Join(b.services, folder)); errors.Is(err, fs.ErrNotExist) {
		return nil, nil, fmt.Errorf("services/%s is not there yet", folder)
	}
	each := "1s"
	if b.quick {
		each = "200ms"
	}
	text, err := b.goTest(ctx, folder, nil, "-run", "^$", "-bench", ".", "-benchtime", each, "-count", strconv.Itoa(b.repeats))
	if err != nil {
		return nil, nil, err
	}
	ns = map[string][]float64{}
	for _, match := range benchmarkLine.FindAllStringSubmatch(text, -1) {
		value, err := strconv.ParseFloat(match[2], 64)
		if err != nil {
			continue
		}
		if !slices.Contains(names, match[1]) {
			names = append(names, match[1])
		}
		ns[match[1]] = append(ns[match[1]], value)
	}
	return names, ns, nil
}

func perOp(run func(b *testing.B)) float64 {
	r := testing.Benchmark(run)
	return float64(r.T.Nanoseconds()) / float64(r.N)
}

const (
	reference = "circonusllhist"
	timeNow   = "time.Now"
)

func microWorkload(ctx context.Context, b *bench, sections map[string]*section) error {
	s := sections["histogram-micro"]
	s.systems = []string{cistern, reference}
	s.about = "Inserting log-normal values, merging histograms of 2,000 of them, and merging a week of one a minute (10,080 histograms of 275 bins) from their stored form; Cistern's figures are the benchmarks of services/histogram."
	r := rand.New(rand.NewPCG(7, 8))
	values := make([]float64, 1024)
	for i := range values {
		values[i] = math.Exp(r.NormFloat64()) * 0.01
	}
	// 275 bins, as PEERS.md has them: three decades of 90 and a few more.
	var week [][]byte
	for range 64 {
		h := circonusllhist.New(circonusllhist.NoLocks())
		for i := range 275 {
			mantissa, decade := 10+i%90, i/90-3
			if err := h.RecordValues((float64(mantissa)+0.5)/10*math.Pow(10, float64(decade)), int64(1+r.IntN(2000))); err != nil {
				return err
			}
		}
		var text bytes.Buffer
		if err := h.Serialize(&text); err != nil {
			return err
		}
		week = append(week, text.Bytes())
	}
	var inserts, merges, weeks []float64
	for range b.repeats {
		insert := perOp(func(t *testing.B) {
			h := circonusllhist.New(circonusllhist.NoLocks())
			for i := range t.N {
				_ = h.RecordValue(values[i%1024])
			}
		})
		var all []*circonusllhist.Histogram
		for range 64 {
			h := circonusllhist.New(circonusllhist.NoLocks())
			for range 2000 {
				_ = h.RecordValue(math.Exp(r.NormFloat64()) * 0.01)
			}
			all = append(all, h)
		}
		merge := perOp(func(t *testing.B) {
			sum := circonusllhist.New(circonusllhist.NoLocks())
			for i := range t.N {
				sum.Merge(all[i%64])
			}
		})
		began := time.Now()
		for column := range 112 {
			sum := circonusllhist.New(circonusllhist.NoLocks())
			for i := range 90 {
				h, err := circonusllhist.DeserializeWithOptions(bytes.NewReader(week[(column+i)%64]), circonusllhist.NoLocks())
				if err != nil {
					return err
				}
				sum.Merge(h)
			}
		}
		stored := time.Since(began).Seconds() * 1000
		inserts, merges, weeks = append(inserts, insert), append(merges, merge), append(weeks, stored)
	}
	names, ns, err := b.goBench(ctx, "histogram")
	if err != nil {
		s.fail(cistern, err)
	}
	add := func(title, unit string, pattern string, scale float64, theirs []float64, goals ...goal) {
		f := s.add(title, unit, goals...)
		f.values[reference] = theirs
		matching := regexp.MustCompile(pattern)
		for _, name := range names {
			// The package may measure the reference too; that is not ours.
			if matching.MatchString(name) && !strings.Contains(strings.ToLower(name), "circonus") && !strings.Contains(strings.ToLower(name), "reference") {
				f.name += " (" + name + ")"
				for _, value := range ns[name] {
					f.put(cistern, value*scale)
				}
				return
			}
		}
		f.said[cistern] = "not there yet"
	}
	add("insert", "ns", `^Insert`, 1, inserts, goal{"", 10, 8}, goal{reference, 3, 0})
	add("merge one", "ns", `^Merge(?:/|$|[A-Z])`, 1, merges, goal{reference, 3, 0})
	add("merge a week from its stored form, 112 columns", "ms", `(?i)week`, 1e-6, weeks, goal{reference, 20, 0})
	for _, name := range names {
		s.note("Benchmark%s: %s ns", name, number(median(ns[name])))
	}
	return nil
}

func clockWorkload(ctx context.Context, b *bench, sections map[string]*section) error {
	s := sections["clock"]
	s.systems = []string{cistern, timeNow}
	s.about = "Reading the clock; Cistern's figures are the benchmarks of services/platform/fastclock."
	names, ns, err := b.goBench(ctx, "platform/fastclock")
	if err != nil {
		s.fail(cistern, err)
	}
	now := s.add("one reading", "ns", goal{timeNow, 2, 0})
	batch := s.add("on the ingest path, a sample", "ns", goal{"", 1, 0})
	for range b.repeats {
		now.put(timeNow, perOp(func(t *testing.B) {
			for range t.N {
				_ = time.Now()
			}
		}))
	}
	for _, name := range names {
		lower := strings.ToLower(name)
		switch {
		case strings.Contains(lower, "time") || strings.Contains(lower, "system"):
		case strings.Contains(lower, "batch") || strings.Contains(lower, "ingest") || strings.Contains(lower, "amortised"):
			batch.values[cistern] = ns[name]
		case strings.Contains(lower, "now") && len(now.values[cistern]) == 0:
			now.values[cistern] = ns[name]
		}
		s.note("Benchmark%s: %s ns", name, number(median(ns[name])))
	}
	if len(batch.values[cistern]) == 0 {
		batch.said[cistern] = "not there yet"
	}
	return nil
}

func crashWorkload(ctx context.Context, b *bench, sections map[string]*section) error {
	s := sections["crash"]
	s.systems = []string{cistern}
	rounds := 200
	if b.quick {
		rounds = 10
	}
	s.about = "kill -9 under full ingest, again and again on the same folder; then every acknowledged sample has to be there, none twice (services/cmd/storaged/crash_test.go)."
	f := s.add("rounds of kill -9", "")
	began := time.Now()
	said, err := b.goTest(ctx, "cmd/storaged", []string{"CISTERN_CRASH_ROUNDS=" + strconv.Itoa(rounds)}, "-count", "1", "-v", "-timeout", "50m", "-run", "Kill|Crash")
	done := strings.Count(said, ": killed after")
	if err != nil {
		f.said[cistern] = "FAILED"
		return err
	}
	f.said[cistern] = fmt.Sprintf("%d passed", done)
	s.note("Nothing lost, nothing twice, in %s.", time.Since(began).Round(time.Second))
	return nil
}
