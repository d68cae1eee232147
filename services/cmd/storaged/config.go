package main

// The settings: defaults, the file over them, flags over both.

import (
	_ "embed"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	daemonconfig "cistern/services/daemon/config"
	"cistern/services/ingest/otlp"
	"cistern/services/ingest/senders"
	"cistern/services/ingest/tlsport"
	"cistern/services/journal"
	"cistern/services/store/api"
	"cistern/services/store/query/budget"
)

// example is the file with every key and its default; a test holds it against defaults().
//
//go:embed storaged.toml
var example string

type config struct {
	Data string
	HTTP struct {
		Address, Socket string
	}
	Retention struct {
		Raw, Minute, Hour duration
	}
	Store struct {
		OutOfOrder duration `toml:"out_of_order"`
		BlockEvery duration `toml:"block_every"`
	}
	Limits struct {
		MemoryMiB       int64 `toml:"memory_mib"`
		Series          int
		SeriesPerSecond int `toml:"series_per_second"`
		SeriesBurst     int `toml:"series_burst"`
		// Of queries; 0 stands for a share of the memory.
		QueriesMiB  int64 `toml:"queries_mib"`
		QueryMiB    int64 `toml:"query_mib"`
		QueryPoints int64 `toml:"query_points"`
	}
	Queries struct {
		SubqueryStep          duration `toml:"subquery_step"`
		ExperimentalFunctions bool     `toml:"experimental_functions"`
		DurationExpressions   bool     `toml:"duration_expressions"`
	}
	RemoteWrite      inputConfig `toml:"remote_write"`
	Import, HTTPTrap inputConfig
	OTLP             struct {
		inputConfig
		GRPCAddress string   `toml:"grpc_address"`
		Promote     []string `toml:"promote_resource_attributes"`
		Translation string   `toml:"translation_strategy"`
	}
	Influx       inputConfig
	InfluxSocket struct {
		inputConfig
		tlsConfig
		Address string
	} `toml:"influx_socket"`
	CollectdHTTP inputConfig `toml:"collectd_http"`
	Statsd       struct {
		inputConfig
		tlsConfig
		Address, Socket, Admin string
		Names                  int
		BufferMiB              int `toml:"buffer_mib"`
		Readers                int
	}
	Graphite struct {
		inputConfig
		tlsConfig
		Address       string
		PickleAddress string `toml:"pickle_address"`
	}
	Collectd struct {
		inputConfig
		Address string
		Users   map[string]string
	}
	TLS struct {
		Folder, Certificate, Key string
	}
	Rules      rulesConfig
	Statistics struct {
		Host bool
	}
}

// inputConfig is what every input has.
type inputConfig struct {
	Enabled               bool
	Durability            durability
	Networks              []network
	SeriesPerSecond       int `toml:"series_per_second"`
	SeriesBurst           int `toml:"series_burst"`
	SenderSeriesPerSecond int `toml:"sender_series_per_second"`
	SenderSeriesBurst     int `toml:"sender_series_burst"`
	// Of statsd they are lines.
	SenderSamplesPerSecond int `toml:"sender_samples_per_second"`
}

// tlsConfig is what those have that take lines by TLS.
type tlsConfig struct {
	TLSAddress  string `toml:"tls_address"`
	TLSClientCA string `toml:"tls_client_ca"`
}

// tls are the settings of an input's TLS port; nil for one that has none.
func (c *config) tls(name string) *tlsConfig {
	switch name {
	case "statsd":
		return &c.Statsd.tlsConfig
	case "graphite":
		return &c.Graphite.tlsConfig
	case "influx_socket":
		return &c.InfluxSocket.tlsConfig
	}
	return nil
}

// checkTLS says what of TLS cannot be.
func (c *config) checkTLS() error {
	if (c.TLS.Certificate == "") != (c.TLS.Key == "") {
		return errors.New("tls.certificate and tls.key go together: name both files, or none for a certificate of storaged's own")
	}
	for _, one := range inputs {
		t := c.tls(one.name)
		if t == nil {
			continue
		}
		if t.TLSAddress != "" && one.settings(c).Enabled && c.TLS.Certificate == "" && c.TLS.Folder == "" {
			return fmt.Errorf("%s.tls_address needs a certificate: set tls.folder for storaged's own, or tls.certificate and tls.key", one.name)
		}
		if t.TLSClientCA != "" {
			if err := tlsport.CheckClientCA(t.TLSClientCA); err != nil {
				return fmt.Errorf("%s.tls_client_ca: %w", one.name, err)
			}
		}
	}
	return nil
}

