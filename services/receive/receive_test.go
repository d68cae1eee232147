package receive

import (
	"fmt"
	"io"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"time"
)

type collector struct {
	mu   sync.Mutex
	text []string
}

func (c *collector) take(packets [][]byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, p := range packets {
		c.text = append(c.text, string(p))
	}
}

func (c *collector) wait(t *testing.T, n int) []string {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
		c.mu.Lock()
		got := len(c.text)
		c.mu.Unlock()
		if got >= n {
			return c.text
		}
	}
	t.Fatalf("%d of %d packets came", len(c.text), n)
	return nil
}

func TestDatagrams(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	for _, open := range []func(func([][]byte)) (*Datagrams, error){
		func(take func([][]byte)) (*Datagrams, error) { return UDP("127.0.0.1:0", take) },
		func(take func([][]byte)) (*Datagrams, error) { return Unix(path, take) },
	} {
		var c collector
		d, err := open(c.take)
		if err != nil {
			t.Fatal(err)
		}
		network := "udp"
		if d.Addr() == path {
			network = "unixgram"
			if _, err := Unix(path, c.take); err == nil {
				t.Error("the socket of another was taken away")
			}
		}
		// Several senders, so that every socket gets some.
		const senders, each = 20, 50
		for s := range senders {
			client, err := net.Dial(network, d.Addr())
			if err != nil {
				t.Fatal(err)
			}
			for i := range each {
				if _, err := fmt.Fprintf(client, "%d/%d", s, i); err != nil {
					t.Fatal(err)
				}
			}
			client.Close()
		}
		seen := map[string]bool{}
		for _, text := range c.wait(t, senders*each) {
			seen[text] = true
		}
		if len(seen) != senders*each || d.Packets() != senders*each || d.BufferBytes() == 0 {
			t.Errorf("%d different packets, %d counted, a buffer of %d", len(seen), d.Packets(), d.BufferBytes())
		}
		if n, known := d.Drops(); n != 0 {
			t.Errorf("%d drops (%v)", n, known)
		}
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}
	// The stale socket's file may stay; a new one takes its place.
	d, err := Unix(path, func([][]byte) {})
	if err != nil {
		t.Fatal(err)
	}
	d.Close()
}

// The kernel's own count of what it dropped: everything sent either arrives or is in it.
func TestDropsAreCounted(t *testing.T) {
	var c collector
	hold := make(chan struct{})
	d, err := UDP("127.0.0.1:0", func(packets [][]byte) { <-hold; c.take(packets) })
	if err != nil {
		t.Fatal(err)
	}
	if _, known := d.Drops(); !known {
		t.Skip("this system does not say")
	}
	for _, s := range d.sockets {
		s.shrink(t)
	}
	client, err := net.Dial("udp", d.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	const sent = 3000
	for range sent {
		if _, err := client.Write(make([]byte, 100)); err != nil {
			t.Fatal(err)
		}
	}
	close(hold)
	dropped := uint64(0)
	for end := time.Now().Add(5 * time.Second); time.Now().Before(end) && d.Packets()+dropped < sent; time.Sleep(time.Millisecond) {
		dropped, _ = d.Drops()
	}
	if dropped == 0 || d.Packets()+dropped != sent {
		t.Errorf("%d came, %d dropped", d.Packets(), dropped)
	}
	d.Close()
	if n, known := d.Drops(); n != dropped || !known {
		t.Errorf("after closing: %d %v", n, known)
	}
}

func TestLines(t *testing.T) {
	long := strings.Repeat("x", 50)
	text := "a\nbc\n" + long + "\nd\n\n" + long + long + "\nlast"
	for name, reader := range map[string]io.Reader{"whole": strings.NewReader(text), "bytes": iotest.OneByteReader(strings.NewReader(text)),
		"with the end": iotest.DataErrReader(strings.NewReader(text))} {
		var got string
		skipped := 0
		if err := Lines(reader, 10, func(lines []byte) error { got += string(lines); return nil }, func() { skipped++ }); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		// What comes in one piece may hold a long line whole: then it is for the reader of lines to refuse.
		var short []string
		for _, line := range strings.Fields(got) {
			if len(line) <= 10 {
				short = append(short, line)
			}
		}
		if strings.Join(short, " ") != "a bc d last" || (name == "bytes") != (skipped == 2) {
			t.Errorf("%s: %q, %d skipped", name, got, skipped)
		}
	}
	broken := fmt.Errorf("full")
	if err := Lines(strings.NewReader("a\n"), 10, func([]byte) error { return broken }, nil); err != broken {
		t.Error(err)
	}
}

func TestStreams(t *testing.T) {
	var mu sync.Mutex
	lines := ""
	s, err := TCP("127.0.0.1:0", func(c net.Conn) {
		_ = Lines(c, 100, func(text []byte) error {
			mu.Lock()
			defer mu.Unlock()
			lines += string(text)
			return nil
		}, func() {})
	})
	if err != nil {
		t.Fatal(err)
	}
	quiet, err := net.Dial("tcp", s.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer quiet.Close()
	client, err := net.Dial("tcp", s.Addr())
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprint(client, "a\nb")
	client.Close()
	for end := time.Now().Add(5 * time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
		mu.Lock()
		done := lines == "a\nb"
		mu.Unlock()
		if done && s.Open() == 1 {
			break
		}
	}
	if s.Open() != 1 || lines != "a\nb" {
		t.Errorf("%d open, %q", s.Open(), lines)
	}
	if err := s.Close(); err != nil { // does not wait for who says nothing
		t.Error(err)
	}
}
