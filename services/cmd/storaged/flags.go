package main

// The command line.

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"cistern/services/daemon"
)

const usage = `storaged takes metrics in, keeps them at one-second resolution with true histograms, and answers queries.

  storaged --data DIR

serves HTTP on 127.0.0.1:9095 and statsd on port 8125 (UDP and TCP), and keeps everything in DIR, which it makes.
Send it something and look:

  echo 'login.time:12|ms|#region:eu' | nc -u -w0 127.0.0.1 8125
  curl 'http://127.0.0.1:9095/api/v1/metrics'
  curl -G http://127.0.0.1:9095/api/v1/query --data-urlencode 'query=histogram_quantile(0.99, {"login.time"})'

A name stays as it was sent: one with dots is written {"login.time"} in PromQL, and {"login.time",region="eu"} with a
label. A timer is a whole histogram in seconds, so any quantile can be asked for later. Grafana's Prometheus data source
works with the HTTP address. Counters, gauges and errors of storaged itself are on /metrics.

`

const usageRest = `
Settings that have no flag, and what each means:

  storaged --print-config > storaged.toml

The store's files, also while storaged runs (verify) or when it does not (repair):

  storaged verify --data DIR [--json]   read everything, say what is damaged; 1 when something is
  storaged repair --data DIR            save what can be read of damaged blocks; 1 when there were some
  storaged export --data DIR --file F   write samples as OpenMetrics text or Parquet, by the name of the file
  storaged import --data DIR --file F   take such a file in

TERM, INT and HUP end it in order: inputs are closed, what came is written, and it exits with 0 within ten seconds.
`

// hostStatistics is the one flag that is a switch: it may stand alone.
const hostStatistics = "host-statistics"

// option is one flag.
type option struct {
	name, argument, help string
	apply                func(c *config, value string) error
	alias                string // its old name, which still works
}

func text(at func(*config) *string) func(*config, string) error {
	return func(c *config, value string) error { *at(c) = value; return nil }
}

func long(at func(*config) *duration) func(*config, string) error {
	return func(c *config, value string) error { return at(c).UnmarshalText([]byte(value)) }
}

func number(at func(*config) *int) func(*config, string) error {
	return func(c *config, value string) error {
		n, err := strconv.Atoi(value)
		if err != nil {
			return fmt.Errorf("%q is no whole number", value)
		}
		*at(c) = n
		return nil
	}
}

// address sets an address, and whether the input is on: an empty one switches it off.
func address(at func(*config) (*string, *bool)) func(*config, string) error {
	return func(c *config, value string) error {
		where, enabled := at(c)
		*where, *enabled = value, value != ""
		return nil
	}
}

var flags = []option{
	{name: "data", argument: "DIR", help: "folder that holds the journal and the blocks; else $CISTERN_DATA", apply: text(func(c *config) *string { return &c.Data })},
	{name: "http", alias: "http-addr", argument: "ADDR", help: "serve HTTP here, without any authorisation; 127.0.0.1:9095 when there is no socket either",
		apply: text(func(c *config) *string { return &c.HTTP.Address })},
	{name: "statsd", alias: "statsd-addr", argument: "ADDR", help: "statsd over UDP and TCP, :8125; '' for none", apply: func(c *config, value string) error {
		c.Statsd.Address = value
		c.Statsd.Enabled = value != "" || c.Statsd.Enabled && c.Statsd.Socket != "" // the file's socket stays
		return nil
	}},
	{name: "statsd-socket", argument: "PATH", help: "statsd over this Unix datagram socket; '' for none", apply: func(c *config, value string) error {
		c.Statsd.Socket = value
		c.Statsd.Enabled = value != "" || c.Statsd.Enabled && c.Statsd.Address != ""
		return nil
	}},
	{name: "statsd-admin", argument: "ADDR", help: "statsd's text interface; 127.0.0.1:8126 when statsd has its usual port; '' for none",
		apply: text(func(c *config) *string { return &c.Statsd.Admin })},
	{name: "statsd-tls", argument: "ADDR", help: "statsd over TLS, for example :8127; '' for none", apply: text(func(c *config) *string { return &c.Statsd.TLSAddress })},
	{name: "graphite", argument: "ADDR", help: "Graphite's plain text over TCP and UDP, for example :2003",
		apply: address(func(c *config) (*string, *bool) { return &c.Graphite.Address, &c.Graphite.Enabled })},
	{name: "graphite-pickle", argument: "ADDR", help: "Graphite's pickle over TCP; '' for none", apply: func(c *config, value string) error {
		if c.Graphite.PickleAddress = value; value != "" && !c.Graphite.Enabled { // nobody asked for plain text
			c.Graphite.Enabled, c.Graphite.Address = true, ""
		}
		return nil
	}},
	{name: "graphite-tls", argument: "ADDR", help: "Graphite's plain text over TLS, for example :2005; '' for none", apply: text(func(c *config) *string { return &c.Graphite.TLSAddress })},
	{name: "collectd", argument: "ADDR", help: "collectd's binary protocol over UDP, for example :25826",
		apply: address(func(c *config) (*string, *bool) { return &c.Collectd.Address, &c.Collectd.Enabled })},
	{name: "influx", argument: "ADDR", help: "InfluxDB's line protocol over TCP and UDP, for example :8089; it is always taken over HTTP",
		apply: address(func(c *config) (*string, *bool) { return &c.InfluxSocket.Address, &c.InfluxSocket.Enabled })},
	{name: "influx-tls", argument: "ADDR", help: "InfluxDB's line protocol over TLS, for example :8090; '' for none",
		apply: text(func(c *config) *string { return &c.InfluxSocket.TLSAddress })},
	{name: "tls-folder", argument: "DIR", help: "folder for the key of TLS ports, which is made there; nobody else may read it",
		apply: text(func(c *config) *string { return &c.TLS.Folder })},
	{name: "retention", argument: "TIME", help: "how long samples are kept, 400d; rollups: see retention in the file",
		apply: long(func(c *config) *duration { return &c.Retention.Raw })},
	{name: "out-of-order", argument: "TIME", help: "how far a sample may be behind the latest one of its series, 1h",
		apply: long(func(c *config) *duration { return &c.Store.OutOfOrder })},
	{name: "block-every", argument: "TIME", help: "how often samples are moved from memory to a block, 2h",
		apply: long(func(c *config) *duration { return &c.Store.BlockEvery })},
	{name: "memory", argument: "MIB", help: "what the process aims to stay below, 1024", apply: func(c *config, value string) error {
		n, err := strconv.ParseInt(value, 10, 32)
		if err != nil {
			return fmt.Errorf("%q is no number of MiB", value)
		}
		c.Limits.MemoryMiB = n
		return nil
	}},
	{name: "max-series", argument: "N", help: "how many series may be in memory, 10000000", apply: number(func(c *config) *int { return &c.Limits.Series })},
	{name: "series-per-second", argument: "N", help: "how many new series may come on average, 50000",
		apply: number(func(c *config) *int { return &c.Limits.SeriesPerSecond })},
	{name: "series-burst", argument: "N", help: "how many new series may come at once, 10000000", apply: number(func(c *config) *int { return &c.Limits.SeriesBurst })},
	{name: "rules", argument: "FILE", help: "evaluate the recording rules of this rule file of Prometheus", apply: func(c *config, value string) error {
		c.Rules.Files = []string{value}
		return nil
	}},
	{name: hostStatistics, argument: "BOOL", help: "keep this machine's own figures as cistern_host_*, true", apply: func(c *config, value string) (err error) {
		c.Statistics.Host, err = strconv.ParseBool(value)
		return err
	}},
}

