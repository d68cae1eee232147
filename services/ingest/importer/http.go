// Package importer takes samples in Cistern's own forms, JSON and binary, at POST /api/v1/import.
package importer

// The route, and samples as JSON. The binary form is in binary.go.

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"strings"
	"time"

	"cistern/services/daemon/problem"
	"cistern/services/histogram"
	"cistern/services/ingest/admission"
	"cistern/services/journal"
	"cistern/services/store/tsdb"
)

const (
	maxBody   = 32 << 20 // unpacked
	maxListed = 1000     // rejections named one by one in an answer
)

// Handler takes samples over HTTP.
type Handler struct {
	// Durability is what is promised when a request was answered.
	Durability journal.Durability

	store tsdb.Ingester
	gate  *admission.Gate
}

// New makes the handler of a store. What is answered is on disk, unless Durability is set otherwise.
func New(store tsdb.Ingester, gate *admission.Gate) *Handler {
	return &Handler{Durability: journal.Fsync, store: store, gate: gate}
}

// Register adds the route to a mux.
func (h *Handler) Register(mux *http.ServeMux) { mux.HandleFunc("POST /api/v1/import", h.take) }

// jsonSample is one sample of a JSON body.
type jsonSample struct {
	Name      string            `json:"name"`
	Labels    map[string]string `json:"labels"`
	Time      *float64          `json:"time"` // seconds since 1970; now when it is missing
	Value     *float64          `json:"value"`
	Type      string            `json:"type"` // gauge, counter: of a series that is new
	Histogram json.RawMessage   `json:"histogram"`
}

func (h *Handler) take(w http.ResponseWriter, r *http.Request) {
	content, done, ok := h.gate.Receive(w, r)
	if !ok {
		return
	}
	defer done()
	switch encoding := r.Header.Get("Content-Encoding"); encoding {
	case "", "identity":
	case "gzip":
		unpacked, done, ok := h.gate.Gunzip(w, r, content, maxBody)
		if !ok {
			return
		}
		defer done()
		content = unpacked
	default:
		h.gate.Unsupported(w, fmt.Sprintf("The encoding %.100q is not understood.", encoding), "Send gzip, or none.")
		return
	}
	slot, err := h.gate.Decode(r.Context(), len(content))
	if err != nil {
		admission.Unavailable(w, "samples", err)
		return
	}
	defer slot.Leave()
	if kind, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";"); kind == samplesType {
		h.takeBinary(w, r, content, slot)
		return
	}
	h.takeJSON(w, r, content, slot)
}

func (h *Handler) takeJSON(w http.ResponseWriter, r *http.Request, content []byte, slot *admission.Slot) {
	if bytes.Count(content, []byte{'{'}) > admission.MaxParts {
		h.gate.Malformed(w, admission.ErrTooMany)
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(content))
	var body struct {
		Samples []jsonSample `json:"samples"`
	}
	if !problem.Decode(w, r, &body, maxBody) {
		h.store.Reject("malformed_body", 1)
		return
	}
	if body.Samples == nil {
		h.store.Reject("malformed_body", 1)
		problem.Write(w, http.StatusBadRequest, "invalid_request", "The request holds no samples.", `Send {"samples": […]}.`,
			problem.Field{Path: "samples", Message: "is missing"})
		return
	}
	now := time.Now().UnixMilli()
	var batch []tsdb.Sample
	var places []int // of the batch's samples in the request
	rejected := []tsdb.Rejection{}
	for i := range body.Samples {
		sample, err := body.Samples[i].sample(now)
		var bad *tsdb.KeyError
		if errors.As(err, &bad) {
			rejected = append(rejected, tsdb.Rejection{Index: i, Reason: bad.Reason, Detail: bad.Detail})
			continue
		}
		batch, places = append(batch, sample), append(places, i)
	}
	slot.LeaveWith(16 * len(content)) // maps and texts, each of its own
	refused, err := h.store.Ingest(r.Context(), "import", batch, h.Durability)
	if err != nil {
		admission.Unavailable(w, "samples", err)
		return
	}
	for _, one := range rejected {
		h.store.Reject(one.Reason, 1)
	}
	for _, one := range refused {
		one.Index = places[one.Index]
		rejected = append(rejected, one)
	}
	h.answer(w, len(body.Samples), rejected)
}

func (h *Handler) answer(w http.ResponseWriter, samples int, rejected []tsdb.Rejection) {
	if rejected == nil {
		rejected = []tsdb.Rejection{}
	}
	answer := struct {
		Accepted      int                `json:"accepted"`
		RejectedCount int                `json:"rejectedCount"`
		Rejected      []tsdb.Rejection   `json:"rejected"`
		Durability    journal.Durability `json:"durability"`
	}{samples - len(rejected), len(rejected), rejected, h.Durability}
	if len(answer.Rejected) > maxListed {
		answer.Rejected = answer.Rejected[:maxListed]
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(answer)
}

// sample checks and converts; its error is a *tsdb.KeyError.
func (s *jsonSample) sample(now int64) (tsdb.Sample, error) {
	bad := func(reason tsdb.Reason, detail string) (tsdb.Sample, error) {
		return tsdb.Sample{}, &tsdb.KeyError{Reason: reason, Detail: detail}
	}
	labels := make([]tsdb.Label, 0, len(s.Labels)+1)
	labels = append(labels, tsdb.Label{Name: tsdb.NameLabel, Value: s.Name})
	for name, value := range s.Labels {
		if name == tsdb.NameLabel {
			return bad(tsdb.BadLabel, "the name belongs in name, not in a label")
		}
		labels = append(labels, tsdb.Label{Name: name, Value: value})
	}
	key, err := tsdb.AppendKey(nil, labels)
	if err != nil {
		return tsdb.Sample{}, err
	}
	sample := tsdb.Sample{Key: key, Kind: tsdb.Gauge, Time: now}
	if s.Time != nil {
		if !(math.Abs(*s.Time) < 1e12) {
			return bad(tsdb.BadValue, "the time is no number of seconds since 1970")
		}
		sample.Time = int64(math.Round(*s.Time * 1000))
	}
	switch {
	case (s.Value == nil) == (s.Histogram == nil):
		return bad(tsdb.BadValue, "a sample has either a value or a histogram")
	case s.Histogram != nil:
		sample.Kind, sample.Histogram = tsdb.Histogram, &histogram.Histogram{}
		if err := json.Unmarshal(s.Histogram, sample.Histogram); err != nil {
			return bad(tsdb.BadValue, err.Error())
		}
	default:
		sample.Value = *s.Value
		switch s.Type {
		case "":
			sample.Kind = tsdb.Guess
		case "counter":
			sample.Kind = tsdb.Counter
		case "gauge":
		default:
			return bad(tsdb.BadValue, "the type must be gauge or counter")
		}
	}
	return sample, nil
}
