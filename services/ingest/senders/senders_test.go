package senders

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"cistern/services/ingest/ingesttest"
	"cistern/services/store/tsdb"
)

func address(text string) netip.Addr { return netip.MustParseAddr(text) }

// clock is a time that stands until it is moved.
func clock(in *Input) *time.Time {
	now := time.Unix(1_000_000, 0)
	in.now = func() time.Time { return now }
	return &now
}

func TestNetworks(t *testing.T) {
	in := New("statsd", Options{Networks: []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24"), netip.MustParsePrefix("2001:db8::/32")}})
	for text, want := range map[string]bool{"192.0.2.7": true, "::ffff:192.0.2.7": true, "198.51.100.1": false, "2001:db8::1": true, "2001:db9::1": false, "127.0.0.1": false} {
		if got := in.Unwanted(address(text)) == ""; got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
	if in.Unwanted(netip.Addr{}) != "" || New("x", Options{}).Unwanted(address("8.8.8.8")) != "" {
		t.Error("this machine, or an input without networks, is refused")
	}
}

// A sender that has used its budget up is refused, the next one is not, and with time it may go on.
func TestBudgets(t *testing.T) {
	in := New("statsd", Options{SenderSeriesPerSecond: 2, SenderSeriesBurst: 10, SeriesPerSecond: 3, SeriesBurst: 15})
	now := clock(in)
	made := func(from string) (n int, reason tsdb.Reason, detail string) {
		for ; n < 1000; n++ {
			if reason, detail = in.Create(address(from)); reason != "" {
				return n, reason, detail
			}
		}
		return n, "", ""
	}
	if n, reason, detail := made("192.0.2.1"); n != 10 || reason != tsdb.SenderSeriesRate || !strings.Contains(detail, "192.0.2.1") || !strings.Contains(detail, "statsd.sender_series_per_second") {
		t.Error(n, reason, detail)
	}
	if n, reason, detail := made("192.0.2.2"); n != 5 || reason != tsdb.InputSeriesRate || !strings.Contains(detail, "statsd.series_per_second") {
		t.Error(n, reason, detail)
	}
	*now = now.Add(2 * time.Second)
	if n, reason, _ := made("192.0.2.1"); n != 4 || reason != tsdb.SenderSeriesRate {
		t.Error(n, reason)
	}
	status := in.Status(10)
	if status.Created != 19 || len(status.Senders) != 2 || status.Senders[0].Created != 14 {
		t.Errorf("%+v", status)
	}
}

// A sender that sends more than it may waits for its debt; another one goes on.
func TestSampleRate(t *testing.T) {
	in := New("statsd", Options{SenderSamplesPerSecond: 100})
	now := clock(in)
	one, two := address("192.0.2.1"), address("192.0.2.2")
	for n, c := range []struct {
		after time.Duration
		from  netip.Addr
		n     int
		want  tsdb.Reason
	}{
		{0, one, 999, ""},
		{0, one, 2001, ""}, // taken as a whole: 2,000 are owed
		{0, one, 1, tsdb.SenderSampleRate},
		{0, two, 1, ""},
		{20 * time.Second, one, 1, tsdb.SenderSampleRate},
		{10 * time.Millisecond, one, 1, ""},
		{time.Hour, one, 1000, ""}, // no more was saved up
		{0, one, 1, tsdb.SenderSampleRate},
		{0, address("2001:db8::1"), 1000, ""},
		{0, address("2001:db8::2"), 1, tsdb.SenderSampleRate},
	} {
		*now = now.Add(c.after)
		if got := in.Admit(c.from, c.n); got != c.want {
			t.Errorf("%d: %q, want %q", n, got, c.want)
		}
	}
	in.Set(Options{})
	if in.LimitsSamples() || in.Admit(one, 1_000_000) != "" {
		t.Error("limited without a limit")
	}
}

// A request that is stored in several batches is taken as a whole, and the next one pays for it.
func TestSampleRateOfRequests(t *testing.T) {
	in := New("remote_write", Options{SenderSamplesPerSecond: 10})
	clock(in)
	from := address("192.0.2.1")
	first := in.From(from).(tsdb.Admitter)
	for range 3 {
		if reason, _ := first.Admit(100); reason != "" {
			t.Fatal(reason)
		}
	}
	reason, detail := in.From(from).(tsdb.Admitter).Admit(1)
	if reason != tsdb.SenderSampleRate || !reason.Later() || !strings.Contains(detail, "192.0.2.1 sends more than 10 samples a second by remote_write") || !strings.Contains(detail, "remote_write.sender_samples_per_second") {
		t.Error(reason, detail)
	}
}

// Addresses that are made up take a bounded amount of memory, and share what one sender may make.
func TestManyAddresses(t *testing.T) {
	in := New("graphite", Options{SenderSeriesPerSecond: 1, SenderSeriesBurst: 2})
	now := clock(in)
	made := 0
	for i := range 3 * maxSenders {
		from := netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)})
		if reason, _ := in.Create(from); reason == "" {
			made++
		} else {
			in.Refused(from, reason, 1)
		}
	}
	if made != maxSenders+2 || len(in.byAddr) != maxSenders {
		t.Errorf("%d series were made, %d addresses are kept", made, len(in.byAddr))
	}
	if in.Worst(tsdb.SenderSeriesRate) != "others" || in.Worst(tsdb.InputSeriesRate) != "" {
		t.Error(in.Worst(tsdb.SenderSeriesRate))
	}
	if worst := in.Status(1).Senders[0]; worst.Address != "others" || worst.declined == 0 {
		t.Errorf("%+v", worst)
	}
	*now = now.Add(2 * forgetAfter)
	if reason, _ := in.Create(address("192.0.2.1")); reason != "" || len(in.byAddr) != 1 {
		t.Error(reason, len(in.byAddr))
	}
	// A host has 2^64 addresses of IPv6.
	for i := range 5 {
		_, _ = in.Create(address(fmt.Sprintf("2001:db8::%d", i)))
	}
	if len(in.byAddr) != 2 {
		t.Errorf("%d addresses", len(in.byAddr))
	}
	if text := Text(address("2001:db8::1")); text != "2001:db8::/64" {
		t.Error(text)
	}
}

