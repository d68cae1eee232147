package main

// The real binary and its senders: who may send, how much that is new, and what they are told.

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/golang/snappy"
	"github.com/prometheus/prometheus/prompb"
)

// post sends a body as if by nginx, or as a part of the appliance when there is no address.
func (d *process) post(t *testing.T, path, body, from string) (int, string) {
	t.Helper()
	r, err := http.NewRequest("POST", "http://storaged"+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if from != "" {
		r.Header.Set("X-Forwarded-For", from)
	}
	answer, err := d.client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, _ := io.ReadAll(answer.Body)
	return answer.StatusCode, string(text)
}

type inputFigures struct {
	Statsd struct{ Address string }
	Inputs map[string]struct {
		Enabled   bool
		NewSeries int
		Refused   map[string]int
		Senders   []struct {
			Address string
			Refused map[string]int
		}
	}
	Replaced struct {
		Samples int
		Series  []struct {
			Series        string
			Before, After float64
		}
	}
}

// A flood of new names over statsd stops at its sender's limit: what exists goes on, another sender makes new series, and
// after a restart all that exists still goes on.
func TestFloodOfNames(t *testing.T) {
	folder := t.TempDir()
	file := filepath.Join(folder, "storaged.toml")
	write(t, file, "[statsd]\nsender_series_per_second = 1\nsender_series_burst = 100\nnetworks = ['127.0.0.1', '127.0.0.2']\n")
	var figures inputFigures
	d := launch(t, folder, "--config", file, "--host-statistics=false")
	send := func(from, text string) {
		t.Helper()
		to, err := net.ResolveUDPAddr("udp", figures.Statsd.Address)
		if err != nil {
			t.Fatal(err)
		}
		c, err := net.DialUDP("udp", &net.UDPAddr{IP: net.ParseIP(from)}, to)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		fmt.Fprint(c, text)
	}
	value := func(query string) string {
		var answer struct {
			Data struct{ Result []struct{ Value [2]any } }
		}
		d.get(t, "/api/v1/query?query="+query, &answer)
		if len(answer.Data.Result) == 0 {
			return ""
		}
		return fmt.Sprint(answer.Data.Result[0].Value[1])
	}
	until := func(what string, done func() bool) {
		t.Helper()
		for end := time.Now().Add(10 * time.Second); !done(); time.Sleep(20 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("still not: %s; %+v", what, figures.Inputs["statsd"])
			}
		}
	}
	d.get(t, "/api/v1/status/storage", &figures)
	send("127.0.0.1", "kept:1|c")
	until("kept", func() bool { return value("kept") == "1" })
	for i := range 40 {
		var text strings.Builder
		for j := range 20 {
			fmt.Fprintf(&text, "flood.%d.%d:1|c\n", i, j)
		}
		send("127.0.0.1", text.String())
	}
	send("127.0.0.1", "kept:1|c\ncistern_storaged_series:1|g")
	send("127.0.0.2", "other:1|c")
	send("127.0.0.3", "elsewhere:1|c")
	until("other", func() bool { return value("kept") == "2" && value("other") == "1" })
	figures = inputFigures{}
	d.get(t, "/api/v1/status/storage", &figures)
	got := figures.Inputs["statsd"]
	if got.Refused["sender_series_rate"] < 650 || got.Refused["reserved_name"] != 1 || got.Refused["network_not_allowed"] != 1 ||
		len(got.Senders) != 3 || got.Senders[0].Address != "127.0.0.1" || got.NewSeries > 150 {
		t.Errorf("%+v", got)
	}
	if value("elsewhere") != "" || value("cistern_storaged_series") == "1" {
		t.Error("what was refused is there")
	}
	if err := d.end(t, syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	write(t, file, "[statsd]\nsender_series_per_second = 1\nsender_series_burst = 1\n")
	d = launch(t, folder, "--config", file, "--host-statistics=false")
	figures = inputFigures{}
	d.get(t, "/api/v1/status/storage", &figures)
	send("127.0.0.1", "flood.0.0:1|c\nkept:5|c\nother:7|c\nnew.a:1|c\nnew.b:1|c\nnew.c:1|c")
	until("all that exists", func() bool { return value("kept") == "5" && value("other") == "7" })
}

// Inputs over HTTP: switched off, from elsewhere, under the appliance's own names; a part of the appliance may.
func TestInputsOverHTTP(t *testing.T) {
	folder := t.TempDir()
	file := filepath.Join(folder, "storaged.toml")
	write(t, file, "[httptrap]\nenabled = false\n[import]\nenabled = false\n[influx]\nnetworks = ['192.0.2.0/24']\nsender_series_per_second = 1\nsender_series_burst = 3\n")
	d := launch(t, folder, "--config", file)
	// Two samples of one series within a millisecond: the second replaces the first, which is counted below.
	earlier := fmt.Sprint(time.Now().Add(-10 * time.Second).UnixNano())
	for _, c := range []struct {
		path, body, from string
		code             int
		want             string
	}{
		{"/api/v1/trap", `{"a":1}`, "192.0.2.1", 403, "input httptrap is switched off"},
		{"/api/v1/trap/x", `{"a":1}`, "192.0.2.1", 403, "input httptrap is switched off"},
		{"/api/v1/import", `{"samples":[{"name":"cistern_x","value":1}]}`, "192.0.2.1", 403, "input import is switched off"},
		{"/api/v1/import", `{"samples":[{"name":"cistern_x","value":1}]}`, "", 200, `"accepted":1`},
		{"/write", "m v=1", "198.51.100.1", 403, "Settings, Inputs"},
		{"/write", "cistern x=1", "192.0.2.1", 400, "cistern_"},
		{"/write", "m a=1,b=2,c=3", "192.0.2.1", 204, ""},
		{"/write", "m a=1,b=2,c=3,d=4", "192.0.2.1", 503, "influx.sender_series_per_second"},
		{"/write", "m a=5 " + earlier, "192.0.2.1", 204, ""},
		{"/write", "m d=4", "192.0.2.2", 204, ""},
		{"/api/v1/collectd", `[{"values":[1],"dstypes":["gauge"],"dsnames":["value"],"host":"h","plugin":"p","type":"t"}]`, "192.0.2.2", 200, `"accepted":1`},
	} {
		if code, text := d.post(t, c.path, c.body, c.from); code != c.code || !strings.Contains(text, c.want) {
			t.Errorf("%s %s of %q: %d %s", c.path, c.body, c.from, code, text)
		}
	}
	// Of a moment that nothing above was stored at: that would be replaced as well.
	stamp := time.Now().Add(-5 * time.Second).UnixNano()
	for _, v := range []int{1, 2} {
		if code, text := d.post(t, "/write", fmt.Sprintf("m a=%d %d", v, stamp), "192.0.2.1"); code != 204 {
			t.Error(code, text)
		}
	}
	var figures inputFigures
	d.get(t, "/api/v1/status/storage", &figures)
	if figures.Inputs["httptrap"].Enabled || figures.Inputs["influx"].Refused["sender_series_rate"] != 1 || figures.Inputs["influx"].NewSeries != 4 ||
		figures.Replaced.Samples != 1 || figures.Replaced.Series[0].Series != "m_a" || figures.Replaced.Series[0].Before != 1 || figures.Replaced.Series[0].After != 2 {
		t.Errorf("%+v", figures)
	}
}

// Over HTTP a request of who sends too much is refused as a whole, so that it can be sent again as it is.
func TestSampleRateOverHTTP(t *testing.T) {
	folder := t.TempDir()
	file := filepath.Join(folder, "storaged.toml")
	write(t, file, "[influx]\nsender_samples_per_second = 1\n[import]\nsender_samples_per_second = 1\n")
	d := launch(t, folder, "--config", file)
	many := strings.Repeat("m v=1\n", 11)
	for _, c := range []struct {
		path, body, from string
		code             int
		want             string
	}{
		{"/write", many, "192.0.2.1", 204, ""},
		{"/write", "m v=1", "192.0.2.1", 503, "192.0.2.1 sends more than 1 samples a second by influx"},
		{"/write", "m v=1", "192.0.2.2", 204, ""},
		{"/write", many + many, "", 204, ""}, // a part of the appliance
	} {
		if code, text := d.post(t, c.path, c.body, c.from); code != c.code || !strings.Contains(text, c.want) {
			t.Errorf("%s %.20s of %q: %d %s", c.path, c.body, c.from, code, text)
		}
	}
	var figures inputFigures
	d.get(t, "/api/v1/status/storage", &figures)
	if figures.Inputs["influx"].Refused["sender_sample_rate"] != 1 {
		t.Errorf("%+v", figures.Inputs["influx"])
	}
}

func TestInputSettings(t *testing.T) {
	for text, want := range map[string]string{
		"[statsd]\nnetworks = ['10.0.0.1/8']":                       "write 10.0.0.0/8 for the network",
		"[statsd]\nnetworks = ['here']":                             `"here" is no network`,
		"[otlp]\nseries_per_second = -1":                            "otlp.series_per_second must not be negative",
		"[otlp]\nsender_samples_per_second = -1":                    "otlp.sender_samples_per_second must not be negative",
		"[otlp]\nseries_per_second = 1":                             "otlp lets no new series in",
		"[influx_socket]\nenabled = true\naddress = ''":             "influx_socket is enabled, but has neither an address nor a tls_address",
		"[influx_socket]\nenabled = true\naddress = ':8125'":        "statsd.address and influx_socket.address have the same port",
		"[statsd]\nnetworks = ['10.0.0.0/8', '::1', '192.0.2.7']\n": "",
	} {
		c := defaults()
		_, err := c.read(text)
		if err == nil {
			err = c.check()
		}
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// History is somebody else's, also when root sends it by the socket: the appliance's own names are not for it.
func TestHistoryIsNotTheAppliances(t *testing.T) {
	d := launch(t, t.TempDir(), "--host-statistics=false")
	request := prompb.WriteRequest{}
	for _, name := range []string{"cistern_storaged_series", "visits"} {
		request.Timeseries = append(request.Timeseries, prompb.TimeSeries{Labels: []prompb.Label{{Name: "__name__", Value: name}},
			Samples: []prompb.Sample{{Timestamp: time.Now().Add(-48 * time.Hour).UnixMilli(), Value: 1}}})
	}
	message, err := request.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	for _, from := range []string{"", "192.0.2.1"} {
		code, text := d.post(t, "/admin/write", string(snappy.Encode(nil, message)), from)
		if code != http.StatusOK || !strings.Contains(text, `"stored":1`) || !strings.Contains(text, `"reason":"reserved_name","samples":1`) {
			t.Errorf("from %q: %d %s", from, code, text)
		}
	}
}
