// Package web is what supportd answers: to the management plane on http.sock (API), and to a browser on web.sock, by a page
// that is there without the management plane (Page). What they answer with is in bundle, crash and logs beside it.
package web

import (
	"encoding/json"
	"net/http"
	"slices"

	"cistern/services/daemon/problem"
	"cistern/services/daemon/unixsocket"
	"cistern/services/support/bundle"
	"cistern/services/support/crash"
	"cistern/services/support/logs"
)

// API is what supportd answers on its sockets: see docs/api/supportd.md.
type API struct {
	Maker   *bundle.Maker
	Crashes *crash.Records
	Logs    logs.Source     // nil: this machine's logs cannot be read
	Access  *logs.AccessLog // nil: the web server's log is not taken in
	Record  *Record         // nil: what is done at the page is not recorded
	Journal *logs.Journal   // nil: this machine has none
}

// Handler is for the management plane and root: those whose user ids are in uids.
func (a *API) Handler(uids []int) http.Handler {
	mux := http.NewServeMux()
	a.bundleRoutes(mux, "")
	if a.Record != nil {
		mux.Handle("GET /audit-entries", a.Record)
	}
	mux.HandleFunc("GET /ssh-entries", a.readVisits)
	mux.HandleFunc("GET /crashes", a.listCrashes)
	mux.HandleFunc("DELETE /crashes/{id}", a.dismissCrash)
	mux.HandleFunc("GET /logs", a.readLogs)
	mux.HandleFunc("GET /logs/live", a.followLogs)
	mux.HandleFunc("GET /requests", a.readRequests)
	mux.HandleFunc("GET /requests/live", a.followRequests)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if uid, err := unixsocket.RequestPeerUID(r); err != nil || !slices.Contains(uids, uid) {
			problem.Write(w, http.StatusForbidden, "forbidden", "This socket is for the management plane only.", "")
			return
		}
		mux.ServeHTTP(w, r)
	})
}

func answer(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // the client has gone
}
