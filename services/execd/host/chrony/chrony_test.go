package chrony

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

func TestWhatIsWrongWithADocument(t *testing.T) {
	for name, c := range map[string]struct{ document, path string }{
		"names and addresses":       {`{"version":1,"servers":[{"address":"Time.Example.ORG","nts":true},{"address":"192.0.2.1"},{"address":"2001:DB8::1"},{"address":"pool.example","pool":true}]}`, ""},
		"nothing":                   {`{"version":1}`, ""},
		"another version":           {`{"version":2}`, "/version"},
		"an option behind the name": {`{"version":1,"servers":[{"address":"a.example"},{"address":"b.example trust"}]}`, "/servers/1/address"},
		"a second line":             {`{"version":1,"servers":[{"address":"a.example\nallow"}]}`, "/servers/0/address"},
		"no name":                   {`{"version":1,"servers":[{"address":""}]}`, "/servers/0/address"},
		"an address cut off":        {`{"version":1,"servers":[{"address":"192.0.2"}]}`, "/servers/0/address"},
		"an address with a zone":    {`{"version":1,"servers":[{"address":"fe80::1%eth0"}]}`, "/servers/0/address"},
		"nobody's address":          {`{"version":1,"servers":[{"address":"0.0.0.0"}]}`, "/servers/0/address"},
		"an address as a pool":      {`{"version":1,"servers":[{"address":"192.0.2.1","pool":true}]}`, "/servers/0/pool"},
		"one twice":                 {`{"version":1,"servers":[{"address":"2001:db8::1"},{"address":"2001:DB8:0::1"}]}`, "/servers/1/address"},
		"too many":                  {`{"version":1,"servers":[` + strings.TrimSuffix(strings.Repeat(`{"address":"a.example"},`, 17), ",") + `]}`, "/servers"},
	} {
		var d Document
		if err := json.Unmarshal([]byte(c.document), &d); err != nil {
			t.Fatal(err)
		}
		if path, message := d.Normal().Wrong(); path != c.path || (path == "") != (message == "") {
			t.Errorf("%s: %q %q, want %q", name, path, message, c.path)
		}
	}
}

func TestWhomItAsks(t *testing.T) {
	network := OfNetwork("OPER_STATE=routable\nNTP=192.0.2.9 NTP.Example fe80::1%2 bad;name\nDOMAINS=x\n")
	if want := []string{"192.0.2.9", "ntp.example"}; !slices.Equal(network, want) {
		t.Fatal(network)
	}
	d := Document{Version: 1, Servers: []Server{{Address: "a.example", NTS: true}, {Address: "b.example", Pool: true}, {Address: "192.0.2.9"}}, FromNetwork: true}
	_, lines, _ := strings.Cut(Sources(d.Asked(network)), "\n")
	if want := "server a.example iburst nts\npool b.example iburst maxsources 4\nserver 192.0.2.9 iburst\nserver ntp.example iburst\n"; lines != want {
		t.Errorf("%s", lines)
	}
	d.FromNetwork = false
	if asked := d.Asked(network); len(asked) != 3 || asked[2].From != FromSettings {
		t.Errorf("%v", asked)
	}
	if asked := Default().Asked(network); len(asked) != 2 || asked[0].From != FromNetwork {
		t.Errorf("%v", asked)
	}
	_, lines, _ = strings.Cut(Sources(Default().Asked(nil)), "\n")
	if !strings.HasPrefix(lines, "pool 0.debian.pool.ntp.org iburst maxsources 1\n") || strings.Count(lines, "\n") != 4 {
		t.Errorf("%s", lines)
	}
}