// senders is the same for package senders.
func (c *inputConfig) senders(own *senders.Own) senders.Options {
	o := senders.Options{SeriesPerSecond: c.SeriesPerSecond, SeriesBurst: c.SeriesBurst,
		SenderSeriesPerSecond: c.SenderSeriesPerSecond, SenderSeriesBurst: c.SenderSeriesBurst, SenderSamplesPerSecond: c.SenderSamplesPerSecond}
	for _, one := range c.Networks {
		if one == ownNetworks {
			o.Own = own
		} else {
			o.Networks = append(o.Networks, netip.Prefix(one))
		}
	}
	return o
}

func (c *inputConfig) check(name string) error {
	for key, n := range map[string]int{"series_per_second": c.SeriesPerSecond, "series_burst": c.SeriesBurst,
		"sender_series_per_second": c.SenderSeriesPerSecond, "sender_series_burst": c.SenderSeriesBurst, "sender_samples_per_second": c.SenderSamplesPerSecond} {
		if n < 0 {
			return fmt.Errorf("%s.%s must not be negative", name, key)
		}
	}
	if c.SeriesPerSecond > 0 && c.SeriesBurst == 0 || c.SenderSeriesPerSecond > 0 && c.SenderSeriesBurst == 0 {
		return fmt.Errorf("%s lets no new series in: a burst must be above 0 where there is a limit a second", name)
	}
	return nil
}

func defaults() *config {
	c := &config{}
	const day = duration(24 * time.Hour)
	c.Retention.Raw, c.Retention.Minute, c.Retention.Hour = 400*day, 400*day, 3650*day
	c.Store.OutOfOrder, c.Store.BlockEvery = duration(time.Hour), duration(2*time.Hour)
	c.Limits.MemoryMiB, c.Limits.Series, c.Limits.SeriesPerSecond, c.Limits.SeriesBurst = 1024, 10_000_000, 50_000, 10_000_000
	c.Limits.QueryPoints = 10_000_000
	c.Queries.SubqueryStep = duration(time.Minute)
	// Over HTTP a token is asked for, and the reply tells the sender what is refused.
	for _, one := range []*inputConfig{&c.RemoteWrite, &c.Import, &c.OTLP.inputConfig, &c.HTTPTrap, &c.Influx, &c.CollectdHTTP} {
		*one = inputConfig{Enabled: true, Durability: durability(journal.Fsync), Networks: []network{}}
	}
	// These are open to everybody on their networks. A sender that changes its names all the time can take two fifths of
	// statsd's names in an hour, and all senders together less than all of them.
	for _, one := range []*inputConfig{&c.Statsd.inputConfig, &c.Graphite.inputConfig, &c.Collectd.inputConfig, &c.InfluxSocket.inputConfig} {
		*one = inputConfig{Durability: durability(journal.Interval), Networks: []network{},
			SeriesPerSecond: 100, SeriesBurst: 500_000, SenderSeriesPerSecond: 50, SenderSeriesBurst: 200_000}
	}
	c.Statsd.Enabled, c.Statsd.Address, c.Statsd.Admin = true, ":8125", "127.0.0.1:8126"
	c.Statsd.Names, c.Statsd.BufferMiB = 1_000_000, 64
	c.OTLP.Promote, c.OTLP.Translation = otlp.Defaults().Promote, otlp.Defaults().Translation
	c.Graphite.Address, c.Graphite.PickleAddress = ":2003", ":2004"
	c.InfluxSocket.Address = ":8089"
	c.Collectd.Address, c.Collectd.Users = ":25826", map[string]string{}
	c.Rules = rulesDefaults()
	c.Statistics.Host = true
	return c
}

// settings is where an operator finds them all.
const settings = "storaged --print-config"

// readFile takes the settings of a file over c's, and returns the keys that it has.
func (c *config) readFile(path string) (set map[string]bool, err error) {
	return daemonconfig.Read(path, c, settings)
}

func (c *config) read(text string) (map[string]bool, error) {
	return daemonconfig.Decode(text, c, settings)
}

// maxMemory, a pebibyte in MiB, is what can be reckoned with in bytes; nobody has it.
const maxMemory = 1 << 30

