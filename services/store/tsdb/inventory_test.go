package tsdb

import (
	"fmt"
	"math"
	"net/netip"
	"path/filepath"
	"reflect"
	"slices"
	"testing"
	"time"

	"cistern/services/journal"
	"cistern/services/platform/golden"
	"cistern/services/platform/vfs"
)

// from is a sender whose samples come from an address each; of one address all do.
type from []string

func (f from) Create(int) (Reason, string) { return "", "" }
func (f from) Refused(int, Reason)         {}
func (f from) Sent(int)                    {}
func (f from) Address(i int) (netip.Addr, int) {
	if len(f) == 1 {
		return netip.MustParseAddr(f[0]), math.MaxInt
	}
	return netip.MustParseAddr(f[i]), i + 1
}

func sendAs(t testing.TB, s *Store, sender Sender, input string, batch ...Sample) {
	t.Helper()
	if rejected, err := s.Ingest(WithSender(t.Context(), sender), input, batch, journal.Buffered); err != nil || len(rejected) > 0 {
		t.Fatal(rejected, err)
	}
}

func gaugeAt(t testing.TB, at int64, name string, pairs ...string) Sample {
	return Sample{Key: key(t, name, pairs...), Kind: Gauge, Time: at, Value: 1}
}

func hostNamed(t testing.TB, s *Store, name string) Host {
	t.Helper()
	for _, one := range s.Hosts(0, 0).List {
		if one.Name == name {
			return one
		}
	}
	t.Fatalf("there is no host %s among %v", name, s.Hosts(0, 0).List)
	return Host{}
}

func (h Host) String() string {
	return fmt.Sprintf("%s by %v, %d to %d, heard %d, every %v, %d series by %v, %v", h.Name, h.By, h.First, h.Last, h.Heard, h.Interval, h.Series, h.Inputs, h.Labels)
}

func hostNames(s *Store) (names []string) {
	for _, one := range s.Hosts(0, 0).List {
		names = append(names, one.Name)
	}
	return names
}

func TestHostNames(t *testing.T) {
	for _, c := range []struct {
		pairs []string
		name  string
	}{
		{[]string{"host", "a", "instance", "b:1"}, "a"},
		{[]string{"host.name", "a", "instance", "5e1f"}, "a"},
		{[]string{"instance", "web1:9100"}, "web1"},
		{[]string{"instance", "[fe80::1]:9100"}, "fe80::1"},
		{[]string{"instance", "fe80::1"}, "fe80::1"},
		{[]string{"instance", "web1"}, "web1"},
		{[]string{"instance", ":9100"}, ":9100"},
		{[]string{"instance", "web1:"}, "web1:"},
		{[]string{"job", "x"}, ""},
	} {
		k := string(key(t, "m", c.pairs...))
		if name, _ := HostName(func(label string) string { return LabelOf(k, label) }); name != c.name {
			t.Errorf("%v: %q, want %q", c.pairs, name, c.name)
		}
	}
}

// Hosts are known by a label, or by the address that sent what has none; the appliance's own series are nobody's, and what
// it computes of a host does not keep that alive.
func TestHostsAreNamed(t *testing.T) {
	o, now := clockOptions(vfs.NewMemory())
	s := openStore(t, o)
	defer s.Close()
	at := now.UnixMilli()
	sendAs(t, s, from{"10.0.0.7"}, "remote_write", gaugeAt(t, at, "up", "instance", "web1:9100", "job", "node"),
		gaugeAt(t, at, "up", "instance", "web1:9104", "job", "mysql"), gaugeAt(t, at, "load", "host", "db1"))
	sendAs(t, s, from{"10.0.0.7", "10.0.0.8", "10.0.0.7"}, "statsd", gaugeAt(t, at, "a"), gaugeAt(t, at, "b"), gaugeAt(t, at, "c"))
	mustIngest(t, s, gaugeAt(t, at, "cistern_http", "host", "client"), gaugeAt(t, at, "made:of", "host", "gone"))
	if want := []string{"10.0.0.7", "10.0.0.8", "db1", "web1"}; !reflect.DeepEqual(hostNames(s), want) {
		t.Fatalf("%v, want %v", hostNames(s), want)
	}
	web1 := hostNamed(t, s, "web1")
	if web1.Series != 2 || !reflect.DeepEqual(web1.By, []string{"instance"}) || !reflect.DeepEqual(web1.Inputs, []string{"remote_write"}) {
		t.Errorf("%v", web1)
	}
	if one := hostNamed(t, s, "10.0.0.7"); !reflect.DeepEqual(one.By, []string{"sender"}) || one.First != at || one.Heard != at {
		t.Errorf("%v", one)
	}
	before := hostNamed(t, s, "db1")
	now.advance(time.Minute)
	mustIngest(t, s, gaugeAt(t, now.UnixMilli(), "load", "host", "db1"))
	if after := hostNamed(t, s, "db1"); after.Heard != before.Heard {
		t.Errorf("what no sender sent counts as heard of: %v", after)
	}
}