func TestWhatIsKeptIsRead(t *testing.T) {
	state := t.TempDir()
	if d, origin := Read(state); origin != Unset || !d.FromNetwork {
		t.Errorf("%v %s", d, origin)
	}
	if err := os.MkdirAll(filepath.Dir(File(state)), 0o700); err != nil {
		t.Fatal(err)
	}
	golden, err := os.ReadFile("testdata/document.json")
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{string(golden): Kept, `{"version":1,"servers":[{"address":"a b"}]}`: Unreadable, `{`: Unreadable} {
		if err := os.WriteFile(File(state), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		d, origin := Read(state)
		if origin != want {
			t.Errorf("%s: %s", text, origin)
		}
		if wrote, err := json.MarshalIndent(d, "", "  "); want == Kept && (err != nil || string(wrote)+"\n" != text) {
			t.Errorf("it is written as %s", wrote)
		}
	}
}

// What Debian's chronyc 4.6.1-3+deb13u2 printed on 26 November 2026 of servers of a test's own.
const (
	followsOne = "7F000002,127.0.0.2,2,1795662359.933929451,-0.000459044,0.000139372,0.000139372,-7.885,-0.000,436.803,0.001150551,0.013276663,2.0,Normal\n"
	followsNo  = "00000000,,0,0.000000000,0.000000000,0.000000000,0.000000000,0.000,0.000,0.000,1.000000000,1.000000000,0.0,Not synchronised\n"
	oneLies    = "^,*,127.0.0.2,1,6,17,7,-0.000132056,0.000007321,0.010588316\n^,+,127.0.0.3,1,6,17,8,0.000158164,0.000299147,0.010234381\n^,x,127.0.0.5,1,6,17,8,-30.000415802,-30.000272751,0.010150675\n" +
		"^,?,127.0.0.6,0,6,0,4294967295,0.000000000,0.000000000,0.000000000\n"
	statistics = "127.0.0.2,4,3,6,-61.322,786.581,-0.000716815,0.000073471\n127.0.0.3,4,3,6,14.565,1544.830,0.000031596,0.000187967\n127.0.0.5,4,3,6,-88.629,1907.930,-30.001091003,0.000237701\n" +
		"127.0.0.6,0,0,0,0.000,2000.000,0.000000000,4.000000000\n"
	authentication = "127.0.0.2,-,0,0,0,4294967295,0,0,0,0\n127.0.0.3,-,0,0,0,4294967295,0,0,0,0\n127.0.0.5,-,0,0,0,4294967295,0,0,0,0\n127.0.0.6,NTS,0,0,0,4294967295,1,0,0,0\n"
	named          = "^,*,time.example,1,6,17,7,-0.000132056,0.000007321,0.010588316\n^,+,127.0.0.3,1,6,17,8,0.000158164,0.000299147,0.010234381\n^,x,127.0.0.5,1,6,17,8,-30.000415802,-30.000272751,0.010150675\n" +
		"^,?,127.0.0.6,0,6,0,4294967295,0.000000000,0.000000000,0.000000000\n"
)

func TestTracking(t *testing.T) {
	got, err := ParseTracking(followsOne)
	if want := (Tracking{Synchronised: true, Source: "127.0.0.2", Stratum: 2, OffsetSeconds: -0.000459044, JitterSeconds: 0.000139372, Leap: "none", AnsweredMs: 1795662359933}); err != nil || got != want {
		t.Errorf("%+v %v", got, err)
	}
	if got, err := ParseTracking(followsNo); err != nil || got != (Tracking{Leap: "unknown"}) {
		t.Errorf("%+v %v", got, err)
	}
	if got, err := ParseTracking(strings.Replace(followsOne, "Normal", "Insert second", 1)); err != nil || got.Leap != "insert" || !got.Synchronised {
		t.Errorf("%+v %v", got, err)
	}
	for _, text := range []string{"", "200 OK", followsOne + followsOne, strings.Replace(followsOne, "2,1795662359", "two,1795662359", 1)} {
		if _, err := ParseTracking(text); err == nil || !strings.Contains(err.Error(), "chronyc says cannot be read") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestSources(t *testing.T) {
	list, err := ParseSources(oneLies, statistics, authentication)
	if err != nil {
		t.Fatal(err)
	}
	if err := withNames(list, named); err != nil {
		t.Fatal(err)
	}
	age, offset, jitter := int64(7), -0.000132056, 0.000073471
	if want := (Source{Name: "time.example", Address: "127.0.0.2", State: Followed, Stratum: 1, Reach: 15, PollSeconds: 64, AgeSeconds: &age, OffsetSeconds: &offset, JitterSeconds: &jitter}); !reflect.DeepEqual(list[0], want) {
		t.Errorf("%+v", list[0])
	}
	if list[1].State != Combined || list[2].State != Lies || *list[2].OffsetSeconds > -29 {
		t.Errorf("%+v", list[1:3])
	}
	if last := list[3]; last.State != Silent || last.AgeSeconds != nil || last.OffsetSeconds != nil || last.JitterSeconds != nil || !last.NTS || last.Authenticated {
		t.Errorf("%+v", last)
	}
	// A name that nobody has resolved yet, and a key that was agreed on: the columns are meth, key, type, length (client.c, process_cmd_authdata).
	list, err = ParseSources("^,?,ID#0000000001,0,6,0,4294967295,0.0,0.0,0.0\n^,*,192.0.2.1,1,6,377,3,0.1,0.1,0.1\n", "", "192.0.2.1,NTS,1,15,256,33,0,0,8,100\n")
	if err != nil || list[0].State != Unresolved || list[0].Address != "" || !list[1].Authenticated {
		t.Errorf("%+v %v", list, err)
	}
	// One that came between two questions.
	if err := withNames(list, named); err != nil || list[0].Name != "ID#0000000001" {
		t.Errorf("%+v %v", list, err)
	}
	for _, texts := range [][3]string{{"501 Not authorised", "", ""}, {strings.Replace(oneLies, "^,x", "^,!", 1), "", ""}, {oneLies, "501 Not authorised", ""}, {oneLies, statistics, strings.Replace(authentication, "NTS,0,0,0", "NTS,0,0,many", 1)}} {
		if _, err := ParseSources(texts[0], texts[1], texts[2]); err == nil {
			t.Errorf("%q was read", texts)
		}
	}
}
