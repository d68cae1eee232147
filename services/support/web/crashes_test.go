package web

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"cistern/services/support/crash"
)

func TestCrashesAreWaitedFor(t *testing.T) {
	c := crash.Open(filepath.Join(t.TempDir(), "crashes.json"), "")
	s := &API{Crashes: c}
	_, seq, _ := c.List()
	go func() {
		time.Sleep(100 * time.Millisecond)
		c.Note(crash.Record{Service: "x", LastAt: time.Now()})
	}()
	w := httptest.NewRecorder()
	started := time.Now()
	s.listCrashes(w, httptest.NewRequest(http.MethodGet, fmt.Sprintf("/crashes?after=%d&wait=30", seq), nil))
	if took := time.Since(started); took < 50*time.Millisecond || took > 5*time.Second || !strings.Contains(w.Body.String(), `"service":"x"`) {
		t.Errorf("%v %s", took, w.Body)
	}
}
