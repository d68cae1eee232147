package web

import (
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"cistern/services/daemon/problem"
	"cistern/services/support/bundle"
	"cistern/services/support/collect"
)

// bundleRoutes adds the routes of bundles below prefix; they are the same for the management plane and for the page.
func (a *API) bundleRoutes(mux *http.ServeMux, prefix string) {
	m := a.Maker
	mux.HandleFunc("GET "+prefix+"/bundles", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, http.StatusOK, map[string]any{"bundles": m.List()})
	})
	mux.HandleFunc("POST "+prefix+"/bundles", func(w http.ResponseWriter, r *http.Request) {
		var o bundle.Options
		if !problem.Decode(w, r, &o, 64<<10) {
			return
		}
		b, err := m.Start(o)
		begun(w, b, err)
	})
	mux.HandleFunc("GET "+prefix+"/bundle-options", func(w http.ResponseWriter, _ *http.Request) {
		all, onRequest := m.Categories()
		found, err := m.Disks()
		if err != nil {
			found = []collect.Disk{}
		}
		answer(w, http.StatusOK, map[string]any{"categories": all, "onRequest": append([]string{}, onRequest...), "disks": found})
	})
	mux.HandleFunc("GET "+prefix+"/bundles/{id}", func(w http.ResponseWriter, r *http.Request) {
		if b, err := m.Get(r.PathValue("id")); err != nil {
			unknown(w)
		} else {
			answer(w, http.StatusOK, b)
		}
	})
	mux.HandleFunc("GET "+prefix+"/bundles/{id}/progress", func(w http.ResponseWriter, r *http.Request) { follow(m, w, r) })
	mux.HandleFunc("POST "+prefix+"/bundles/{id}/retry", func(w http.ResponseWriter, r *http.Request) {
		b, err := m.Retry(r.PathValue("id"))
		begun(w, b, err)
	})
	mux.HandleFunc("DELETE "+prefix+"/bundles/{id}", func(w http.ResponseWriter, r *http.Request) {
		if err := m.Delete(r.PathValue("id")); err != nil {
			unknown(w)
			return
		}
		w.WriteHeader(http.StatusNoContent)
	})
	mux.HandleFunc("GET "+prefix+"/bundles/{id}/content", func(w http.ResponseWriter, r *http.Request) { content(m, w, r) })
}

func begun(w http.ResponseWriter, b bundle.Bundle, err error) {
	switch {
	case errors.Is(err, bundle.ErrUnknown):
		unknown(w)
	case errors.Is(err, bundle.ErrBusy):
		problem.Write(w, http.StatusConflict, "conflict", "A bundle is being made already.", "Wait for it, or cancel it.")
	case errors.Is(err, bundle.ErrRequest):
		problem.Write(w, http.StatusBadRequest, "invalid_request", strings.TrimPrefix(err.Error(), bundle.ErrRequest.Error()+": "), "Correct it and try again.")
	case err != nil:
		problem.Write(w, http.StatusServiceUnavailable, "service_unavailable", "The bundle could not be begun: "+err.Error()+".", "Choose another place, or make room: delete old bundles.")
	default:
		answer(w, http.StatusAccepted, b)
	}
}

// follow answers with the bundle as a line of JSON whenever something of it changed, the first at once, until it is no
// longer being made.
func follow(m *bundle.Maker, w http.ResponseWriter, r *http.Request) {
	out := http.NewResponseController(w)
	for first := true; ; first = false {
		b, changed, err := m.Watch(r.PathValue("id"))
		if err != nil {
			if first {
				unknown(w)
			}
			return
		}
		if first {
			w.Header().Set("Content-Type", "application/jsonl")
			w.Header().Set("X-Accel-Buffering", "no")
		}
		if json.NewEncoder(w).Encode(b) != nil || out.Flush() != nil || b.State != "building" {
			return
		}
		select {
		case <-changed:
		case <-r.Context().Done():
			return
		}
		// Steps end many at a time; nobody reads faster than this.
		select {
		case <-time.After(100 * time.Millisecond):
		case <-r.Context().Done():
			return
		}
	}
}

// content answers with the archive: itself, or, when nginx asks (X-Cistern-Accel), with where nginx finds it.
func content(m *bundle.Maker, w http.ResponseWriter, r *http.Request) {
	// Only an id that is in the list ever becomes a path.
	b, err := m.Get(r.PathValue("id"))
	if err != nil {
		unknown(w)
		return
	}
	if b.Place == bundle.PlaceUSB {
		problem.Write(w, http.StatusConflict, "conflict", "This bundle was written to the disk "+b.Device+".", "Take it from there: it is called "+b.File+".")
		return
	}
	path := m.Archive(b.ID)
	f, err := os.Open(path)
	if b.State != "done" || err != nil {
		problem.Write(w, http.StatusConflict, "conflict", "This bundle is not finished.", "Wait until it is done.")
		return
	}
	defer f.Close()
	kind := "application/zstd"
	if b.Encrypted {
		kind = "application/age"
	}
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Content-Disposition", `attachment; filename="`+b.File+`"`)
	if r.Header.Get("X-Cistern-Accel") != "" {
		w.Header().Set("X-Accel-Redirect", "/internal/bundles/"+b.Place+"/"+filepath.Base(path))
		return
	}
	w.Header().Set("ETag", `"`+b.SHA256+`"`)
	http.ServeContent(w, r, "", b.CreatedAt, f)
}

func unknown(w http.ResponseWriter) {
	problem.Write(w, http.StatusNotFound, "not_found", "There is no such bundle.", "It may have been deleted to make room; make another one.")
}
