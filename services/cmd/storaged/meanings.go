package main

// GET and PUT /admin/meanings: what people say of metrics.

import (
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"slices"

	"cistern/services/daemon/problem"
	"cistern/services/store/tsdb"
)

// meaningsBody is what is answered and taken.
type meaningsBody struct {
	Metrics []tsdb.Meaning `json:"metrics"`
}

// getMeanings answers with all of them, by name.
func (s *server) getMeanings(w http.ResponseWriter, _ *http.Request) {
	all := slices.SortedFunc(maps.Values(s.store.Meanings()), func(a, b tsdb.Meaning) int { return cmp.Compare(a.Name, b.Name) })
	if all == nil {
		all = []tsdb.Meaning{}
	}
	writeJSON(w, meaningsBody{all})
}

// putMeanings says something of the metrics that are named; the others stay.
func (s *server) putMeanings(w http.ResponseWriter, r *http.Request) {
	var wanted meaningsBody
	decoder := json.NewDecoder(io.LimitReader(r.Body, 16<<20))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&wanted); err != nil {
		problem.Write(w, http.StatusBadRequest, "invalid", `The body is not {"metrics": [{"name", "unit", "description", "limit"}]}: `+err.Error()+".", "")
		return
	}
	err := s.store.SetMeanings(wanted.Metrics)
	var cannot *tsdb.MeaningError
	switch {
	case errors.As(err, &cannot):
		problem.Write(w, http.StatusUnprocessableEntity, "invalid", cannot.Detail+".", "Nothing was changed.")
	case err != nil:
		problem.Write(w, http.StatusServiceUnavailable, "service_unavailable", "It could not be saved: "+err.Error()+".", "Nothing was changed. Look whether the pool is full or suspended.")
	default:
		s.getMeanings(w, r)
	}
}
