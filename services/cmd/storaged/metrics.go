package main

// storaged's figures in Prometheus' text format: GET /metrics.

import (
	"bufio"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"

	"cistern/services/tsdb"
)

func (s *server) metrics(w http.ResponseWriter, _ *http.Request) {
	all := s.figures()
	slices.SortStableFunc(all, func(a, b figure) int { return strings.Compare(a.Name, b.Name) })
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	out := bufio.NewWriter(w)
	last := ""
	for _, f := range all {
		if f.Name != last {
			last = f.Name
			_, _ = out.WriteString("# HELP " + f.Name + " " + f.help + "\n# TYPE " + f.Name + " " + f.Kind.String() + "\n")
		}
		_, _ = out.WriteString(f.Name)
		for i, l := range f.Labels {
			separator := ","
			if i == 0 {
				separator = "{"
			}
			_, _ = out.WriteString(separator + l.Name + `="` + escapes.Replace(l.Value) + `"`)
		}
		if len(f.Labels) > 0 {
			_ = out.WriteByte('}')
		}
		_, _ = out.WriteString(" " + strconv.FormatFloat(f.Value, 'g', -1, 64) + "\n")
	}
	_ = out.Flush()
}

var escapes = strings.NewReplacer(`\`, `\\`, "\n", `\n`, `"`, `\"`)

// requests counts answers by route and status.
type requests struct {
	mu     sync.Mutex
	counts map[[2]string]uint64
}

func (r *requests) count(pattern string, status int) {
	if pattern == "" {
		pattern = "other"
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.counts == nil {
		r.counts = map[[2]string]uint64{}
	}
	r.counts[[2]string{pattern, strconv.Itoa(status)}]++
}

func (r *requests) figures(add func(kind tsdb.Kind, name, help string, value float64, labels ...tsdb.Label)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for key, n := range r.counts {
		add(tsdb.Counter, "http_requests_total", "HTTP requests that were answered, by route and status.", float64(n),
			tsdb.Label{Name: "route", Value: key[0]}, tsdb.Label{Name: "status", Value: key[1]})
	}
}

// answer remembers the status.
type answer struct {
	http.ResponseWriter
	status int
	wrote  bool
}

func (a *answer) WriteHeader(status int) {
	if !a.wrote && status >= 200 {
		a.status, a.wrote = status, true
	}
	a.ResponseWriter.WriteHeader(status)
}

func (a *answer) Write(b []byte) (int, error) {
	a.wrote = true
	return a.ResponseWriter.Write(b)
}

// Unwrap lets http.ResponseController flush and set deadlines.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// Flush is for those who ask for http.Flusher.
func (a *answer) Flush() { _ = http.NewResponseController(a.ResponseWriter).Flush() }

// whole is a figure that may not be known.
func whole[T int | int64 | uint64](n T) float64 { return math.Max(0, float64(n)) }
