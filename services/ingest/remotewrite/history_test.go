package remotewrite

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"cistern/services/ingest/admission"
	"cistern/services/ingest/ingesttest"
	"cistern/services/store/tsdb"

	"github.com/prometheus/prometheus/prompb"
)

// History is taken however far behind, and the answer counts what was stored and what was refused, by reason.
func TestHistory(t *testing.T) {
	s, h := ingesttest.Store(t, func(s *tsdb.Store, mux *http.ServeMux) {
		New(s, admission.New(s)).Register(mux)
		NewHistory(s, admission.New(s)).Register(mux)
	})
	now := time.Now().UnixMilli()
	const day = 86_400_000
	series := func(samples ...prompb.Sample) []byte {
		return encode(t, prompb.TimeSeries{Labels: labelsOf("__name__", "live"), Samples: samples},
			prompb.TimeSeries{Labels: labelsOf("job", "nameless"), Samples: []prompb.Sample{{Value: 1, Timestamp: now}}})
	}
	if w := ingesttest.Post(h, "/api/v1/write", series(prompb.Sample{Value: 9, Timestamp: now})); w.Code != http.StatusBadRequest {
		t.Fatal(w.Code, w.Body)
	}
	old := series(prompb.Sample{Value: 1, Timestamp: now - 9*day}, prompb.Sample{Value: 2, Timestamp: now - 8*day}, prompb.Sample{Value: 3, Timestamp: 1000})
	if w := ingesttest.Post(h, "/api/v1/write", old); w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), "out_of_order: 2") {
		t.Fatal(w.Code, w.Body)
	}
	w := ingesttest.Post(h, "/admin/write", old)
	if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), `{"stored":2,"refused":[`) || !strings.Contains(w.Body.String(), `"reason":"too_old","samples":1,"first":"live: its time`) &&
		!strings.Contains(w.Body.String(), `"reason":"too_old","samples":1,"first":"{__name__`) {
		t.Fatal(w.Code, w.Body)
	}
	if got := ingesttest.Numbers(t, s)["[{__name__ live}]"]; got != "gauge 1 2 9" {
		t.Error(got)
	}
	if n := s.Status().Accepted["history"]; n != 2 {
		t.Errorf("%d of history", n)
	}
	if w := ingesttest.Post(h, "/admin/write", []byte("hello")); w.Code != http.StatusBadRequest {
		t.Error(w.Code, w.Body)
	}
	// What would be taken later is asked for again, as a whole.
	answer, d := httptest.NewRecorder(), &decoder{samples: make([]tsdb.Sample, 3)}
	NewHistory(s, admission.New(s)).answerWrite(answer, d, []tsdb.Rejection{{Index: -1, Reason: tsdb.SeriesRate, Detail: "x"}, {Index: -1, Reason: tsdb.TooOld, Detail: "y"}})
	if answer.Code != http.StatusServiceUnavailable || answer.Header().Get("Retry-After") == "" {
		t.Error(answer.Code, answer.Body)
	}
}
