package otlp

import (
	"math"
	"net/http"
	"testing"
	"time"

	"cistern/services/platform/vfs"
	"cistern/services/store/tsdb"
)

// What is translated goes through the real store, its journal and its blocks, and is the same afterwards.
func TestStore(t *testing.T) {
	fs := vfs.NewMemory()
	now := func() time.Time { return time.Unix(777, 0) }
	open := func() *tsdb.Store {
		s, err := tsdb.Open("/s", tsdb.Options{FS: fs, Now: now})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	s := open()
	mux := http.NewServeMux()
	h := New(s, Defaults())
	h.now = now
	h.Register(mux)
	for _, c := range translations {
		if w := post(mux, typeJSON, "", []byte(around(c.metrics))); w.Code != 200 {
			t.Fatal(c.name, w.Body)
		}
	}
	read := func() (natives, stales, numbers int) {
		found, release, err := s.Select(t.Context(), 0, math.MaxInt64)
		if err != nil {
			t.Fatal(err)
		}
		defer release()
		for _, one := range found {
			for it := one.Natives(0, math.MaxInt64); it.Next(); {
				_, h := it.At()
				if math.Float64bits(h.Sum) == math.Float64bits(stale) {
					stales++
				} else if err := h.Validate(); err != nil || h.Count == 0 {
					t.Errorf("%v: %s", err, h)
				}
				natives++
			}
			for it := one.Numbers(0, math.MaxInt64); it.Next(); {
				_, v := it.At()
				if math.Float64bits(v) == math.Float64bits(stale) {
					stales++
				}
				numbers++
			}
		}
		return natives, stales, numbers
	}
	// One of each series and time: the last one of "h" and "e" is what they held there.
	natives, stales, numbers := read()
	if natives != 2 || stales < 2 || numbers < 10 {
		t.Errorf("%d native histograms, %d ended, %d numbers", natives, stales, numbers)
	}
	again := func(what string) {
		t.Helper()
		if a, b, c := read(); a != natives || b != stales || c != numbers {
			t.Errorf("%s: %d native histograms, %d ended, %d numbers; before %d, %d, %d", what, a, b, c, natives, stales, numbers)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open()
	again("after the journal's replay")
	if _, err := s.Flush(); err != nil {
		t.Fatal(err)
	}
	again("from a block")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}
