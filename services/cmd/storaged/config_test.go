package main

import (
	"bytes"
	"io"
	"reflect"
	"strings"
	"testing"
	"time"

	"cistern/services/daemon"
)

func parseFlags(arguments []string, out io.Writer) (*config, error) {
	o, c := options(out)
	_, err := o.Parse(arguments, out)
	return c, err
}

func TestExampleIsTheDefaults(t *testing.T) {
	empty := &config{}
	empty.Collectd.Users = map[string]string{}
	set, err := empty.read(example)
	if err != nil {
		t.Fatal(err)
	}
	if want := defaults(); !reflect.DeepEqual(empty, want) {
		t.Errorf("the example says\n%+v, the defaults are\n%+v", empty, want)
	}
	// Every setting is in the example.
	var missing func(at reflect.Type, path string)
	missing = func(at reflect.Type, path string) {
		for i := range at.NumField() {
			f := at.Field(i)
			name := f.Tag.Get("toml")
			if name == "" {
				name = strings.ToLower(f.Name)
			}
			if f.Anonymous {
				missing(f.Type, path)
			} else if f.Type.Kind() == reflect.Struct {
				missing(f.Type, path+name+".")
			} else if !set[path+name] {
				t.Errorf("%s%s is not in the example", path, name)
			}
		}
	}
	missing(reflect.TypeFor[config](), "")
}

func TestFlagsAndFile(t *testing.T) {
	file := t.TempDir() + "/storaged.toml"
	write(t, file, "data = '/file'\n[retention]\nraw = \"30d\"\n[statsd]\naddress = '127.0.0.1:1'\n[limits]\nseries = 5\n")
	c, err := parseFlags([]string{"--config", file, "--data", "/flag", "--retention=1y", "--http", "127.0.0.1:2"}, &bytes.Buffer{})
	if err != nil {
		t.Fatal(err)
	}
	if c.Data != "/flag" || time.Duration(c.Retention.Raw) != 365*24*time.Hour || c.Statsd.Address != "127.0.0.1:1" || c.Limits.Series != 5 ||
		c.HTTP.Address != "127.0.0.1:2" || c.Statsd.Admin != "" {
		t.Errorf("%+v", c)
	}
	socket := t.TempDir() + "/socket.toml"
	write(t, socket, "[statsd]\nsocket = '/x'\n")
	for _, test := range []struct {
		flags string
		want  func(c *config) bool
	}{
		{"", func(c *config) bool {
			return c.HTTP.Address == "127.0.0.1:9095" && c.Statsd.Address == ":8125" && c.Statsd.Admin == "127.0.0.1:8126"
		}},
		{"--socket=/run/x", func(c *config) bool { return c.HTTP.Address == "" && c.HTTP.Socket == "/run/x" }},
		{"--socket=/run/x", func(c *config) bool { return c.HTTP.Address == "" && c.HTTP.Socket == "/run/x" }},
		{"--statsd-addr= --http-addr=:1", func(c *config) bool { return !c.Statsd.Enabled && c.HTTP.Address == ":1" }},
		{"--statsd= --statsd-socket=/x", func(c *config) bool { return c.Statsd.Enabled && c.Statsd.Address == "" && c.Statsd.Socket == "/x" }},
		{"--statsd=:9 --statsd-admin=:10", func(c *config) bool { return c.Statsd.Address == ":9" && c.Statsd.Admin == ":10" }},
		{"--graphite=:2003", func(c *config) bool {
			return c.Graphite.Enabled && c.Graphite.Address == ":2003" && c.Graphite.PickleAddress == ":2004"
		}},
		{"--graphite= --graphite-pickle=:4", func(c *config) bool {
			return c.Graphite.Enabled && c.Graphite.Address == "" && c.Graphite.PickleAddress == ":4"
		}},
		{"--graphite-pickle=:4", func(c *config) bool {
			return c.Graphite.Enabled && c.Graphite.Address == "" && c.Graphite.PickleAddress == ":4"
		}},
		{"--graphite-pickle=:4 --graphite=:3", func(c *config) bool {
			return c.Graphite.Enabled && c.Graphite.Address == ":3" && c.Graphite.PickleAddress == ":4"
		}},
		{"--graphite-pickle=", func(c *config) bool { return !c.Graphite.Enabled }},
		{"--statsd= --config=" + socket, func(c *config) bool { return c.Statsd.Enabled && c.Statsd.Address == "" && c.Statsd.Socket == "/x" }},
		{"--statsd= --statsd-socket= --config=" + socket, func(c *config) bool { return !c.Statsd.Enabled }},
		{"--host-statistics=false", func(c *config) bool { return !c.Statistics.Host }},
		{"--host-statistics", func(c *config) bool { return c.Statistics.Host }},
		{"--memory 256 --out-of-order 2d", func(c *config) bool {
			return c.Limits.MemoryMiB == 256 && time.Duration(c.Store.OutOfOrder) == 48*time.Hour
		}},
	} {
		c, err := parseFlags(append([]string{"--data=/d"}, strings.Fields(test.flags)...), &bytes.Buffer{})
		if err != nil || !test.want(c) {
			t.Errorf("%s: %+v %v", test.flags, c, err)
		}
	}
	t.Setenv("CISTERN_DATA", "/environment")
	if c, err := parseFlags(nil, &bytes.Buffer{}); err != nil || c.Data != "/environment" {
		t.Errorf("%+v %v", c, err)
	}
}

