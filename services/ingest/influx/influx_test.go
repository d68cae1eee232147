package influx

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"cistern/services/ingest/admission"
	"cistern/services/ingest/ingesttest"
	"cistern/services/journal"
	"cistern/services/store/tsdb"
)

// parsed is what text becomes, a line each, and the first fault.
func parsed(text, db string, unit time.Duration) (got []string, wrong *fault, rest string) {
	all := &points{line: 1}
	p := parser{now: 7, unit: int64(unit), db: db}
	left := []byte(text)
	for len(left) > 0 {
		var one *fault
		if left, one = p.line(left, all); one != nil && wrong == nil {
			wrong = one
		}
	}
	for _, s := range all.samples {
		labels, err := tsdb.ParseKey(string(s.Key))
		if err != nil {
			return nil, bad("key", "%v", err), ""
		}
		got = append(got, fmt.Sprintf("%s %g %d", tsdb.FormatLabels(labels), s.Value, s.Time))
	}
	if all.counts != nil && wrong == nil {
		for reason, n := range all.counts {
			got = append(got, fmt.Sprint(reason, " ", n))
		}
	}
	return got, wrong, string(left)
}

func TestLines(t *testing.T) {
	for _, c := range []struct {
		text string
		want []string
	}{
		{"cpu,host=a,region=eu usage_idle=98.5,usage_user=1i 1700000000123456789", []string{`cpu_usage_idle{host="a",region="eu"} 98.5 1700000000123`, `cpu_usage_user{host="a",region="eu"} 1 1700000000123`}},
		{"cpu value=1", []string{"cpu_value 1 7"}},
		{"m a=1u,b=-2i,c=3.5e2,d=t,e=False,f=+4,g=.5", []string{"m_a 1 7", "m_b -2 7", "m_c 350 7", "m_d 1 7", "m_e 0 7", "m_f 4 7", "m_g 0.5 7"}},
		{"m u=18446744073709551615u", []string{"m_u 1.8446744073709552e+19 7"}},
		{"\n# a comment, x=y\n  m v=1\r\nm v=2 1000000\r\n\r\n", []string{"m_v 1 7", "m_v 2 1"}},
		{"m v=1 -1", []string{"m_v 1 -1"}},
		{`my\ m\,x,t\,a\=g=v\ a\,l\=u\\e f\ i\=e\,ld=1`, []string{`my m,x_f i=e,ld{t,a=g="v a,l=u\\\\e"} 1 7`}},
		{`a\b,c\d=e\f g\h=1`, []string{`a\b_g\h{c\d="e\\f"} 1 7`}},
		{`m,a=1,a=2 v=1`, []string{`m_v{a="2"} 1 7`}},
		{"m,a= v=1", []string{"m_v 1 7"}}, // a label without a value is none
		{`m v=1,s="text",w=2 5000000`, []string{"m_v 1 5", "m_w 2 5", "influx_text 1"}},
		{`m s="a, b=1 \" and` + "\n" + `a second line",v=1` + "\nm v=2", []string{"m_v 1 7", "m_v 2 7", "influx_text 1"}},
		{`m s=""`, []string{"influx_text 1"}},
		{"größe,stadt=köln höhe=1", []string{`größe_höhe{stadt="köln"} 1 7`}},
		{"m v=1   2000000  ", []string{"m_v 1 2"}},
	} {
		if got, wrong, _ := parsed(c.text, "", 1); !slices.Equal(got, c.want) || wrong != nil {
			t.Errorf("%q: %q %+v, want %q", c.text, got, wrong, c.want)
		}
	}
	for unit, want := range map[time.Duration]string{1: "m_v 1 1", time.Microsecond: "m_v 1 1700", time.Millisecond: "m_v 1 1700000", time.Second: "m_v 1 1700000000", time.Hour: "m_v 1 6120000000000"} {
		if got, wrong, _ := parsed("m v=1 1700000", "", unit); len(got) != 1 || got[0] != want || wrong != nil {
			t.Errorf("%s: %q %v", unit, got, wrong)
		}
	}
	if got, _, _ := parsed("m v=1\nm,db=x v=1", "telegraf", 1); !slices.Equal(got, []string{`m_v{db="telegraf"} 1 7`, `m_v{db="x"} 1 7`}) {
		t.Errorf("%q", got)
	}
}

