package supportd

import (
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"slices"

	"cistern/services/problem"
	"cistern/services/unixlisten"
)

// Handler serves the bundles to the users in uids: see docs/INTERFACES.md, "supportd".
func Handler(m *Maker, uids []int) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /bundles", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, http.StatusOK, map[string]any{"bundles": m.List()})
	})
	mux.HandleFunc("POST /bundles", func(w http.ResponseWriter, r *http.Request) {
		var body struct {
			Categories []string `json:"categories"`
		}
		if !problem.Decode(w, r, &body, 64<<10) {
			return
		}
		for _, category := range body.Categories {
			if !slices.ContainsFunc(m.Steps, func(s Step) bool { return s.Category == category }) {
				problem.Write(w, http.StatusBadRequest, "invalid_request", "There is no category '"+category+"'.", "Leave the categories out for a whole bundle.", problem.Field{Path: "/categories", Message: "unknown category"})
				return
			}
		}
		switch b, err := m.Start(body.Categories); {
		case errors.Is(err, errBusy):
			problem.Write(w, http.StatusConflict, "conflict", "A bundle is being made already.", "Wait for it, or cancel it.")
		case err != nil:
			problem.Write(w, http.StatusServiceUnavailable, "service_unavailable", "The bundle could not be begun: "+err.Error()+".", "Is the system pool full? Delete old bundles.")
		default:
			answer(w, http.StatusAccepted, b)
		}
	})
	mux.HandleFunc("GET /bundles/{id}", func(w http.ResponseWriter, r *http.Request) {
		if b, err := m.Get(r.PathValue("id")); err != nil {
			unknown(w)
		} else {
			answer(w, http.StatusOK, b)
		}
	})
	mux.HandleFunc("DELETE /bundles/{id}", func(w http.ResponseWriter, r *http.Request) {
		if err := m.Delete(r.PathValue("id")); err != nil {
			unknown(w)
			return
		}
		w.WriteHeader(http.StatusNoContent)
	})
	mux.HandleFunc("GET /bundles/{id}/content", func(w http.ResponseWriter, r *http.Request) {
		// Only an id that is in the list ever becomes a path.
		b, err := m.Get(r.PathValue("id"))
		if err != nil {
			unknown(w)
			return
		}
		f, err := os.Open(m.Archive(b.ID))
		if b.State != "done" || err != nil {
			problem.Write(w, http.StatusConflict, "conflict", "This bundle is not finished.", "Wait until it is done.")
			return
		}
		defer f.Close()
		w.Header().Set("Content-Type", "application/gzip")
		w.Header().Set("Content-Disposition", `attachment; filename="`+b.Name+`.tar.gz"`)
		w.Header().Set("ETag", `"`+b.SHA256+`"`)
		http.ServeContent(w, r, "", b.CreatedAt, f)
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if uid, err := unixlisten.RequestPeerUID(r); err != nil || !slices.Contains(uids, uid) {
			problem.Write(w, http.StatusForbidden, "forbidden", "This socket is for the management plane only.", "")
			return
		}
		mux.ServeHTTP(w, r)
	})
}

func unknown(w http.ResponseWriter) {
	problem.Write(w, http.StatusNotFound, "not_found", "There is no such bundle.", "It may have been deleted to make room; make another one.")
}

func answer(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // the client has gone
}
