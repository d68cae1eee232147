package web

import (
	"net/http/httptest"
	"strings"
	"testing"
)

func TestVisitsAreAskedForByTime(t *testing.T) {
	a := &API{} // a machine without a journal: nobody came by ssh
	for query, want := range map[string]string{
		"cursor=c&since=2026-01-01T00:00:00.5Z":      `200 {"cursor":"c","entries":[],"more":false}`,
		"cursor=&since=yesterday":                    `400 There is no time to begin at.`,
		"cursor=c+--file&since=2026-01-01T00:00:00Z": `400 There is no time to begin at.`,
	} {
		w := httptest.NewRecorder()
		a.readVisits(w, httptest.NewRequest("GET", "/ssh-entries?"+query, nil))
		status, words, _ := strings.Cut(want, " ")
		if w.Code != map[string]int{"200": 200, "400": 400}[status] || !strings.Contains(w.Body.String(), words) {
			t.Errorf("%s: %d %s", query, w.Code, w.Body)
		}
	}
}
