package main

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

func TestProfilesAreForThisMachine(t *testing.T) {
	for address, code := range map[string]int{"127.0.0.1:5": 200, "[::1]:5": 200, "@": 200, "192.0.2.7:5": 403, "[2001:db8::1]:5": 403} {
		r := httptest.NewRequest("GET", "/debug/pprof/", nil)
		r.RemoteAddr = address
		w := httptest.NewRecorder()
		here(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(200) })(w, r)
		if w.Code != code {
			t.Errorf("%s: %d, want %d", address, w.Code, code)
		}
	}
}
