package main

// Where settings come from: defaults, the configuration file, flags; the later wins.

import (
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"strconv"
	"strings"
	"time"

	"cistern/services/journal"

	"github.com/BurntSushi/toml"
)

// example is the configuration file that says the defaults.
//
//go:embed storaged.conf
var example string

// config is the configuration file; see storaged.conf for what each means.
type config struct {
	Data string `toml:"data"`
	HTTP struct {
		Address         string             `toml:"address"`
		Socket          string             `toml:"socket"`
		Durability      journal.Durability `toml:"durability"`
		DeltaSeries     int                `toml:"otlp_delta_series"`
		DeltaForgetTime length             `toml:"otlp_delta_forget_after"`
	} `toml:"http"`
	Statsd struct {
		Address     string             `toml:"address"`
		Socket      string             `toml:"socket"`
		Admin       string             `toml:"admin"`
		MaxNames    int                `toml:"max_names"`
		ForgetAfter length             `toml:"forget_after"`
		Durability  journal.Durability `toml:"durability"`
	} `toml:"statsd"`
	Graphite struct {
		Address    string             `toml:"address"`
		Pickle     string             `toml:"pickle"`
		Durability journal.Durability `toml:"durability"`
	} `toml:"graphite"`
	Retention struct {
		Raw    length `toml:"raw"`
		Minute length `toml:"minute"`
		Hour   length `toml:"hour"`
	} `toml:"retention"`
	Limits struct {
		Memory          int64  `toml:"memory"` // MiB
		OutOfOrder      length `toml:"out_of_order"`
		BlockEvery      length `toml:"block_every"`
		MaxSeries       int    `toml:"max_series"`
		SeriesPerSecond int    `toml:"series_per_second"`
		SeriesBurst     int    `toml:"series_burst"`
	} `toml:"limits"`
	Statistics struct {
		Host bool `toml:"host"`
	} `toml:"statistics"`
}

// defaults is what the example says.
func defaults() (c config) {
	if err := c.read(example, "storaged.conf"); err != nil {
		panic(err) // a test reads it too
	}
	return c
}

// read takes what text sets; name is for errors.
func (c *config) read(text, name string) error {
	meta, err := toml.Decode(text, c)
	var bad toml.ParseError
	if errors.As(err, &bad) {
		return fmt.Errorf("%s, line %d: %s", name, bad.Position.Line, bad.Message)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if unknown := meta.Undecoded(); len(unknown) > 0 {
		return fmt.Errorf("%s, line %d: %s is no setting; `storaged --print-config` shows all", name, lineOf(text, unknown[0]), unknown[0])
	}
	return nil
}

// lineOf finds the line in which a key stands, which the library does not tell; 0 when it cannot be found.
func lineOf(text string, key toml.Key) int {
	table := ""
	for i, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		if name, ok := strings.CutPrefix(line, "["); ok {
			name, _, _ = strings.Cut(strings.TrimPrefix(name, "["), "]")
			if table = strings.TrimSpace(name); table == key.String() {
				return i + 1
			}
			continue
		}
		if name, _, ok := strings.Cut(line, "="); ok {
			full := strings.Trim(strings.TrimSpace(name), `"'`)
			if table != "" {
				full = table + "." + full
			}
			if full == key.String() {
				return i + 1
			}
		}
	}
	return 0
}

// check says what is wrong with the settings together.
func (c *config) check() error {
	if c.Data == "" {
		return errors.New("--data is missing: the folder to keep everything in")
	}
	for _, one := range []struct {
		name  string
		value journal.Durability
	}{{"http", c.HTTP.Durability}, {"statsd", c.Statsd.Durability}, {"graphite", c.Graphite.Durability}} {
		switch one.value {
		case journal.Fsync, journal.Interval, journal.Buffered:
		default:
			return fmt.Errorf("the durability of %s is %q; it can be fsync, interval or buffered", one.name, one.value)
		}
	}
	for _, one := range []struct {
		name  string
		value float64
	}{{"limits.memory", float64(c.Limits.Memory)}, {"limits.out_of_order", float64(c.Limits.OutOfOrder)}, {"limits.block_every", float64(c.Limits.BlockEvery)},
		{"limits.max_series", float64(c.Limits.MaxSeries)}, {"limits.series_per_second", float64(c.Limits.SeriesPerSecond)},
		{"limits.series_burst", float64(c.Limits.SeriesBurst)}, {"retention.raw", float64(c.Retention.Raw)},
		{"statsd.max_names", float64(c.Statsd.MaxNames)}, {"statsd.forget_after", float64(c.Statsd.ForgetAfter)},
		{"http.otlp_delta_series", float64(c.HTTP.DeltaSeries)}, {"http.otlp_delta_forget_after", float64(c.HTTP.DeltaForgetTime)}} {
		if one.value <= 0 {
			return fmt.Errorf("%s must be above 0", one.name)
		}
	}
	if c.HTTP.Socket == "" && c.HTTP.Address == "" {
		c.HTTP.Address = "127.0.0.1:9095"
	}
	return nil
}

