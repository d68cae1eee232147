package logs

import (
	"context"
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestRequestsAreKeptInBoundedMemory(t *testing.T) {
	path := filepath.Join(t.TempDir(), "access.sock")
	socket, err := ListenAccess(path)
	if err != nil {
		t.Fatal(err)
	}
	a := &AccessLog{MaxBytes: 64 << 10}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go a.Listen(ctx, socket)
	client, err := net.Dial("unixgram", path)
	if err != nil {
		t.Fatal(err)
	}
	send := func(uri, status string) {
		fmt.Fprintf(client, `<190>Nov 21 12:00:00 nginx: {"at":"1767225600.123","c":"10.0.0.1","u":"%s","m":"GET","s":"%s","t":"0.001","b":"10","up":"0.1","ca":"HIT","h":"box","a":"curl/8","f":"","ct":"text/html"}`, uri, status)
	}
	for i := range 5000 {
		send(fmt.Sprintf("/api/%d?token=%s", i, canary), "200")
	}
	fmt.Fprint(client, "garbage", "{}")
	send("/api/slow", "504")
	deadline := time.Now().Add(10 * time.Second)
	var all []Request
	for {
		if all, _, _ = a.Since(0); len(all) > 0 && all[len(all)-1].URI == "/api/slow" {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the last one did not come")
		}
		time.Sleep(10 * time.Millisecond)
	}
	if a.bytes > a.MaxBytes || a.seen != 5001 || len(a.kept) < 50 {
		t.Errorf("%d bytes, %d seen, %d kept", a.bytes, a.seen, len(a.kept))
	}
	for _, r := range all {
		if strings.Contains(r.URI, canary) {
			t.Fatalf("a secret is kept: %s", r.URI)
		}
	}
	var lines strings.Builder
	if err := a.WriteJSON(ctx, &lines); err != nil || strings.Count(lines.String(), "\n") != len(all) || strings.Contains(lines.String(), canary) {
		t.Errorf("%v: %d lines of %d requests, or a secret is in them", err, strings.Count(lines.String(), "\n"), len(all))
	}
}
