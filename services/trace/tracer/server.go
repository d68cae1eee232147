package tracer

// tracerd's HTTP: see docs/api/tracerd.md.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"

	"cistern/services/daemon/problem"
	"cistern/services/daemon/unixsocket"
	"cistern/services/trace/statistics"
)

// StatisticView is a statistic as the API shows it.
type StatisticView struct {
	Name        string          `json:"name"`
	Title       string          `json:"title"`
	Unit        string          `json:"unit"`
	Kind        statistics.Kind `json:"kind"`
	Group       string          `json:"group"`
	Explanation struct {
		Check string   `json:"check"`
		Read  string   `json:"read"`
		Next  []string `json:"next"`
	} `json:"explanation"`
	Source     statistics.Source `json:"source"`
	Cost       string            `json:"cost"`
	AlwaysOn   bool              `json:"alwaysOn"`
	Available  bool              `json:"available"`
	Reason     *string           `json:"reason"`
	Breakdowns []BreakdownView   `json:"breakdowns"`
}

// BreakdownView is a breakdown as the API shows it.
type BreakdownView struct {
	Name       string   `json:"name"`
	Title      string   `json:"title"`
	Kind       string   `json:"kind"` // value, distribution, filter: only narrows
	Unit       string   `json:"unit"`
	Filterable bool     `json:"filterable"`
	Always     bool     `json:"always"` // is recorded from the start
	Values     []string `json:"values"`
}

// Statistics is the catalogue, with what can be measured here.
func (t *Tracer) Statistics() []StatisticView {
	list := []StatisticView{}
	for _, s := range statistics.All() {
		v := StatisticView{
			Name: s.Name, Title: s.Title, Unit: s.Unit, Kind: s.Kind, Group: s.Group(), Source: s.Source, Cost: s.Cost, AlwaysOn: s.AlwaysOn(),
			Breakdowns: []BreakdownView{},
		}
		v.Explanation.Check, v.Explanation.Read, v.Explanation.Next = s.Check, s.Read, s.Next
		if reason := t.unavailable(s); reason != "" {
			v.Reason = &reason
		}
		v.Available = v.Reason == nil
		for _, b := range s.Breakdowns {
			one := BreakdownView{Name: b.Name, Title: b.Title, Kind: "value", Unit: s.Unit, Filterable: b.Filterable(), Always: slices.Contains(s.Always, b.Name), Values: []string{}}
			switch {
			case b.Distribution:
				one.Kind, one.Unit = "distribution", b.Unit
			case b.FilterOnly:
				one.Kind = "filter"
			}
			if b.Type == statistics.Choice {
				one.Values = b.Values
			}
			v.Breakdowns = append(v.Breakdowns, one)
		}
		list = append(list, v)
	}
	return list
}

// maxBody is enough for the longest name with every byte escaped.
const maxBody = 64 << 10

// Handler serves the users in uids.
func (t *Tracer) Handler(uids []int) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/statistics", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, map[string]any{"items": t.Statistics()}, nil)
	})
	mux.HandleFunc("GET /v1/datasets", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, map[string]any{"items": t.List()}, nil)
	})
	mux.HandleFunc("GET /v1/dataset", func(w http.ResponseWriter, r *http.Request) {
		v, err := t.Get(r.URL.Query().Get("name"))
		answer(w, v, err)
	})
	mux.HandleFunc("DELETE /v1/dataset", func(w http.ResponseWriter, r *http.Request) {
		if err := t.Destroy(r.URL.Query().Get("name")); err != nil {
			answer(w, nil, err)
			return
		}
		w.WriteHeader(http.StatusNoContent)
	})
	for route, change := range map[string]func(string) (View, error){"watch": t.Watch, "suspend": t.Suspend, "resume": t.Resume} {
		mux.HandleFunc("POST /v1/dataset/"+route, func(w http.ResponseWriter, r *http.Request) {
			var body struct {
				Name string `json:"name"`
			}
			if problem.Decode(w, r, &body, maxBody) {
				v, err := change(body.Name)
				answer(w, v, err)
			}
		})
	}
	mux.HandleFunc("POST /v1/dataset/record", func(w http.ResponseWriter, r *http.Request) {
		var body struct {
			Name      string `json:"name"`
			Recording *bool  `json:"recording"`
		}
		if !problem.Decode(w, r, &body, maxBody) {
			return
		}
		if body.Recording == nil {
			problem.Write(w, http.StatusBadRequest, "invalid_request", "It is not said whether to record.", "Send recording: true or false.", problem.Field{Path: "recording", Message: "is missing"})
			return
		}
		v, err := t.Record(body.Name, *body.Recording)
		answer(w, v, err)
	})
	mux.HandleFunc("GET /v1/stacks", func(w http.ResponseWriter, r *http.Request) {
		seconds, err := 60, error(nil)
		if text := r.URL.Query().Get("seconds"); text != "" {
			seconds, err = strconv.Atoi(text)
		}
		if err != nil || seconds < 1 || seconds > stackMemory {
			problem.Write(w, http.StatusBadRequest, "invalid_request", fmt.Sprintf("Stacks are there for the last 1 to %d seconds.", stackMemory), "", problem.Field{Path: "seconds", Message: "is out of range"})
			return
		}
		v, err := t.Stacks(r.URL.Query().Get("name"), seconds)
		answer(w, v, err)
	})
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		_, _ = w.Write([]byte("ok\n"))
	})
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		problem.Write(w, http.StatusNotFound, "not_found", r.Method+" "+r.URL.Path+" is not known here.", "")
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if uid, err := unixsocket.RequestPeerUID(r); err != nil || !slices.Contains(uids, uid) {
			problem.Write(w, http.StatusForbidden, "forbidden", fmt.Sprintf("The user with the id %d may not ask tracerd.", uid), "")
			return
		}
		mux.ServeHTTP(w, r)
	})
}

func answer(w http.ResponseWriter, v any, err error) {
	if err != nil {
		var document problem.Document
		if !errors.As(err, &document) {
			document = problem.New(http.StatusInternalServerError, "command_failed", err.Error(), "")
		}
		document.Send(w)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	_ = json.NewEncoder(w).Encode(v)
}

// Listen takes the web server's log from the socket at path until ctx ends.
func (t *Tracer) Listen(ctx context.Context, path string) error {
	c, err := listenLog(path)
	if err != nil {
		return err
	}
	go t.web.listen(ctx, c)
	return nil
}
