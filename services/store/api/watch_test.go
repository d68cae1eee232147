package api

import (
	"bufio"
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

func TestWatch(t *testing.T) {
	f := newFixture(t)
	stopping := make(chan struct{})
	a := New(f.store, "test")
	a.Stopping = stopping
	server := httptest.NewUnstartedServer(http.HandlerFunc(a.Watch))
	server.Config.ReadTimeout = 500 * time.Millisecond // the stream outlives it
	server.Start()
	defer server.Close()
	now := int(time.Since(began).Seconds())
	f.put(t, sample(t, now-3, "load", 1.0, "host", "a"))
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	request, _ := http.NewRequestWithContext(ctx, "POST", server.URL, strings.NewReader(`{"limits":[
		{"query":"rate(load[5m])","above":1},{"query":"load","above":5},{"query":"load{host=\"b\"}","below":2},{"query":"load offset 5m","above":5},{"query":"load{","above":1}]}`))
	response, err := http.DefaultClient.Do(request)
	if err != nil || response.StatusCode != http.StatusOK || response.Header.Get("Content-Type") != "application/x-ndjson" {
		t.Fatal(err, response)
	}
	defer response.Body.Close()
	lines := bufio.NewScanner(response.Body)
	next := func(want string) {
		t.Helper()
		if !lines.Scan() || lines.Text() != want {
			t.Fatalf("%q %v, want %q", lines.Text(), lines.Err(), want)
		}
	}
	next(`{"leftOut":[0,3,4]}`)
	time.Sleep(600 * time.Millisecond)
	f.put(t, sample(t, now-2, "load", 6.0, "host", "a"), sample(t, now-2, "load", 1.0, "host", "b"))
	next(`{"crossed":[1,2]}`)
	f.put(t, sample(t, now-1, "load", 7.0, "host", "a"), sample(t, now-1, "load", 1.5, "host", "b")) // beyond as before
	f.put(t, sample(t, now, "load", 8.0, "host", "b"))
	next(`{"crossed":[1]}`)
	close(stopping)
	if lines.Scan() {
		t.Errorf("%q", lines.Text())
	}
	if err := lines.Err(); err != nil {
		t.Error(err)
	}
}

func TestBadWatches(t *testing.T) {
	f := newFixture(t)
	a := New(f.store, "test")
	for body, want := range map[string]string{
		`{"limits":[{"query":"x"}]}`:                     "either",
		`{"limits":[{"query":"x","above":1,"below":2}]}`: "either",
		`{"limits":[{"query":"x","above":"a lot"}]}`:     "limits",
		`{`: "JSON",
		`{"limits":[` + strings.Repeat(`{"query":"x","above":1},`, maxLimits) + `{"query":"x","above":1}]}`: "100001 limits",
	} {
		w := httptest.NewRecorder()
		a.Watch(w, httptest.NewRequest("POST", "/admin/watch", strings.NewReader(body)))
		if w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), want) {
			t.Errorf("%.80s: %d %s", body, w.Code, w.Body)
		}
	}
	a.watching.Store(watchClients)
	w := httptest.NewRecorder()
	a.Watch(w, httptest.NewRequest("POST", "/admin/watch", strings.NewReader(`{"limits":[]}`)))
	if w.Code != http.StatusServiceUnavailable {
		t.Error(w.Code, w.Body)
	}
}
