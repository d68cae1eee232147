package main

// storaged export and storaged import: a store's samples as OpenMetrics text or Parquet, and back.

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"time"

	"cistern/services/archive"
	"cistern/services/tsdb"

	"github.com/prometheus/prometheus/promql/parser"
)

func init() {
	commands["export"], commands["import"] = exportCommand, importCommand
}

// formatOf is the format that a file's name says, unless one was given.
func formatOf(given, file string) string {
	if given == "" && filepath.Ext(file) == ".parquet" {
		return archive.Parquet
	}
	if given == "" {
		return archive.OpenMetrics
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
	var seconds float64
	if n, err := fmt.Sscanf(text, "%g", &seconds); err != nil || n != 1 || !(math.Abs(seconds) < 1e12) {
		return 0, fmt.Errorf("%q is no time: write 2026-11-21T12:00:00Z, or seconds since 1970", text)
	}
	return int64(math.Round(seconds * 1000)), nil
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
		return fail(fmt.Errorf("--file is missing"))
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
	store, err := tsdb.Open(folder, tsdb.Options{Untidied: true})
	if err != nil {
		return fail(err)
	}
	defer store.Close()
	target := io.Writer(out)
	if file != "-" {
		// Under a temporary name: half a file would look like a whole one.
		created, err := os.Create(file + ".part")
		if err != nil {
			return fail(err)
		}
		defer os.Remove(file + ".part")
		defer created.Close()
		target = created
	}
	var warnings tsdb.Warnings
	buffered := bufio.NewWriter(target)
	sum, err := archive.Export(tsdb.WithWarnings(context.Background(), &warnings), store, buffered, formatOf(format, file), minTime, maxTime, matchers...)
	if err == nil {
		err = buffered.Flush()
	}
	if created, ok := target.(*os.File); ok && err == nil && file != "-" {
		if err = created.Sync(); err == nil {
			err = os.Rename(file+".part", file)
		}
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
	if list := warnings.List(); len(list) > 0 {
		fmt.Fprintln(errs, strings.Join(list, "\n"))
		return exitDamage
	}
	return exitOK
}

func importCommand(arguments []string, out, errs io.Writer) int {
	var file, format string
	folder, code := folderFlags("import", "take the samples of a file into a store. storaged must be stopped. Log-linear histograms of the same second add up,\nso import a file once.",
		arguments, out, errs, func(flags *flag.FlagSet) {
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
	in, err := os.Open(file)
	if err != nil {
		return fail(err)
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return fail(err)
	}
	// What is imported is old: nothing is too far behind.
	store, err := tsdb.Open(folder, tsdb.Options{OutOfOrder: 100 * 365 * 24 * time.Hour, Untidied: true})
	if err != nil {
		return fail(err)
	}
	sum, err := archive.Import(context.Background(), store, in, info.Size(), formatOf(format, file))
	if closeErr := store.Close(); err == nil {
		err = closeErr
	}
	fmt.Fprintf(errs, "Took %d samples.\n", sum.Samples)
	if sum.Rejected > 0 {
		fmt.Fprintf(errs, "%d were refused, the first one because %s.\n", sum.Rejected, sum.First)
	}
	if err != nil {
		return fail(err)
	}
	if sum.Rejected > 0 {
		return exitDamage
	}
	return exitOK
}