// A bad line is refused whole, with the reason, and what is around it is kept.
func TestBadLines(t *testing.T) {
	for reason, texts := range map[tsdb.Reason][]string{
		BadLine: {"m", "m,a=b", "m ", "m v", "m v=1,", "m v=1,=2", ",a=b v=1", "m =1", "m v=1 2 3", `m v="x`, `m v="x"y`, "m,a=b  ", "m,a=b =1"},
		BadTag:  {"m,a v=1", "m,=b v=1", "m, v=1", "m,a=b=c v=1", "m,a=b", "m,__name__=x v=1"},
		BadNumber: {"m v=", "m v=x", "m v=nan", "m v=inf", "m v=-Inf", "m v=0x10", "m v=1_000", "m v=1e999", "m v=i", "m v=1.5i", "m v=-1u",
			"m v=9223372036854775808i", "m v=tRUE", "m v=1,w="},
		BadTime: {"m v=1 x", "m v=1 1.5", "m v=1 1e9", "m v=1 9223372036854775808"},
	} {
		for _, text := range texts {
			got, wrong, _ := parsed("before v=1\n"+text+"\nafter v=1", "", 1)
			if wrong == nil || wrong.reason != reason && !(text == "m,a=b" && wrong.reason == BadTag) || wrong.detail == "" || !slices.Equal(got, []string{"before_v 1 7", "after_v 1 7"}) {
				t.Errorf("%q: %q %+v, want %s", text, got, wrong, reason)
			}
		}
	}
}

func serve(t testing.TB) (*tsdb.Store, http.Handler) {
	return ingesttest.Store(t, func(s *tsdb.Store, mux *http.ServeMux) { New(s, admission.New(s)).Register(mux) })
}

func TestWrite(t *testing.T) {
	s, mux := serve(t)
	now := time.Now().Unix()
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	fmt.Fprintf(z, "disk,host=b used=3i %d", now)
	z.Close()
	for _, c := range []struct {
		path, body string
		headers    []string
		code       int
		answer     string
	}{
		{"/write?db=telegraf&precision=s", fmt.Sprintf("cpu,host=a idle=5,busy=1,os=\"illumos\" %d\n", now), nil, 204, ""},
		{"/api/v2/write?org=o&bucket=b&precision=s", packed.String(), []string{"Content-Encoding", "gzip"}, 204, ""},
		{"/write", "", nil, 204, ""},
		{"/write?precision=s", fmt.Sprintf("ok v=1 %d\nbroken\nbroken too\nok v=2 %d", now-1, now), nil, 400, `{"error":"partial write: line 2: fields are missing: they must be name=value; 2 lines cannot be read dropped=2"}`},
		{"/api/v2/write?precision=s", fmt.Sprintf("ok2 s=\"a\nb\"\n\nok2 v=%d,w=x %d", 1, now), nil, 400, `{"code":"invalid","line":4,"message":"partial write: line 4: the field \"w\": \"x\" is not a finite number, true, false or a quoted text dropped=1"}`},
		{"/api/v2/write?precision=s", "old v=1 1000", nil, 422, `"line":1`},
		{"/write?precision=s", "old v=1 1000", nil, 400, "older than the retention of samples, 400d"},
		{"/write?precision=d", "ok v=1", nil, 400, "precision"},
		{"/write", "m v=1", []string{"Content-Encoding", "zstd"}, 415, ""},
		{"/write", strings.Repeat("m ", 17<<20), nil, 413, ""},
	} {
		w := ingesttest.Post(mux, c.path, []byte(c.body), c.headers...)
		if w.Code != c.code || c.answer == "" && c.code == 204 && w.Body.Len() > 0 || !strings.Contains(w.Body.String(), c.answer) {
			t.Errorf("%s: %d %.300s", c.path, w.Code, w.Body)
		}
		if c.code >= 400 && !json.Valid(w.Body.Bytes()) {
			t.Errorf("%s: %s", c.path, w.Body)
		}
	}
	want := map[string]string{
		"[{__name__ cpu_idle} {db telegraf} {host a}]": "gauge 5", "[{__name__ cpu_busy} {db telegraf} {host a}]": "gauge 1",
		"[{__name__ disk_used} {db b} {host b}]": "gauge 3", "[{__name__ ok_v}]": "gauge 1 2",
	}
	if got := ingesttest.Numbers(t, s); !maps.Equal(got, want) {
		t.Errorf("%v", got)
	}
	if got := s.Status().Rejected; got[Text] != 2 || got[BadLine] != 2 || got[BadNumber] != 1 || got[tsdb.TooOld] != 2 {
		t.Errorf("%v", got)
	}
}

