package main

// storaged export and storaged import: a store's samples as OpenMetrics text or Parquet, and back.

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"cistern/services/daemon"
	"cistern/services/store/export"
	"cistern/services/store/tsdb"

	"github.com/prometheus/prometheus/promql/parser"
)

func init() {
	commands["export"], commands["import"] = saying("export", exportCommand), saying("import", importCommand)
}

// interruptible ends when somebody interrupts the command, which then leaves no half file behind. Who does not want to
// wait for that interrupts it again.
func interruptible() (context.Context, context.CancelFunc) {
	ctx, stop := signal.NotifyContext(context.Background(), daemon.Signals()...)
	context.AfterFunc(ctx, stop)
	return ctx, stop
}

// formatOf is the format that a file's name says, unless one was given.
func formatOf(given, file string) string {
	if given == "" && filepath.Ext(file) == ".parquet" {
		return export.Parquet
	}
	if given == "" {
		return export.OpenMetrics
	}
	return given
}

// moment reads a time: RFC 3339, or seconds since 1970.
func moment(text string, otherwise int64) (int64, error) {
	if text == "" {
		return otherwise, nil
	}
	if t, err := time.Parse(time.RFC3339, text); err == nil {
		return t.UnixMilli(), nil
	}
	// ParseFloat also takes hexadecimal and underscores; only decimal numbers are meant here.
	seconds, err := strconv.ParseFloat(text, 64)
	if err != nil || !(math.Abs(seconds) < 1e12) || strings.ContainsAny(text, "xX_") {
		return 0, fmt.Errorf("%q is no time: write 2026-11-21T12:00:00Z, or seconds since 1970", text)
	}
	return int64(math.Round(seconds * 1000)), nil
}

// trouble writes what a store logs while a command has it open, and counts what it could not read or do.
type trouble struct {
	slog.Handler
	errors atomic.Int64
}

func newTrouble(errs io.Writer) *trouble {
	return &trouble{Handler: slog.NewTextHandler(errs, &slog.HandlerOptions{Level: slog.LevelWarn})}
}

func (t *trouble) Handle(ctx context.Context, r slog.Record) error {
	if r.Level >= slog.LevelError {
		t.errors.Add(1)
	}
	return t.Handler.Handle(ctx, r)
}

func exportCommand(arguments []string, out, errs io.Writer) int {
	var file, format, from, to, match string
	folder, code := folderFlags("export", "write the samples of a store to a file. storaged must be stopped; of a running one, export a snapshot's copy.\nWhere only rollups are left their values are written. Exemplars, help texts and units are not.",
		arguments, out, errs, func(flags *flag.FlagSet) {
			flags.StringVar(&file, "file", "", "`file` to write; - is standard output")
			flags.StringVar(&format, "format", "", "openmetrics or parquet; by the file's name when it is not given")
			flags.StringVar(&from, "from", "", "leave out what is before this time")
			flags.StringVar(&to, "to", "", "leave out what is after this time")
			flags.StringVar(&match, "match", "", "only series that match, like http_requests_total{job=\"web\"}")
		})
	if folder == "" {
		return code
	}
	fail := func(err error) int {
		fmt.Fprintf(errs, "storaged export: %v\n", advise(err))
		return exitFailed
	}
	if file == "" {
		return fail(errors.New("--file is missing: the file to write, or - for standard output"))
	}
	minTime, err := moment(from, math.MinInt64/2)
	if err != nil {
		return fail(err)
	}
	maxTime, err := moment(to, math.MaxInt64/2)
	if err != nil {
		return fail(err)
	}
	var matchers []*tsdb.Matcher
	if match != "" {
		if matchers, err = parser.NewParser(parser.Options{}).ParseMetricSelector(match); err != nil {
			return fail(fmt.Errorf("--match: %w", err))
		}
	}
	if err := storeIn(folder); err != nil { // opening would make one
		return fail(err)
	}
	ctx, stop := interruptible()
	defer stop()
	log := newTrouble(errs)
	store, err := tsdb.Open(folder, tsdb.Options{Untidied: true, Log: slog.New(log)})
	if err != nil {
		return fail(err)
	}
	defer store.Close()
	target, finish, err := exportTarget(file, out)
	if err != nil {
		return fail(err)
	}
	finished := false
	defer func() {
		if !finished {
			_ = finish(false)
		}
	}()
	var warnings tsdb.Warnings
	buffered := bufio.NewWriter(target)
	sum, err := export.Export(tsdb.WithWarnings(ctx, &warnings), store, buffered, formatOf(format, file), minTime, maxTime, matchers...)
	if err == nil {
		err = buffered.Flush()
	}
	if err == nil {
		finished, err = true, finish(true)
	}
	if errors.Is(err, context.Canceled) {
		return fail(errors.New("it was interrupted, and no file was written"))
	}
	if err != nil {
		return fail(err)
	}
	fmt.Fprintf(errs, "Wrote %d samples of %d series.\n", sum.Samples, sum.Series)
	if sum.LeftOut > 0 {
		fmt.Fprintf(errs, "%d native histograms and marks that a series ended were left out: OpenMetrics has no form for them, Parquet has.\n", sum.LeftOut)
	}
	if apart := store.Granularity(minTime, maxTime); apart > 0 {
		fmt.Fprintf(errs, "Of a part of the time only rollups are left, up to %v long: for each there is one sample, of a counter the last value, of other numbers the mean.\n", apart)
	}
	for _, d := range store.Status().Damaged {
		if d.SetAside {
			fmt.Fprintf(errs, "Nothing of the block %s is among them: %s. Restore it from a snapshot, or see storaged repair.\n", d.Block, d.Detail)
			log.errors.Add(1)
		}
	}
	if list := warnings.List(); len(list) > 0 || log.errors.Load() > 0 {
		fmt.Fprint(errs, strings.Join(append(list, ""), "\n"))
		return exitDamage
	}
	return exitOK
}