func TestUsualInterval(t *testing.T) {
	o, now := clockOptions(vfs.NewMemory())
	s := openStore(t, o)
	defer s.Close()
	send := func() { sendAs(t, s, from{"10.0.0.7"}, "remote_write", gaugeAt(t, now.UnixMilli(), "up", "host", "a")) }
	send()
	if one := hostNamed(t, s, "a"); one.Interval != 0 {
		t.Errorf("known after one contact: %v", one)
	}
	// Three requests in each minute, and a pause of an hour.
	for i := range 12 {
		now.advance(2 * time.Second)
		send()
		now.advance(2 * time.Second)
		send()
		now.advance(56 * time.Second)
		if i == 9 {
			now.advance(time.Hour)
		}
		send()
	}
	if one := hostNamed(t, s, "a"); one.Interval != 56*time.Second || one.Heard != now.UnixMilli() {
		t.Errorf("%v, want every 56 s", one)
	}
}

// Who has an old version of an answer gets what has changed since, and the names of those that are gone.
func TestHostsSinceAVersion(t *testing.T) {
	o, now := clockOptions(vfs.NewMemory())
	s := openStore(t, o)
	defer s.Close()
	for i := range 5 {
		sendAs(t, s, from{"10.0.0.7"}, "remote_write", gaugeAt(t, now.UnixMilli(), "up", "host", fmt.Sprint("h", i)))
	}
	all := s.Hosts(0, 0)
	if !all.Full || len(all.List) != 5 {
		t.Fatalf("%+v", all)
	}
	if same := s.Hosts(all.Epoch, all.Version); same.Full || len(same.List) != 0 || same.Version != all.Version {
		t.Errorf("nothing has changed: %+v", same)
	}
	now.advance(10 * time.Second)
	sendAs(t, s, from{"10.0.0.7"}, "remote_write", gaugeAt(t, now.UnixMilli(), "up", "host", "h3"))
	changed := s.Hosts(all.Epoch, all.Version)
	if changed.Full || len(changed.List) != 1 || changed.List[0].Name != "h3" {
		t.Errorf("%+v", changed)
	}
	if other := s.Hosts(all.Epoch+1, all.Version); !other.Full || len(other.List) != 5 {
		t.Errorf("of another start: %+v", other)
	}
	if err := s.Delete(t.Context(), 0, math.MaxInt64, equal("host", "h1")); err != nil {
		t.Fatal(err)
	}
	if gone := s.Hosts(all.Epoch, all.Version); gone.Full || !slices.Contains(gone.Gone, "h1") || slices.Contains(hostNames(s), "h1") || len(hostNames(s)) != 4 {
		t.Errorf("%+v", gone)
	}
	// It is one again when it sends again.
	sendAs(t, s, from{"10.0.0.7"}, "remote_write", gaugeAt(t, now.UnixMilli(), "up", "host", "h1"))
	if back := s.Hosts(all.Epoch, changed.Version); slices.Contains(back.Gone, "h1") || len(hostNames(s)) != 5 {
		t.Errorf("%+v", back)
	}
}

// A deletion of some of a host's series, or of some of their time, leaves the host.
func TestDeletionLeavesHosts(t *testing.T) {
	o, now := clockOptions(vfs.NewMemory())
	s := openStore(t, o)
	defer s.Close()
	sendAs(t, s, from{"10.0.0.7"}, "remote_write", gaugeAt(t, now.UnixMilli(), "up", "host", "a"), gaugeAt(t, now.UnixMilli(), "load", "host", "a"),
		gaugeAt(t, now.UnixMilli(), "up", "host", "b"))
	if err := s.Delete(t.Context(), 0, math.MaxInt64, equal(NameLabel, "up")); err != nil {
		t.Fatal(err)
	}
	if got := hostNames(s); !reflect.DeepEqual(got, []string{"a"}) {
		t.Fatalf("%v: a has another series, b has not", got)
	}
	if err := s.Delete(t.Context(), 0, now.UnixMilli()-1, equal("host", "a")); err != nil {
		t.Fatal(err)
	}
	if got := hostNames(s); !reflect.DeepEqual(got, []string{"a"}) {
		t.Fatalf("%v: nothing of a was deleted", got)
	}
	now.advance(10 * time.Second)
	sendAs(t, s, from{"10.0.0.7"}, "remote_write", gaugeAt(t, now.UnixMilli(), "load", "host", "a"))
	if one := hostNamed(t, s, "a"); one.Heard != now.UnixMilli() {
		t.Errorf("what came after it is not seen: %v", one)
	}
}