// check says what cannot be.
func (c *config) check() error {
	positive := func(name string, n int64) error {
		if n <= 0 {
			return fmt.Errorf("%s must be above 0", name)
		}
		return nil
	}
	notNegative := func(name string, n int64) error {
		if n < 0 {
			return fmt.Errorf("%s must not be negative", name)
		}
		return nil
	}
	if c.Limits.MemoryMiB < 64 {
		return errors.New("limits.memory_mib must be at least 64")
	}
	if c.Limits.MemoryMiB > maxMemory {
		return fmt.Errorf("limits.memory_mib must be at most %d", int64(maxMemory))
	}
	if err := c.checkQueries(); err != nil {
		return err
	}
	if err := c.checkTLS(); err != nil {
		return err
	}
	if c.Statsd.Enabled && c.Statsd.Address == "" && c.Statsd.Socket == "" && c.Statsd.TLSAddress == "" {
		return errors.New("statsd is enabled, but has neither an address nor a socket nor a tls_address")
	}
	if c.Graphite.Enabled && c.Graphite.Address == "" && c.Graphite.PickleAddress == "" && c.Graphite.TLSAddress == "" {
		return errors.New("graphite is enabled, but has neither an address nor a pickle_address nor a tls_address")
	}
	if c.InfluxSocket.Enabled && c.InfluxSocket.Address == "" && c.InfluxSocket.TLSAddress == "" {
		return errors.New("influx_socket is enabled, but has neither an address nor a tls_address")
	}
	for _, one := range inputs {
		if err := one.settings(c).check(one.name); err != nil {
			return err
		}
	}
	if c.Collectd.Enabled && c.Collectd.Address == "" {
		return errors.New("collectd is enabled, but has no address")
	}
	for _, name := range slices.Sorted(maps.Keys(c.Collectd.Users)) {
		if c.Collectd.Users[name] == "" { // by which anybody could sign
			return fmt.Errorf("the collectd user %s has no password", name)
		}
	}
	if err := c.otlpOptions().Check(); err != nil {
		return fmt.Errorf("otlp: %w", err)
	}
	if err := c.apart(); err != nil {
		return err
	}
	if err := c.Rules.check(); err != nil {
		return err
	}
	return errors.Join(
		positive("retention.raw", int64(c.Retention.Raw)), positive("retention.minute", int64(c.Retention.Minute)),
		positive("retention.hour", int64(c.Retention.Hour)), positive("store.out_of_order", int64(c.Store.OutOfOrder)),
		positive("store.block_every", int64(c.Store.BlockEvery)), positive("limits.series", int64(c.Limits.Series)),
		positive("limits.series_per_second", int64(c.Limits.SeriesPerSecond)), positive("limits.series_burst", int64(c.Limits.SeriesBurst)),
		positive("statsd.names", int64(c.Statsd.Names)), positive("statsd.buffer_mib", int64(c.Statsd.BufferMiB)),
		notNegative("statsd.readers", int64(c.Statsd.Readers)))
}

// checkQueries says which limit of queries cannot be.
func (c *config) checkQueries() error {
	l := c.limits()
	const least = 4 << 20 // what an answer of some hundred series takes
	switch {
	case c.Limits.QueriesMiB < 0 || c.Limits.QueriesMiB > c.Limits.MemoryMiB:
		return fmt.Errorf("limits.queries_mib must be from 0 to limits.memory_mib, which is %d", c.Limits.MemoryMiB)
	case c.Limits.QueryMiB < 0 || c.Limits.QueryMiB > l.Pool>>20:
		return fmt.Errorf("limits.query_mib must be from 0 to what all queries have together, limits.queries_mib, which is %d", l.Pool>>20)
	case l.Query < least:
		return fmt.Errorf("limits.queries_mib and limits.query_mib must leave %d MiB for a query at least", least>>20)
	case c.Limits.QueryPoints <= 0:
		return errors.New("limits.query_points must be above 0")
	case time.Duration(c.Queries.SubqueryStep) < time.Millisecond:
		return errors.New("queries.subquery_step must be a millisecond at least")
	}
	return nil
}

// limits are those of queries.
func (c *config) limits() budget.Limits {
	return api.Limits(c.Limits.MemoryMiB<<20, c.Limits.QueriesMiB<<20, c.Limits.QueryMiB<<20, c.Limits.QueryPoints)
}

// otlpOptions are what OpenTelemetry's input is made with. Its running totals may take a sixteenth of the memory.
func (c *config) otlpOptions() otlp.Options {
	return otlp.Options{Promote: c.OTLP.Promote, Translation: c.OTLP.Translation, TotalsBytes: int(c.Limits.MemoryMiB << 20 / 16)}
}

