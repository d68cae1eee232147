// Package ingesttest is what the tests of HTTP inputs share: a store in memory behind an input's routes, requests to them,
// and what has arrived.
package ingesttest

import (
	"bytes"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"cistern/services/platform/vfs"
	"cistern/services/store/tsdb"
)

// Store is an empty store, and the routes that register adds for it.
func Store(t testing.TB, register func(*tsdb.Store, *http.ServeMux)) (*tsdb.Store, http.Handler) {
	t.Helper()
	s, err := tsdb.Open("/s", tsdb.Options{FS: vfs.NewMemory()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	mux := http.NewServeMux()
	register(s, mux)
	return s, mux
}

// Post sends a body, with headers as names and values in turn.
func Post(h http.Handler, path string, body []byte, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest("POST", path, bytes.NewReader(body))
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// Numbers is all numbers of a store, by labels.
func Numbers(t testing.TB, s *tsdb.Store) map[string]string {
	t.Helper()
	found, release, err := s.Select(t.Context(), 0, math.MaxInt64)
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	all := map[string]string{}
	for _, one := range found {
		var text []string
		it := one.Numbers(0, math.MaxInt64)
		for it.Next() {
			_, v := it.At()
			text = append(text, fmt.Sprintf("%g", v))
		}
		all[fmt.Sprint(one.Labels())] = one.Kind.String() + " " + strings.Join(text, " ")
	}
	return all
}
