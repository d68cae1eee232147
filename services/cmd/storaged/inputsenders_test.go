package main

// Single senders of the real binary: they get a host, by choice or by name, and are refused.

import (
	"fmt"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestSingleSendersAreSet(t *testing.T) {
	folder := t.TempDir()
	d := launch(t, folder, "--host-statistics=false")
	put := func(inputs string, want int) string {
		t.Helper()
		code, said := d.sendText(t, "PUT", "/admin/inputs", `{"revision":"r","inputs":{`+inputs+`}}`)
		if code != want {
			t.Fatalf("%s: %d %s", inputs, code, said)
		}
		return said
	}
	var all struct {
		Inputs map[string]struct {
			Listens        []string
			SenderIsHost   bool
			HostNames      []struct{ Address, Name string }
			RefusedSenders []string
			Refused        map[string]int
		}
	}
	send := func(from, text string) {
		t.Helper()
		d.get(t, "/admin/inputs", &all)
		to, err := net.ResolveUDPAddr("udp", all.Inputs["statsd"].Listens[0])
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
	until := func(query, want string) {
		t.Helper()
		var got string
		for end := time.Now().Add(10 * time.Second); got != want; time.Sleep(20 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("%s: %q", query, got)
			}
			var answer struct {
				Data struct{ Result []struct{ Value [2]any } }
			}
			d.get(t, "/api/v1/query?query="+query, &answer)
			if got = ""; len(answer.Data.Result) > 0 {
				got = fmt.Sprint(answer.Data.Result[0].Value[1])
			}
		}
	}
	statsd := func(more string) string { return `"statsd":{"enabled":true,` + more + `,` + noLimits + `}` }
	for inputs, words := range map[string]string{
		`"import":{"enabled":true,"senderIsHost":true,` + noLimits + `}`:                                 "import has no senderIsHost",
		statsd(`"refusedSenders":["192.0.2.0/24"]`):                                                      "is more than one sender",
		statsd(`"hostNames":[{"address":"192.0.2.7","name":" "}]`):                                       "the name of 192.0.2.7 is empty",
		statsd(`"hostNames":[{"address":"192.0.2.7","name":"a"},{"address":"192.0.2.7/32","name":"b"}]`): "two names of 192.0.2.7",
		statsd(`"hostNames":[{"address":"192.0.2.7","name":"` + strings.Repeat("x", 2049) + `"}]`):       "the name of 192.0.2.7",
		statsd(`"refusedSenders":["192.0.2.7"` + strings.Repeat(`,"192.0.2.7"`, maxSingle) + `]`):        "1000 is the limit",
	} {
		if said := put(inputs, http.StatusBadRequest); !strings.Contains(said, words) {
			t.Errorf("%s: %s", inputs, said)
		}
	}
	put(statsd(`"senderIsHost":true,"hostNames":[{"address":"127.0.0.2","name":"web 2"}],"refusedSenders":["127.0.0.4","2001:db8::/64"]`)+
		`,"import":{"enabled":true,"refusedSenders":["192.0.2.7"],`+noLimits+`}`, http.StatusOK)
	check := func(sum string) {
		t.Helper()
		for _, from := range []string{"127.0.0.1", "127.0.0.2", "127.0.0.4"} {
			send(from, "a:1|c")
		}
		until("sum(a)", sum)
		until("count(a%7Bhost%3D~%22web%202%7C127.0.0.1%22%7D)", "2")
		d.get(t, "/admin/inputs", &all)
		one := all.Inputs["statsd"]
		if !one.SenderIsHost || fmt.Sprint(one.HostNames, one.RefusedSenders) != "[{127.0.0.2 web 2}] [127.0.0.4 2001:db8::/64]" {
			t.Errorf("%+v", one)
		}
		if n := one.Refused["sender_refused"]; n != 1 {
			t.Errorf("%d were refused", n)
		}
		for from, want := range map[string]int{"192.0.2.7": http.StatusForbidden, "192.0.2.8": http.StatusOK} {
			if code, said := d.post(t, "/api/v1/import", `{"samples":[{"name":"b","value":1}]}`, from); code != want || want != http.StatusOK && !strings.Contains(said, "has refused this sender") {
				t.Errorf("%s: %d %s", from, code, said)
			}
		}
		d.get(t, "/admin/inputs", &all)
		if n := all.Inputs["import"].Refused["sender_refused"]; n != 1 {
			t.Errorf("%d requests were refused", n)
		}
	}
	check("2")
	if err := d.end(t, syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	d = launch(t, folder, "--host-statistics=false") // totals of statsd begin anew
	check("2")
}

// Hosts of statsd are heard of while something comes of them, and not for as long as their totals are repeated.
func TestHostsByStatsd(t *testing.T) {
	d := launch(t, t.TempDir(), "--host-statistics=false")
	code, said := d.sendText(t, "PUT", "/admin/inputs", `{"revision":"r","inputs":{"statsd":{"enabled":true,"senderIsHost":true,`+noLimits+`}}}`)
	if code != http.StatusOK {
		t.Fatal(code, said)
	}
	var all struct {
		Inputs map[string]struct{ Listens []string }
	}
	d.get(t, "/admin/inputs", &all)
	connection, err := net.Dial("tcp", all.Inputs["statsd"].Listens[0])
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	var hosts struct {
		Hosts []struct {
			Name      string
			By        []string
			HeardTime float64
		}
	}
	heard := func(name string, since float64) (at float64) {
		t.Helper()
		for end := time.Now().Add(10 * time.Second); ; time.Sleep(20 * time.Millisecond) {
			d.get(t, "/api/v1/hosts", &hosts)
			for _, one := range hosts.Hosts {
				if one.Name == name && one.HeardTime > since && fmt.Sprint(one.By) == "[host]" {
					return one.HeardTime
				}
			}
			if time.Now().After(end) {
				t.Fatalf("%s: %+v", name, hosts)
			}
		}
	}
	fmt.Fprint(connection, "a:1|c\na:1|c|#host:quiet\n")
	heard("127.0.0.1", 0)
	quiet := heard("quiet", 0)
	for since := quiet; since < quiet+3; {
		fmt.Fprint(connection, "a:1|c\n")
		since = heard("127.0.0.1", since)
	}
	if at := heard("quiet", 0); at != quiet {
		t.Errorf("it is heard of %g s after its last line", at-quiet)
	}
}
