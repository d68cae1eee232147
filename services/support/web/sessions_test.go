package web

import (
	"net/http"
	"strconv"
	"testing"
	"time"
)

func TestTheOldestSessionEndsWhenThereAreTooMany(t *testing.T) {
	s, h := webOf(t)
	now := time.Now()
	s.Now = func() time.Time { return now }
	signIn := func() *http.Cookie {
		return call(h, "POST", "/support/session", `{"user":"admin","password":"correct horse"}`, "a").Result().Cookies()[0]
	}
	first := signIn()
	now = now.Add(time.Second)
	for i := range maxSessions - 1 {
		s.sessions[strconv.Itoa(i)] = session{"admin", now.Add(webSession), ""}
	}
	last := signIn()
	if len(s.sessions) != maxSessions {
		t.Errorf("%d sessions", len(s.sessions))
	}
	for cookie, want := range map[*http.Cookie]int{first: 401, last: 200} {
		if w := call(h, "GET", "/support/bundles", "", "a", cookie); w.Code != want {
			t.Errorf("%d, want %d", w.Code, want)
		}
	}
}
