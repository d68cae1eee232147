package web

import (
	"net/http"
	"strconv"
	"time"

	"cistern/services/daemon/problem"
)

// listCrashes answers at once, or, with after=SEQ and wait=SECONDS, when they are not what they were at SEQ.
func (a *API) listCrashes(w http.ResponseWriter, r *http.Request) {
	wait, _ := strconv.Atoi(r.URL.Query().Get("wait"))
	after, err := strconv.ParseInt(r.URL.Query().Get("after"), 10, 64)
	list, seq, changed := a.Crashes.List()
	if err == nil && after == seq && wait > 0 {
		select {
		case <-changed:
			list, seq, _ = a.Crashes.List()
		case <-time.After(time.Duration(min(wait, 60)) * time.Second):
		case <-r.Context().Done():
			return
		}
	}
	answer(w, http.StatusOK, map[string]any{"crashes": list, "seq": seq})
}

func (a *API) dismissCrash(w http.ResponseWriter, r *http.Request) {
	if !a.Crashes.Dismiss(r.PathValue("id")) {
		problem.Write(w, http.StatusNotFound, "not_found", "There is no such crash record.", "It may have gone to make room for newer ones.")
		return
	}
	w.WriteHeader(http.StatusNoContent)
}