func help(out io.Writer) {
	fmt.Fprint(out, usage, "Flags, which win over the file:\n\n")
	line := func(name, argument, text string) { fmt.Fprintf(out, "  --%-23s %s\n", name+argument, text) }
	for _, o := range flags {
		argument := " " + o.argument
		if o.name == hostStatistics {
			argument = "=" + o.argument
		}
		line(o.name, argument, o.help)
	}
	for _, one := range daemon.CommonFlags {
		line(one.Name, strings.TrimRight(" "+one.Argument, " "), one.Help)
	}
	line("print-config", "", "print all settings with their defaults and explanations")
	fmt.Fprint(out, usageRest)
}

// stopWithin is how long an orderly stop may take. What is not in a block by then is in the journal, and is read from
// there at the next start.
const stopWithin = 8 * time.Second // and a second or two until the kernel has taken gigabytes back

// options are what storaged asks of the chassis, and the settings that its command line fills. Setup is left to main.
func options(out io.Writer) (daemon.Options, *config) {
	c, given := defaults(), map[string]string{}
	printConfig := false
	var commandLine *flag.FlagSet
	return daemon.Options{
		Name: "storaged", Version: version, Help: help, Advise: advise,
		RequestsWithin: 3 * time.Second, StopWithin: stopWithin,
		Unfinished: "memory is not in a block yet; the journal has it, and is read at the next start",
		Flags: func(set *flag.FlagSet) {
			commandLine = set
			for _, o := range flags {
				take := func(value string) error {
					given[o.name] = value
					return o.apply(defaults(), value) // so that the error names the flag
				}
				for _, name := range []string{o.name, o.alias} {
					if name == hostStatistics {
						set.BoolFunc(name, "", take)
					} else if name != "" {
						set.Func(name, "", take)
					}
				}
			}
			set.BoolVar(&printConfig, "print-config", false, "")
		},
		Config: func(common *daemon.Common) error {
			if printConfig {
				said := &answer{Writer: out}
				fmt.Fprint(said, example)
				return cmp.Or(said.err, daemon.ErrAnswered)
			}
			commandLine.Visit(func(f *flag.Flag) {
				if f.Name == "socket" { // also an empty one: the file's is not wanted
					given[f.Name] = f.Value.String()
				}
			})
			return c.settle(common, given)
		},
	}, c
}

// settle makes the settings of the file and of the flags that were given, which win.
func (c *config) settle(common *daemon.Common, given map[string]string) (err error) {
	inFile := map[string]bool{}
	c.Data = os.Getenv("CISTERN_DATA")
	if common.Config != "" {
		if inFile, err = c.readFile(common.Config); err != nil {
			return err
		}
	}
	if socket, ok := given["socket"]; ok {
		c.HTTP.Socket = socket
	}
	common.Socket = c.HTTP.Socket
	for _, o := range flags {
		if value, ok := given[o.name]; ok {
			if err := o.apply(c, value); err != nil {
				return fmt.Errorf("--%s: %w", o.name, err)
			}
		}
	}
	// Two of them on one machine must not meet at the administrator's port unless somebody wants that.
	if _, ok := given["statsd-admin"]; !ok && !inFile["statsd.admin"] && !standardPort(c.Statsd.Address) {
		c.Statsd.Admin = ""
	}
	if c.HTTP.Address == "" && c.HTTP.Socket == "" {
		c.HTTP.Address = "127.0.0.1:9095"
	}
	if strings.TrimSpace(c.Data) == "" {
		return errors.New("--data is missing: the folder that holds the store; see storaged --help")
	}
	return c.check()
}