func TestParts(t *testing.T) {
	var p Parts
	in := New("graphite", Options{})
	clock(in)
	p.Add(address("192.0.2.1"), 0)
	p.Add(address("192.0.2.1"), 3)
	p.Add(address("192.0.2.2"), 3)
	p.Add(address("192.0.2.2"), 5)
	p.Add(address("192.0.2.2"), 6)
	sender := p.Of(in, 2)
	for i := range 4 {
		sender.Refused(i, "x")
	}
	for _, one := range in.Status(10).Senders {
		if want := map[string]uint64{"192.0.2.1": 1, "192.0.2.2": 3}[one.Address]; one.Refused["x"] != want {
			t.Errorf("%+v", one)
		}
	}
}

// Over a store: names of the appliance's own, new series beyond the budget, and requests from elsewhere are refused and
// counted by sender; a part of the appliance may do all that.
func TestRequests(t *testing.T) {
	in := New("import", Options{SenderSeriesPerSecond: 1, SenderSeriesBurst: 2, Networks: []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}})
	clock(in)
	var store *tsdb.Store
	_, mux := ingesttest.Store(t, func(s *tsdb.Store, mux *http.ServeMux) {
		store = s
		mux.Handle("POST /x", in.Handler(s, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			var batch []tsdb.Sample
			for name := range strings.SplitSeq(r.URL.RawQuery, ",") {
				key, err := tsdb.AppendKey(nil, []tsdb.Label{{Name: tsdb.NameLabel, Value: name}})
				if err != nil {
					t.Fatal(err)
				}
				batch = append(batch, tsdb.Sample{Key: key, Kind: tsdb.Gauge, Time: time.Now().UnixMilli()})
			}
			rejected, err := s.Ingest(r.Context(), "import", batch, "buffered")
			if err != nil {
				t.Fatal(err)
			}
			for _, one := range rejected {
				fmt.Fprintln(w, one.Index, one.Reason)
			}
		})))
	})
	send := func(remote, forwarded, names string) (int, string) {
		r := httptest.NewRequest("POST", "/x?"+names, nil)
		r.RemoteAddr = remote
		if forwarded != "" {
			r.Header.Set("X-Forwarded-For", forwarded)
		}
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, r)
		return w.Code, w.Body.String()
	}
	for _, c := range []struct {
		remote, forwarded, names string
		code                     int
		want                     string
	}{
		{"@", "", "cistern_a,b,c,d", 200, ""},
		{"@", "198.51.100.1", "b", 403, "198.51.100.1"},
		{"198.51.100.1:7", "192.0.2.1", "b", 403, "198.51.100.1"}, // only nginx is believed
		{"@", "evil, 192.0.2.1", "cistern_a,cistern_new,b,e,f,g,b", 200, "0 reserved_name\n1 reserved_name\n5 sender_series_rate\n"},
		{"192.0.2.2:7", "", "g", 200, ""},
	} {
		if code, got := send(c.remote, c.forwarded, c.names); code != c.code || code == 200 && got != c.want || !strings.Contains(got, c.want) {
			t.Errorf("%s %s: %d %q", c.remote, c.forwarded, code, got)
		}
	}
	status := in.Status(10)
	if status.Refused[tsdb.ReservedName] != 2 || status.Refused[NetworkNotAllowed] != 2 || status.Created != 3 {
		t.Errorf("%+v", status)
	}
	if rejected := store.Status().Rejected; rejected[tsdb.ReservedName] != 2 || rejected[NetworkNotAllowed] != 2 || rejected[tsdb.SenderSeriesRate] != 1 {
		t.Errorf("%v", rejected)
	}
	// Off: a part of the appliance goes on.
	in.Switch(false)
	off := in.Handler(store, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) }))
	for remote, code := range map[string]int{"@": http.StatusTeapot, "192.0.2.2:7": http.StatusForbidden} {
		r := httptest.NewRequest("POST", "/x", nil)
		r.RemoteAddr = remote
		w := httptest.NewRecorder()
		if off.ServeHTTP(w, r); w.Code != code {
			t.Errorf("%s: %d %s", remote, w.Code, w.Body)
		}
	}
}