// apart says which two of storaged's own would listen on one port.
func (c *config) apart() error {
	const tcp, udp = 1, 2
	type place struct {
		name, host, port string
		networks         int
	}
	var places []place
	add := func(enabled bool, name, address string, networks int) {
		host, port, err := net.SplitHostPort(address)
		if enabled && err == nil && port != "0" { // what is no address fails when it is listened on
			places = append(places, place{name, host, port, networks})
		}
	}
	add(true, "http.address", c.HTTP.Address, tcp)
	add(c.Statsd.Enabled, "statsd.address", c.Statsd.Address, tcp|udp)
	add(c.Statsd.Enabled, "statsd.admin", c.Statsd.Admin, tcp)
	add(c.Graphite.Enabled, "graphite.address", c.Graphite.Address, tcp|udp)
	add(c.Graphite.Enabled, "graphite.pickle_address", c.Graphite.PickleAddress, tcp)
	add(c.Collectd.Enabled, "collectd.address", c.Collectd.Address, udp)
	add(c.OTLP.Enabled, "otlp.grpc_address", c.OTLP.GRPCAddress, tcp)
	add(c.InfluxSocket.Enabled, "influx_socket.address", c.InfluxSocket.Address, tcp|udp)
	for _, one := range inputs {
		if t := c.tls(one.name); t != nil {
			add(one.settings(c).Enabled, one.name+".tls_address", t.TLSAddress, tcp)
		}
	}
	// "" and :: are all addresses, 0.0.0.0 those of IPv4.
	within := func(host, all string) bool {
		return all == "" || all == "::" || all == host || all == "0.0.0.0" && !strings.Contains(host, ":")
	}
	for i, a := range places {
		for _, b := range places[i+1:] {
			if a.port == b.port && a.networks&b.networks != 0 && (within(a.host, b.host) || within(b.host, a.host)) {
				return fmt.Errorf("%s and %s have the same port, %s: give each one of its own", a.name, b.name, a.port)
			}
		}
	}
	return nil
}

// standardPort says whether an address has the port that the administrator's goes with.
func standardPort(address string) bool {
	_, port, err := net.SplitHostPort(address)
	return err == nil && (port == "8125" || port == "")
}

// duration is also in days and years.
type duration time.Duration

// UnmarshalText implements encoding.TextUnmarshaler.
func (d *duration) UnmarshalText(text []byte) error {
	for unit, length := range map[string]time.Duration{"d": 24 * time.Hour, "y": 365 * 24 * time.Hour} {
		if number, ok := strings.CutSuffix(string(text), unit); ok {
			n, err := strconv.ParseFloat(number, 64)
			if err != nil || n < 0 || n > 200*365 {
				return fmt.Errorf("%q is no duration: write 90s, 2h, 400d, 10y", text)
			}
			if n *= float64(length); n > float64(200*365*24*time.Hour) {
				return fmt.Errorf("%q is longer than 200 years", text)
			}
			*d = duration(n)
			return nil
		}
	}
	parsed, err := time.ParseDuration(string(text))
	if err != nil {
		return fmt.Errorf("%q is no duration: write 90s, 2h, 400d, 10y", text)
	}
	*d = duration(parsed)
	return nil
}

// network is an address with the length of its network, or one address, or ownNetworks.
type network netip.Prefix

// ownNetworks are those that the machine has an address in.
var ownNetworks network

// ownWord is how ownNetworks are written.
const ownWord = "own"

// UnmarshalText implements encoding.TextUnmarshaler.
func (n *network) UnmarshalText(text []byte) error {
	if string(text) == ownWord {
		*n = ownNetworks
		return nil
	}
	p, err := netip.ParsePrefix(string(text))
	if err != nil {
		var one netip.Addr
		if one, err = netip.ParseAddr(string(text)); err == nil {
			p, err = one.Prefix(one.BitLen())
		}
	}
	if err != nil {
		return fmt.Errorf("%q is no network: write 192.0.2.0/24, 2001:db8::/32, one address, or own for the networks of this machine", text)
	}
	if p != p.Masked() {
		return fmt.Errorf("%q is an address in a network: write %s for the network, or %s for the address alone", text, p.Masked(), p.Addr())
	}
	*n = network(p)
	return nil
}

// MarshalText implements encoding.TextMarshaler.
func (n network) MarshalText() ([]byte, error) {
	if n == ownNetworks {
		return []byte(ownWord), nil
	}
	return netip.Prefix(n).MarshalText()
}

type durability journal.Durability

// UnmarshalText implements encoding.TextUnmarshaler.
func (d *durability) UnmarshalText(text []byte) error {
	switch journal.Durability(text) {
	case journal.Fsync, journal.Interval, journal.Buffered:
		*d = durability(text)
		return nil
	}
	return fmt.Errorf("%q is no durability: fsync, interval or buffered", text)
}
