package main

// cistern import and cistern export: history from other systems into the appliance, and from the appliance into files.

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"cistern/services/cli"
	"cistern/services/transfer"
	"cistern/services/transfer/prometheus"
	"cistern/services/transfer/rrd"
	"cistern/services/transfer/victoriametrics"
	"cistern/services/transfer/whisper"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
	"golang.org/x/term"
)

const importHelp = `cistern import prometheus DIR             the blocks of a Prometheus: its data folder, a snapshot, or one block
cistern import victoriametrics FILE|-     what /api/v1/export gave, also packed with gzip; - is standard input
cistern import graphite DIR               carbon's whisper files
cistern import rrd FILE…|DIR              what “rrdtool dump” wrote, also packed with gzip

An import that was interrupted goes on when the same command is given again. What is sent twice is stored once.
`

// moving are the arguments that both directions have.
type moving struct {
	options         cli.Options
	from, to, match string
}

func (m *moving) flags(s streams, name, help string) *flag.FlagSet {
	config, cache := cli.Folders()
	m.options = cli.Options{Config: config, Cache: cache}
	flags := flag.NewFlagSet("cistern "+name, flag.ContinueOnError)
	flags.SetOutput(s.err)
	flags.Usage = func() {
		fmt.Fprint(s.err, help, "\n")
		flags.PrintDefaults()
	}
	flags.StringVar(&m.options.URL, "url", "", "the appliance, https://`HOST`; left out on the appliance itself, or when signed in")
	flags.StringVar(&m.options.Appliance, "appliance", "", "the `name` under which sign-in has kept the appliance")
	flags.StringVar(&m.options.Token, "token", "", "an API `token` of an administrator")
	flags.StringVar(&m.options.Fingerprint, "fingerprint", "", "the certificate's `SHA-256`, as the console shows it")
	flags.StringVar(&m.from, "from", "", "leave out what is before this `time`, as 2026-11-21T12:00:00Z or seconds since 1970")
	flags.StringVar(&m.to, "to", "", "leave out what is after this `time`")
	flags.StringVar(&m.match, "match", "", "only series that match this `selector`, like http_requests_total{job=\"web\"}")
	return flags
}

// connect is the connection that the arguments, or else the environment, name; a help text shows neither.
func (m *moving) connect() *cli.Connection {
	o := m.options
	o.URL = cmp.Or(o.URL, os.Getenv("CISTERN_URL"))
	o.Appliance = cmp.Or(o.Appliance, os.Getenv("CISTERN_APPLIANCE"))
	o.Token = cmp.Or(o.Token, os.Getenv("CISTERN_TOKEN"))
	o.Fingerprint = cmp.Or(o.Fingerprint, os.Getenv("CISTERN_FINGERPRINT"))
	return o.Connect()
}

// words reads flags and other arguments in any order, and returns the others.
func words(flags *flag.FlagSet, arguments []string) ([]string, error) {
	var others []string
	for {
		if err := flags.Parse(arguments); errors.Is(err, flag.ErrHelp) {
			return nil, err
		} else if err != nil {
			return nil, errUsage
		}
		rest := flags.Args()
		if len(rest) == 0 {
			return others, nil
		}
		n := 0
		for n < len(rest) && (rest[n] == "-" || !strings.HasPrefix(rest[n], "-")) {
			n++
		}
		if n == 0 { // behind --
			return append(others, rest...), nil
		}
		others, arguments = append(others, rest[:n]...), rest[n:]
	}
}

// selection is what the arguments choose.
func (m *moving) selection() (*transfer.Selection, error) {
	chosen := transfer.Everything()
	var err error
	if chosen.From, err = moment("--from", m.from, chosen.From); err != nil {
		return nil, err
	}
	if chosen.To, err = moment("--to", m.to, chosen.To); err != nil {
		return nil, err
	}
	if chosen.To < chosen.From {
		return nil, fmt.Errorf("--to lies before --from; %w", errUsage)
	}
	if m.match != "" {
		if chosen.Matchers, err = parser.NewParser(parser.Options{}).ParseMetricSelector(m.match); err != nil {
			return nil, fmt.Errorf("--match: %w", err)
		}
	}
	return chosen, nil
}

// moment reads a time in milliseconds.
func moment(name, text string, otherwise int64) (int64, error) {
	if text == "" {
		return otherwise, nil
	}
	if t, err := time.Parse(time.RFC3339, text); err == nil {
		return t.UnixMilli(), nil
	}
	seconds, err := strconv.ParseFloat(text, 64)
	if err != nil || !(math.Abs(seconds) < 1e12) || strings.ContainsAny(text, "xX_") {
		return 0, fmt.Errorf("%s: %q is no time: write 2026-11-21T12:00:00Z, or seconds since 1970; %w", name, text, errUsage)
	}
	return int64(math.Round(seconds * 1000)), nil
}

func pair(text string) (before, after string, err error) {
	before, after, ok := strings.Cut(text, "=")
	if !ok || before == "" {
		return "", "", fmt.Errorf("%q is not NAME=VALUE", text)
	}
	return before, after, nil
}

// screen shows progress on the output for errors, so that what is exported to standard output stays clean.
func screen(s streams) *transfer.Screen {
	f, ok := s.err.(*os.File)
	return &transfer.Screen{Out: s.err, Terminal: ok && term.IsTerminal(int(f.Fd()))}
}