const usage = `storaged takes metrics in, keeps them at one-second resolution with true histograms, and answers queries.

  storaged --data DIR

keeps everything in DIR, which it makes, and serves
  HTTP on 127.0.0.1:9095       queries as Prometheus answers them; and takes
                               /api/v1/write     Prometheus remote write 1.0 and 2.0
                               /v1/metrics       OTLP/HTTP, protobuf and JSON
                               /api/v1/trap/NAME any JSON, its numbers
                               /api/v1/import    samples as JSON, or in Cistern's own form
  statsd on port 8125          UDP and TCP; its admin interface on 127.0.0.1:8126
  Graphite on port 2003        lines by TCP and UDP; pickled batches on 2004

Send it something and look:

  echo 'login.time:12|ms' | nc -u -w0 127.0.0.1 8125
  curl 'http://127.0.0.1:9095/api/v1/metrics'
  curl -G 'http://127.0.0.1:9095/api/v1/query' --data-urlencode 'query=histogram_quantile(0.99, {"login.time"})'
  curl 'http://127.0.0.1:9095/metrics'      its own figures

Every setting is in a file too: ` + "`storaged --print-config`" + ` prints one with all defaults and what they mean;
--config FILE reads one. Flags win over the file. An address that is empty switches its input off.

On SIGTERM it stops taking, writes what it has, and ends with 0.

Flags:
`

// errDone is when there is nothing more to do.
var errDone = errors.New("done")

// parse makes the settings of a command line; errDone means that what was asked for was printed to out.
func parse(arguments []string, out io.Writer) (config, error) {
	c := defaults()
	var file string
	print := false
	bind := func(c *config) *flag.FlagSet {
		flags := flag.NewFlagSet("storaged", flag.ContinueOnError)
		flags.SetOutput(out)
		flags.Usage = func() {
			fmt.Fprint(out, usage)
			flags.PrintDefaults()
		}
		flags.StringVar(&file, "config", "", "configuration `file`")
		flags.BoolVar(&print, "print-config", false, "print a configuration file with all defaults, and end")
		flags.StringVar(&c.Data, "data", c.Data, "`folder` of the journal and the blocks")
		flags.StringVar(&c.HTTP.Address, "http-addr", c.HTTP.Address, "`address` to serve HTTP on, without any authorisation; 127.0.0.1:9095 when there is no socket either")
		flags.StringVar(&c.HTTP.Socket, "http-socket", c.HTTP.Socket, "Unix socket `path` to serve HTTP on (mode 0660)")
		flags.StringVar(&c.Statsd.Address, "statsd", c.Statsd.Address, "`address` of statsd, UDP and TCP")
		flags.StringVar(&c.Statsd.Admin, "statsd-admin", c.Statsd.Admin, "`address` of statsd's admin interface, TCP")
		flags.StringVar(&c.Statsd.Socket, "statsd-socket", c.Statsd.Socket, "`path` of a Unix datagram socket for statsd")
		flags.StringVar(&c.Graphite.Address, "graphite", c.Graphite.Address, "`address` of Graphite's lines, TCP and UDP")
		flags.StringVar(&c.Graphite.Pickle, "graphite-pickle", c.Graphite.Pickle, "`address` of carbon's pickled batches, TCP")
		flags.Var(&c.Retention.Raw, "retention", "how long samples are kept, a `length of time` such as 400d")
		flags.Var(&c.Limits.OutOfOrder, "out-of-order", "how far a sample may be behind the latest one of its series, a `length of time`")
		flags.Var(&c.Limits.BlockEvery, "block-every", "how often samples are moved from memory to a block, a `length of time`")
		flags.Int64Var(&c.Limits.Memory, "memory", c.Limits.Memory, "`MiB` of memory that the process aims to stay below")
		flags.IntVar(&c.Limits.MaxSeries, "max-series", c.Limits.MaxSeries, "series at a `time`")
		flags.IntVar(&c.Limits.SeriesPerSecond, "series-per-second", c.Limits.SeriesPerSecond, "new series a second, a `number`")
		flags.IntVar(&c.Limits.SeriesBurst, "series-burst", c.Limits.SeriesBurst, "new series at once, a `number`")
		flags.BoolVar(&c.Statistics.Host, "host-statistics", c.Statistics.Host, "keep this machine's own figures as cistern_host_*")
		return flags
	}
	// Twice: once to find the file, and then, with what it says, to win over it.
	if c.Data = os.Getenv("CISTERN_DATA"); c.Data == "" {
		c.Data = defaults().Data
	}
	first := c
	flags := bind(&first)
	if err := flags.Parse(arguments); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return c, errDone
		}
		return c, err
	}
	if print {
		fmt.Fprint(out, example)
		return c, errDone
	}
	if flags.NArg() > 0 {
		return c, fmt.Errorf("%q is no flag", flags.Arg(0))
	}
	if file != "" {
		text, err := os.ReadFile(file)
		if err != nil {
			return c, fmt.Errorf("reading the configuration: %w", err)
		}
		if err := c.read(string(text), file); err != nil {
			return c, err
		}
	}
	if err := bind(&c).Parse(arguments); err != nil {
		return c, err
	}
	return c, c.check()
}

// length is a length of time that may be written with days and years.
type length time.Duration

func (l length) String() string {
	if d := time.Duration(l); d%(24*time.Hour) == 0 && d > 0 {
		return strconv.Itoa(int(d/(24*time.Hour))) + "d"
	}
	return time.Duration(l).String()
}

// Set is for flags, UnmarshalText for the file.
func (l *length) Set(text string) error {
	if text == "" {
		*l = 0
		return nil
	}
	for suffix, unit := range map[string]time.Duration{"d": 24 * time.Hour, "w": 7 * 24 * time.Hour, "y": 365 * 24 * time.Hour} {
		number, ok := strings.CutSuffix(text, suffix)
		if !ok {
			continue
		}
		n, err := strconv.ParseFloat(number, 64)
		if err != nil || !(n >= 0 && n*float64(unit) < math.MaxInt64) {
			break
		}
		*l = length(n * float64(unit))
		return nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return fmt.Errorf("%q is no length of time; it is written 90s, 1h30m, 400d or 2y", text)
	}
	*l = length(d)
	return nil
}

// UnmarshalText: see Set.
func (l *length) UnmarshalText(text []byte) error { return l.Set(string(text)) }