// Labels are those of all series that report: one that has another value since a deployment is the host's again when the old
// series are silent, and a new head forgets nothing.
func TestLabelsOfHosts(t *testing.T) {
	o, now := clockOptions(vfs.NewMemory())
	o.BlockEvery = 24 * time.Hour
	s := openStore(t, o)
	defer s.Close()
	send := func(version string) {
		var batch []Sample
		for i := range 10 {
			batch = append(batch, gaugeAt(t, now.UnixMilli(), "m", "host", "a", "job", "node", "version", version, "cpu", fmt.Sprint(i)))
		}
		sendAs(t, s, from{"10.0.0.7"}, "remote_write", batch...)
	}
	want := func(step string, want ...Label) {
		t.Helper()
		if got := hostNamed(t, s, "a").Labels; !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", step, got, want)
		}
	}
	send("v3")
	want("v3", Label{"job", "node"}, Label{"version", "v3"})
	now.advance(2 * time.Minute)
	send("v4")
	want("both", Label{"job", "node"})
	now.advance(labelsWindow + time.Second)
	send("v4")
	want("v4", Label{"job", "node"}, Label{"version", "v4"})
	mustFlush(t, s)
	now.advance(2 * time.Minute)
	sendAs(t, s, from{"10.0.0.7"}, "remote_write", gaugeAt(t, now.UnixMilli(), "m", "host", "a", "job", "node", "version", "v4", "cpu", "0"))
	want("one series has come back", Label{"job", "node"}, Label{"version", "v4"})
	if one := hostNamed(t, s, "a"); one.Series != 20 {
		t.Errorf("%v: it had 20 series before the block", one)
	}
}

// What is known comes back after an orderly end and after a crash, from the file and the journal, and when there is no file
// from the blocks.
func TestHostsSurvive(t *testing.T) {
	memory := vfs.NewMemory()
	o, now := clockOptions(memory)
	s := openStore(t, o)
	send := func(host string) {
		sendAs(t, s, from{"10.0.0.7"}, "remote_write", gaugeAt(t, now.UnixMilli(), "up", "host", host, "site", "berlin"),
			gaugeAt(t, now.UnixMilli(), "nameless"))
	}
	first := now.UnixMilli()
	for range 5 {
		send("old")
		now.advance(10 * time.Second)
	}
	s.saveNewHosts(now.now())
	want := s.Hosts(0, 0).List
	mustFlush(t, s)
	now.advance(time.Minute)
	send("young")
	last := now.UnixMilli()
	if err := s.journal.Sync(s.journal.End()); err != nil {
		t.Fatal(err)
	}
	crashed := memory.Kill()
	old, young := hostNamed(t, s, "old"), hostNamed(t, s, "young")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	check := func(step string, fsys vfs.FS, withFile bool) {
		t.Helper()
		o := o
		o.FS = fsys
		s := openStore(t, o)
		defer s.Close()
		gotOld, gotYoung := hostNamed(t, s, "old"), hostNamed(t, s, "young")
		if gotOld.First != first || gotOld.Last != old.Last || gotYoung.First != young.First || gotYoung.Last != last {
			t.Errorf("%s: %v, %v; want %v, %v", step, gotOld, gotYoung, old, young)
		}
		if withFile && (gotOld.Heard != old.Heard || gotOld.Interval != old.Interval || !slices.Equal(gotOld.Labels, want[1].Labels) || gotOld.Series != 1 ||
			!slices.Equal(gotOld.Inputs, []string{"remote_write"})) {
			t.Errorf("%s: %v, want %v", step, gotOld, old)
		}
		if withFile {
			if one := hostNamed(t, s, "10.0.0.7"); one.First != first {
				t.Errorf("%s: %v", step, one)
			}
		}
	}
	check("after a crash", crashed.Kill(), true)
	check("after an orderly end", memory.Kill(), true)
	without := memory.Kill()
	if err := without.Remove(filepath.Join("/store/blocks", hostsFile)); err != nil {
		t.Fatal(err)
	}
	check("without the file", without, false)
}