// Who sent most, who made most and of whom most was refused are all listed, each once, with what was within the last hour.
func TestTopSenders(t *testing.T) {
	in := New("graphite", Options{})
	now := clock(in)
	in.Sent(address("192.0.2.1"), 7)
	*now = now.Add(30 * time.Minute)
	in.Sent(address("192.0.2.1"), 3)
	in.Sent(address("192.0.2.2"), 1000)
	in.Refused(address("192.0.2.3"), "graphite_malformed", 5)
	in.Create(address("192.0.2.4"))
	names := func(limit int) (all []string) {
		for _, one := range in.Status(limit).Senders {
			all = append(all, fmt.Sprintf("%s:%d", one.Address, one.Sent))
		}
		return all
	}
	if got := fmt.Sprint(names(1)); got != "[192.0.2.3:0 192.0.2.4:0 192.0.2.2:1000]" {
		t.Error(got)
	}
	if got := fmt.Sprint(names(10)); got != "[192.0.2.3:0 192.0.2.4:0 192.0.2.2:1000 192.0.2.1:10]" {
		t.Error(got)
	}
	*now = now.Add(40 * time.Minute)
	if got := fmt.Sprint(names(10)); got != "[192.0.2.3:0 192.0.2.4:0 192.0.2.2:1000 192.0.2.1:3]" {
		t.Error("after 70 minutes: ", got)
	}
	*now = now.Add(-3 * time.Hour) // a clock that is set back counts anew
	in.Sent(address("192.0.2.1"), 2)
	if got := in.byAddr[address("192.0.2.1")].sent.sum(*now); got != 2 {
		t.Error(got)
	}
	*now = now.Add(5 * time.Hour)
	if got := names(10); len(got) != 0 {
		t.Error("after hours of silence: ", got)
	}
}

// Of a batch of several addresses, dealt with in two pieces, each is counted what came from it.
func TestSentOfSeveral(t *testing.T) {
	in := New("graphite", Options{})
	now := clock(in)
	var parts Parts
	a, b := address("192.0.2.1"), address("192.0.2.2")
	parts.Add(a, 3)
	parts.Add(b, 5)
	parts.Add(a, 9)
	parts.Of(in, 0).Sent(4)
	parts.Of(in, 4).Sent(5)
	if x, y := in.byAddr[a].sent.sum(*now), in.byAddr[b].sent.sum(*now); x != 7 || y != 2 {
		t.Error(x, y)
	}
	var tally Tally
	for _, one := range []netip.Addr{a, a, b, {}, {}, a} {
		in.Count(&tally, one, 2)
	}
	in.Count(&tally, netip.Addr{}, 0)
	if x, y, own := in.byAddr[a].sent.sum(*now), in.byAddr[b].sent.sum(*now), in.byAddr[netip.Addr{}].sent.sum(*now); x != 13 || y != 4 || own != 4 {
		t.Error(x, y, own)
	}
}

// Who began last is listed, however little it sends beside the others.
func TestStatusHasWhoBeganLast(t *testing.T) {
	in := New("statsd", Options{})
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	in.now = func() time.Time { return now }
	for i := range 60 {
		in.Sent(netip.AddrFrom4([4]byte{192, 0, 2, byte(i)}), 1000-i)
	}
	now = now.Add(10 * time.Minute)
	late := netip.MustParseAddr("198.51.100.7")
	in.Sent(late, 1)
	now = now.Add(time.Minute)
	in.Sent(late, 1)
	for _, one := range in.Status(20).Senders {
		if one.Address == late.String() {
			if want := now.Add(-time.Minute); !one.First.Equal(want) {
				t.Errorf("it began at %v, want %v", one.First, want)
			}
			return
		}
	}
	t.Error("who began last is not listed")
}