func TestWrongFlags(t *testing.T) {
	t.Setenv("CISTERN_DATA", "")
	for flags, want := range map[string]string{
		"":                              "--data is missing",
		"--data=/d --nonsense":          "nonsense; see storaged --help",
		"--data=/d extra":               `"extra" is no flag`,
		"--data=/d --retention=soon":    `"soon" is no duration`,
		"--data=/d --memory=many":       `"many" is no number of MiB`,
		"--data=/d --memory=1":          "limits.memory_mib must be at least 64",
		"--data=/d --memory=2147483647": "limits.memory_mib must be at most",
		"--data=/d --max-series=-1":     "limits.series must be above 0",
		"--data=/d --config=/no/such":   "/no/such does not exist",
		"--data=/d --retention=1000y":   "longer than 200 years",
		"--data=/d --series-burst=many": "no whole number",
	} {
		if _, err := parseFlags(strings.Fields(flags), &bytes.Buffer{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", flags, err, want)
		}
	}
}

func TestWrongFile(t *testing.T) {
	for text, want := range map[string]string{
		"[statsd]\n\nadress = ':1'":                "line 3: there is no setting statsd.adress",
		"# x\nspeed = 1":                           "line 2: there is no setting speed",
		"[sttasd]\naddress = ':1'":                 "line 1: there is no setting sttasd",
		"a.b = 1":                                  "line 1: there is no setting a",
		"statsd = { adress = ':1' }":               "line 1: there is no setting statsd.adress",
		"[statsd]\naddress = 5":                    "line 2 (last key",
		"[retention]\n\n\nraw = 'soon'":            `line 4: retention.raw: "soon" is no duration`,
		"[statsd]\ndurability = 'maybe'":           `line 2: statsd.durability: "maybe" is no durability`,
		"[statsd]\naddress = ':1'\naddress = ':2'": "line 3: ",
		"[statsd": "line 1: ",
		"[limits]\nseries = 99999999999999999999999": "line 2: ",
		"[collectd.users]\nann = 5":                  "line 2 (last key",
		"[statsd]\nenabled = 'yes'":                  "line 2 (last key",
	} {
		if _, err := defaults().read(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

// Two of storaged's own on one port: it is not another program that listens there.
func TestInputsOnOnePort(t *testing.T) {
	for text, want := range map[string]string{
		"[graphite]\nenabled = true\naddress = ':8125'":                                          "statsd.address and graphite.address",
		"[graphite]\nenabled = true\naddress = '127.0.0.1:2004'":                                 "graphite.address and graphite.pickle_address",
		"[statsd]\nadmin = '0.0.0.0:8125'":                                                       "statsd.address and statsd.admin",
		"[collectd]\nenabled = true\naddress = '[::1]:8125'":                                     "statsd.address and collectd.address",
		"[http]\naddress = 'localhost:8126'\n[statsd]\nadmin = 'localhost:8126'":                 "http.address and statsd.admin",
		"[http]\naddress = '127.0.0.1:8125'\n[statsd]\nenabled = false":                          "",
		"[graphite]\naddress = ':8125'":                                                          "",
		"[statsd]\naddress = '127.0.0.1:0'\nadmin = '127.0.0.1:0'":                               "",
		"[statsd]\naddress = '127.0.0.1:9'\n[graphite]\nenabled = true\naddress = '127.0.0.2:9'": "",
		"[statsd]\nadmin = ''\n[collectd]\nenabled = true\naddress = ':8126'":                    "",
		"[statsd]\nadmin = ':8126'\n[collectd]\nenabled = true\naddress = ':8126'":               "", // TCP and UDP
		"[otlp]\ngrpc_address = '127.0.0.1:2004'\n[graphite]\nenabled = true":                    "graphite.pickle_address and otlp.grpc_address",
		"[otlp]\ngrpc_address = '127.0.0.1:8125'\nenabled = false":                               "",
		"[statsd]\naddress = '[::1]:9'\nadmin = '0.0.0.0:9'":                                     "",
		"[statsd]\naddress = '[::]:9'\nadmin = '0.0.0.0:9'":                                      "statsd.address and statsd.admin",
	} {
		c := defaults()
		if _, err := c.read(text); err != nil {
			t.Fatal(err)
		}
		if err := c.check(); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

// An input that is on has to listen somewhere: on none, or on a port that nobody knows, it would be missed late.
func TestInputsWithoutAddresses(t *testing.T) {
	for text, want := range map[string]string{
		"[statsd]\naddress = ''": "statsd is enabled",
		"[graphite]\nenabled = true\naddress = ''\npickle_address = ''": "graphite is enabled",
		"[collectd]\nenabled = true\naddress = ''":                      "collectd is enabled",
		"[graphite]\nenabled = true\naddress = ''":                      "",
		"[otlp]\ntranslation_strategy = 'none'":                         "otlp: \"none\" is no translation_strategy: NoTranslation, ",
		"[otlp]\npromote_resource_attributes = ['service.name']":        "in job and instance already",
		"[otlp]\npromote_resource_attributes = []":                      "",
		"[collectd.users]\nann = ''":                                    "the collectd user ann has no password",
		"[limits]\nmemory_mib = 9223372036854775807":                    "at most 1073741824",
		"[limits]\nqueries_mib = 2000":                                  "limits.memory_mib, which is 1024",
		"[limits]\nqueries_mib = -1":                                    "limits.queries_mib must be",
		"[limits]\nquery_mib = 400":                                     "limits.queries_mib, which is 341",
		"[limits]\nquery_mib = 9000000000000000000":                     "limits.queries_mib, which is 341",
		"[limits]\nquery_mib = 1":                                       "must leave 4 MiB",
		"[limits]\nquery_points = 0":                                    "limits.query_points must be above 0",
		"[queries]\nsubquery_step = '0s'":                               "queries.subquery_step must be",
		"[limits]\nqueries_mib = 512\nquery_mib = 512":                  "",
	} {
		c := defaults()
		if _, err := c.read(text); err != nil {
			t.Fatal(err)
		}
		if err := c.check(); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

func TestHelp(t *testing.T) {
	var out bytes.Buffer
	if _, err := parseFlags([]string{"--help"}, &out); err != daemon.ErrAnswered {
		t.Fatal(err)
	}
	for _, want := range []string{"storaged --data DIR", "--statsd ADDR", "--config FILE", "verify", "{\"login.time\"}"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the help does not speak of %s:\n%s", want, out.String())
		}
	}
	for line := range strings.Lines(out.String()) {
		if len(line) > 130 {
			t.Errorf("too long: %s", line)
		}
	}
	out.Reset()
	if _, err := parseFlags([]string{"--print-config"}, &out); err != daemon.ErrAnswered || out.String() != example {
		t.Error(err)
	}
}