// Hosts that are silent for as long as samples are kept are forgotten.
func TestOldHostsAreForgotten(t *testing.T) {
	o, now := clockOptions(vfs.NewMemory())
	o.Retention, o.RetentionMinute, o.RetentionHour = 24*time.Hour, 24*time.Hour, 24*time.Hour
	s := openStore(t, o)
	defer s.Close()
	sendAs(t, s, from{"10.0.0.7"}, "remote_write", gaugeAt(t, now.UnixMilli(), "up", "host", "old"))
	mustFlush(t, s)
	now.advance(25 * time.Hour)
	sendAs(t, s, from{"10.0.0.7"}, "remote_write", gaugeAt(t, now.UnixMilli(), "up", "host", "young"))
	mustFlush(t, s)
	if got := hostNames(s); !reflect.DeepEqual(got, []string{"young"}) {
		t.Error(got)
	}
}

// TestGoldenHosts: what other versions wrote of hosts is read.
func TestGoldenHosts(t *testing.T) {
	generate := func(t *testing.T) golden.Files {
		memory := vfs.NewMemory()
		o, now := clockOptions(memory)
		s := openStore(t, o)
		for range 3 {
			sendAs(t, s, from{"10.0.0.7"}, "remote_write", gaugeAt(t, now.UnixMilli(), "up", "host", "a", "site", "berlin"), gaugeAt(t, now.UnixMilli(), "nameless"))
			now.advance(10 * time.Second)
		}
		hostNames(s)
		mustFlush(t, s)
		text, err := vfs.ReadFile(memory, filepath.Join("/store/blocks", hostsFile))
		if err != nil {
			t.Fatal(err)
		}
		return golden.Files{"blocks/" + hostsFile: text}
	}
	golden.Check(t, "hosts", generate, func(t *testing.T, files golden.Files) {
		memory := vfs.NewMemory()
		if err := golden.Load(memory, "/store", files); err != nil {
			t.Fatal(err)
		}
		s := openStore(t, testOptions(memory))
		defer s.Close()
		a, sender := hostNamed(t, s, "a"), hostNamed(t, s, "10.0.0.7")
		if a.First != start.UnixMilli() || a.Heard != start.UnixMilli()+20_000 || a.Interval != 10*time.Second || a.Series != 1 ||
			!slices.Equal(a.Labels, []Label{{"site", "berlin"}}) || !slices.Equal(a.Inputs, []string{"remote_write"}) {
			t.Error(a)
		}
		if !slices.Equal(sender.By, []string{"sender"}) || sender.Last != start.UnixMilli()+20_000 {
			t.Error(sender)
		}
	})
}

// BenchmarkHosts is 5,000 hosts with 200 series each: what all of them cost, those that have changed, and what a batch costs.
func BenchmarkHosts(b *testing.B) {
	now := newClock(time.Now())
	s, err := Open(b.TempDir(), Options{Now: now.now, HeadBytes: 4 << 30, JournalBytes: 4 << 30})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	const hosts, series = 5000, 200
	batches := make([][]Sample, hosts)
	for i := range batches {
		for j := range series {
			batches[i] = append(batches[i], gaugeAt(b, now.UnixMilli(), fmt.Sprint("metric_", j), "host", fmt.Sprint("host-", i), "site", fmt.Sprint(i%7), "job", "node"))
		}
	}
	round := func() {
		now.advance(10 * time.Second)
		for i := range batches {
			for j := range batches[i] {
				batches[i][j].Time = now.UnixMilli()
			}
			sendAs(b, s, from{"10.0.0.7"}, "remote_write", batches[i]...)
		}
	}
	round()
	b.Run("first", func(b *testing.B) {
		for b.Loop() {
			for _, one := range s.inventory.records {
				one.labelled = 0
			}
			s.Hosts(0, 0)
		}
	})
	b.Run("all", func(b *testing.B) {
		for b.Loop() {
			s.Hosts(0, 0)
		}
	})
	b.Run("changed", func(b *testing.B) {
		all := s.Hosts(0, 0)
		sendAs(b, s, from{"10.0.0.7"}, "remote_write", gaugeAt(b, now.UnixMilli()+2000, "new", "host", "host-17"))
		for b.Loop() {
			if got := s.Hosts(all.Epoch, all.Version); len(got.List) != 1 {
				b.Fatal(len(got.List))
			}
		}
	})
	b.Run("round", func(b *testing.B) {
		for b.Loop() {
			round()
		}
		b.ReportMetric(float64(hosts*series*b.N)/b.Elapsed().Seconds(), "samples/s")
	})
}