// What can be taken later is answered so that it comes again.
func TestLater(t *testing.T) {
	_, mux := ingesttest.Store(t, func(s *tsdb.Store, mux *http.ServeMux) {
		own := http.NewServeMux()
		New(s, admission.New(s)).Register(own)
		mux.HandleFunc("POST /", func(w http.ResponseWriter, r *http.Request) {
			own.ServeHTTP(w, r.WithContext(tsdb.WithSender(r.Context(), none{})))
		})
	})
	for _, path := range []string{"/write", "/api/v2/write"} {
		if w := ingesttest.Post(mux, path, []byte("m v=1")); w.Code != 503 || w.Header().Get("Retry-After") == "" || !strings.Contains(w.Body.String(), "no more") {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
}

// none may make no series.
type none struct{}

func (none) Sent(int) {}

func (none) Create(int) (tsdb.Reason, string) { return tsdb.SenderSeriesRate, "no more" }
func (none) Refused(int, tsdb.Reason)         {}

// What writers of InfluxDB 1 ask before they write.
func TestBeforeWriting(t *testing.T) {
	_, mux := serve(t)
	for _, c := range []struct {
		method, path string
		code         int
		answer       string
	}{
		{"GET", "/ping", 204, ""},
		{"POST", "/query?q=CREATE+DATABASE+%22telegraf%22", 200, "results"},
		{"GET", "/query?q=show+databases", 200, "databases"},
		{"GET", "/query?q=select+*+from+cpu", 400, "PromQL"},
	} {
		w := httptest.NewRecorder()
		if mux.ServeHTTP(w, httptest.NewRequest(c.method, c.path, nil)); w.Code != c.code || !strings.Contains(w.Body.String(), c.answer) || w.Header().Get("X-Influxdb-Version") == "" {
			t.Errorf("%s %s: %d %s", c.method, c.path, w.Code, w.Body)
		}
	}
}

func TestSockets(t *testing.T) {
	s, _ := serve(t)
	listening, err := Listen("127.0.0.1:0", s, journal.Buffered, nil)
	if err != nil {
		t.Fatal(err)
	}
	for network, text := range map[string]string{"udp": "u,host=a v=1,s=\"x\"\nbad\n", "tcp": "t v=1i\nt v=x\n" + strings.Repeat("l", 9<<10) + " v=1\nw v=2\n"} {
		c, err := net.Dial(network, listening.Addr())
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprint(c, text)
		defer c.Close()
	}
	for end := time.Now().Add(10 * time.Second); (listening.Lines() < 3 || listening.Bad() < 4) && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
	if err := listening.Close(); err != nil {
		t.Error(err)
	}
	want := map[string]string{"[{__name__ u_v} {host a}]": "gauge 1", "[{__name__ t_v}]": "gauge 1", "[{__name__ w_v}]": "gauge 2"}
	if got := ingesttest.Numbers(t, s); !maps.Equal(got, want) {
		t.Errorf("%v", got)
	}
	if got := s.Status().Rejected; got[BadLine] != 1 || got[BadNumber] != 1 || got[TooLong] != 1 || got[Text] != 1 {
		t.Errorf("%v", got)
	}
}

func FuzzLines(f *testing.F) {
	f.Add("cpu,host=a usage=98.5,n=1i,u=2u,b=t,s=\"a\\\"b\" 1700000000000000000\n# c\nm v=1")
	f.Add(`a\,b\ c,d\=e=f\\ g="` + "\n" + `",h=1`)
	f.Add("m v=1 -9223372036854775808\r\n,= =,\"\nm,__name__=x v=1")
	f.Fuzz(func(t *testing.T, text string) {
		for _, unit := range []time.Duration{1, time.Hour} {
			all := &points{line: 1}
			p := parser{now: 7, unit: int64(unit), db: "x"}
			for left := []byte(text); len(left) > 0; {
				rest, _ := p.line(left, all)
				if len(rest) >= len(left) {
					t.Fatal("it stands still")
				}
				left = rest
			}
			for _, s := range all.samples { // every key must be a key, and every number finite
				labels, err := tsdb.ParseKey(string(s.Key))
				if err != nil || len(labels) < 2 || math.IsNaN(s.Value) || math.IsInf(s.Value, 0) {
					t.Fatalf("%q %v %v", s.Key, s.Value, err)
				}
			}
		}
	})
}

// A line as Telegraf writes it.
func BenchmarkLine(b *testing.B) {
	text := []byte("cpu,cpu=cpu-total,host=web1,region=eu usage_user=1.5,usage_system=2.5,usage_idle=95,usage_iowait=0.5,usage_steal=0 1700000000000000000\n")
	p := parser{now: 7, unit: 1}
	all := &points{line: 1}
	b.ReportAllocs()
	for b.Loop() {
		if _, wrong := p.line(text, all); wrong != nil {
			b.Fatal(wrong)
		}
		all.samples, all.places, all.buffer, all.keys = all.samples[:0], all.places[:0], all.buffer[:0], 0
	}
}