// exportTarget opens what is exported to: out for -, a pipe or a device as it is, a file under a temporary name, because
// half a file would look like a whole one. finish gives it its own name, or removes it.
func exportTarget(file string, out io.Writer) (target io.Writer, finish func(whole bool) error, err error) {
	if file == "-" {
		return out, func(bool) error { return nil }, nil
	}
	if info, err := os.Stat(file); err == nil && !info.Mode().IsRegular() {
		opened, err := os.OpenFile(file, os.O_WRONLY, 0)
		if err != nil {
			return nil, nil, err
		}
		return opened, func(bool) error { return opened.Close() }, nil
	}
	part := file + ".part"
	created, err := os.Create(part)
	if err != nil {
		return nil, nil, err
	}
	return created, func(whole bool) error {
		var err error
		if whole {
			err = created.Sync()
		}
		err = errors.Join(err, created.Close())
		if whole && err == nil {
			if err = os.Rename(part, file); err == nil {
				return nil
			}
		}
		return errors.Join(err, os.Remove(part))
	}, nil
}

// retentionOf is how long samples are kept: as it is given, as the file of settings says, or by default.
func retentionOf(settings, given string) (time.Duration, error) {
	c := defaults()
	if settings != "" {
		if _, err := c.readFile(settings); err != nil {
			return 0, err
		}
	}
	if given != "" {
		if err := c.Retention.Raw.UnmarshalText([]byte(given)); err != nil {
			return 0, fmt.Errorf("--retention: %w", err)
		}
	}
	if c.Retention.Raw <= 0 {
		return 0, errors.New("--retention must be more than nothing, like 400d")
	}
	return time.Duration(c.Retention.Raw), nil
}

func importCommand(arguments []string, out, errs io.Writer) int {
	var file, format, settings, keep string
	folder, code := folderFlags("import", "take the samples of a file into a store. storaged must be stopped. Log-linear histograms of the same second add up,\nso import a file once. "+
		"What is older than storaged keeps samples is refused and counted: it would be let go at the next start.",
		arguments, out, errs, func(flags *flag.FlagSet) {
			flags.StringVar(&settings, "config", "", "`file` with storaged's settings, for how long samples are kept; what was set in the web page holds in any case")
			flags.StringVar(&keep, "retention", "", "how long samples are kept, `like` 400d; instead of the settings")
			flags.StringVar(&file, "file", "", "`file` to read")
			flags.StringVar(&format, "format", "", "openmetrics or parquet; by the file's name when it is not given")
		})
	if folder == "" {
		return code
	}
	fail := func(err error) int {
		fmt.Fprintf(errs, "storaged import: %v\n", advise(err))
		return exitFailed
	}
	if file == "" {
		return fail(errors.New("--file is missing: the file to read"))
	}
	retention, err := retentionOf(settings, keep)
	if err != nil {
		return fail(err)
	}
	in, err := os.Open(file)
	if err != nil {
		return fail(err)
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return fail(err)
	}
	ctx, stop := interruptible()
	defer stop()
	log := newTrouble(errs)
	// What is imported is old: nothing is too far behind.
	store, err := tsdb.Open(folder, tsdb.Options{Retention: retention, OutOfOrder: 100 * 365 * 24 * time.Hour, Untidied: true, Log: slog.New(log)})
	if err != nil {
		return fail(err)
	}
	sum, err := export.Import(ctx, store, in, info.Size(), formatOf(format, file))
	if closeErr := store.Close(); err == nil {
		err = closeErr
	}
	fmt.Fprintf(errs, "Took %d samples.\n", sum.Samples)
	for _, reason := range slices.Sorted(maps.Keys(sum.Reasons)) {
		one := sum.Reasons[reason]
		fmt.Fprintf(errs, "%d were refused (%s), the first one because %s.\n", one.Samples, reason, one.First)
	}
	if sum.Reasons[tsdb.TooOld].Samples > 0 {
		fmt.Fprintln(errs, "To take what is older, name the settings that storaged runs with (--config), set the retention in the web page first, or give --retention, and run storaged with the same.")
	}
	if errors.Is(err, context.Canceled) {
		return fail(errors.New("it was interrupted; what was taken until then stays in the store"))
	}
	if err != nil {
		return fail(err)
	}
	if sum.Rejected > 0 || log.errors.Load() > 0 {
		return exitDamage
	}
	return exitOK
}