func interruptible() (context.Context, context.CancelFunc) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // who does not want to wait interrupts again
	return ctx, stop
}

func importHistory(s streams, arguments []string) error {
	var m moving
	flags := m.flags(s, "import", importHelp)
	o := transfer.Options{Screen: screen(s), Patience: 10 * time.Minute}
	var add []labels.Label
	var renames []transfer.Rename
	var function, name string
	flags.BoolVar(&o.SkipOlder, "skip-older", false, "leave out what is older than the appliance keeps measurements")
	flags.StringVar(&o.State, "state", "", "`file` that says how far the import is; one in the folder of your state when left out")
	flags.BoolVar(&o.Again, "again", false, "begin anew, whatever was sent before")
	flags.IntVar(&o.Check, "check", 200, "compare about so many `series` with the appliance afterwards; 0: none")
	flags.StringVar(&function, "function", "AVERAGE", "of rrd: the consolidation `function` whose archives are taken: AVERAGE, MIN, MAX or LAST")
	flags.StringVar(&name, "name", "", "of rrd: the `name` of the metric; the file's name when left out")
	flags.Func("label", "`NAME=VALUE` that every series gets; may be repeated", func(text string) error {
		before, after, err := pair(text)
		add = append(add, labels.Label{Name: before, Value: after})
		return err
	})
	flags.Func("rename", "`OLD=NEW`: another name for a metric, or with OLD*=NEW* for all that begin so; may be repeated", func(text string) error {
		before, after, err := pair(text)
		if err == nil && (after == "" || strings.HasSuffix(before, "*") != strings.HasSuffix(after, "*")) {
			err = fmt.Errorf("%q is neither OLD=NEW nor OLD*=NEW*", text)
		}
		renames = append(renames, transfer.Rename{From: before, To: after})
		return err
	})
	others, err := words(flags, arguments)
	if errors.Is(err, flag.ErrHelp) {
		return nil
	}
	if err != nil {
		return err
	}
	if len(others) < 2 || len(others) > 2 && others[0] != "rrd" {
		fmt.Fprint(s.err, importHelp)
		return errUsage
	}
	chosen, err := m.selection()
	if err != nil {
		return err
	}
	chosen.Add, chosen.Renames = add, renames
	o.Selection = chosen
	home, _ := os.UserHomeDir()
	o.Folder = stateFolder(runtime.GOOS, home, os.Getenv)
	source, err := openSource(s, others[0], others[1:], rrd.Options{Function: strings.ToUpper(function), Name: name}, o.Folder)
	if err != nil {
		return err
	}
	defer source.Close()
	if o.What, err = described(others, m, add, renames, function, name, o.SkipOlder); err != nil {
		return err
	}
	if others[1] == "-" {
		o.Again = true // nobody knows whether it is the same input
	}
	ctx, stop := interruptible()
	defer stop()
	_, err = transfer.Import(ctx, source, m.connect(), o)
	return err
}

// stateFolder is where states are kept: as the XDG base directories have it, and on Windows beside the programs' own data.
func stateFolder(system, home string, variable func(string) string) string {
	if folder := variable("XDG_STATE_HOME"); filepath.IsAbs(folder) {
		return filepath.Join(folder, "cistern")
	}
	if folder := variable("LocalAppData"); system == "windows" && folder != "" {
		return filepath.Join(folder, "cistern")
	}
	if home == "" {
		return filepath.Join(os.TempDir(), "cistern")
	}
	return filepath.Join(home, ".local", "state", "cistern")
}

func openSource(s streams, format string, paths []string, o rrd.Options, folder string) (transfer.Source, error) {
	switch format {
	case "prometheus":
		return prometheus.Open(paths[0])
	case "victoriametrics":
		if paths[0] != "-" {
			return victoriametrics.Open(paths[0])
		}
		if err := os.MkdirAll(folder, 0o700); err != nil {
			return nil, err
		}
		return victoriametrics.Spool(s.in, folder)
	case "graphite":
		return whisper.Open(paths[0])
	case "rrd":
		if !slices.Contains([]string{"AVERAGE", "MIN", "MAX", "LAST"}, o.Function) {
			return nil, fmt.Errorf("--function is AVERAGE, MIN, MAX or LAST; %w", errUsage)
		}
		return rrd.Open(paths, o)
	}
	fmt.Fprint(s.err, importHelp)
	return nil, fmt.Errorf("%q is no format that is imported; %w", format, errUsage)
}

// described is what is imported, and how, as one text: where such an import goes on is kept under it.
func described(others []string, m moving, add []labels.Label, renames []transfer.Rename, function, name string, skipOlder bool) (string, error) {
	parts := []string{others[0]}
	for _, path := range others[1:] {
		if path != "-" {
			whole, err := filepath.Abs(path)
			if err != nil {
				return "", err
			}
			path = whole
		}
		parts = append(parts, path)
	}
	option := func(name, value string) {
		if value != "" {
			parts = append(parts, "--"+name+" "+value)
		}
	}
	option("from", m.from)
	option("to", m.to)
	option("match", m.match)
	for _, l := range add {
		option("label", l.Name+"="+l.Value)
	}
	for _, r := range renames {
		option("rename", r.From+"="+r.To)
	}
	if others[0] == "rrd" {
		option("function", strings.ToUpper(function))
		option("name", name)
	}
	if skipOlder {
		parts = append(parts, "--skip-older")
	}
	return strings.Join(parts, " "), nil
}
