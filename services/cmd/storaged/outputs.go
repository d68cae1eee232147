package main

// GET and PUT /admin/outputs, POST /admin/outputs/test and /admin/outputs/check: where samples are sent on, which akd defines; and
// the outputs' figures.

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"time"

	"cistern/services/daemon/problem"
	"cistern/services/outputs"
	"cistern/services/outputs/remotewrite"
	"cistern/services/store/tsdb"
)

// maxOutputs is the size of a list with all that outputs may have.
const maxOutputsBody = 4 << 20

// outputRoutes adds the routes: for akd, which says who may, by the Unix socket or from this machine.
func (s *server) outputRoutes(mux *routeTable) {
	mux.HandleFunc("GET /admin/outputs", here(s.getOutputs))
	mux.HandleFunc("PUT /admin/outputs", here(s.putOutputs))
	mux.HandleFunc("POST /admin/outputs/check", here(s.checkOutput))
	mux.HandleFunc("POST /admin/outputs/test", here(s.testOutput))
}

func (s *server) getOutputs(w http.ResponseWriter, _ *http.Request) {
	revision, status := s.outputs.Status()
	writeJSON(w, map[string]any{"revision": revision, "outputs": s.outputs.Definitions(), "status": status})
}

func (s *server) putOutputs(w http.ResponseWriter, r *http.Request) {
	var list outputs.List
	if !decodeOutput(w, r, &list) {
		return
	}
	if err := s.outputs.Set(list); err != nil {
		problem.Write(w, http.StatusServiceUnavailable, "service_unavailable", "The outputs could not be set: "+err.Error()+".",
			"What ran before goes on. Look whether the pool is full or suspended.")
		return
	}
	s.getOutputs(w, r)
}

// decodeOutput reads a body, or answers what is wrong with it.
func decodeOutput(w http.ResponseWriter, r *http.Request, into any) bool {
	decoder := json.NewDecoder(io.LimitReader(r.Body, maxOutputsBody))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		problem.Write(w, http.StatusBadRequest, "invalid", "The body cannot be read: "+err.Error()+".", "docs/api/store.md has the form.")
		return false
	}
	return true
}

// checkOutput says what of a definition cannot be.
func (s *server) checkOutput(w http.ResponseWriter, r *http.Request) {
	var d outputs.Definition
	if !decodeOutput(w, r, &d) {
		return
	}
	if err := s.outputs.Validate(d); err != nil {
		refuseOutput(w, err)
		return
	}
	writeJSON(w, map[string]any{"valid": true})
}

func refuseOutput(w http.ResponseWriter, err error) {
	var wrong *outputs.Wrong
	if errors.As(err, &wrong) {
		problem.Write(w, http.StatusUnprocessableEntity, "invalid", "The output cannot be so: "+wrong.Path+" "+wrong.Message+".", "Nothing was changed.",
			problem.Field{Path: wrong.Path, Message: wrong.Message})
		return
	}
	problem.Write(w, http.StatusUnprocessableEntity, "invalid", "The output cannot be so: "+err.Error()+".", "Nothing was changed.")
}

// testTime is how long a receiver may take to answer a test.
const testTime = 20 * time.Second

// testOutput tries a receiver; what it answers is said in either case.
func (s *server) testOutput(w http.ResponseWriter, r *http.Request) {
	var d outputs.Definition
	if !decodeOutput(w, r, &d) {
		return
	}
	ctx, stop := context.WithTimeout(r.Context(), testTime)
	defer stop()
	said, err := s.outputs.Check(ctx, d)
	var wrong *outputs.Wrong
	switch {
	case errors.As(err, &wrong):
		refuseOutput(w, err)
	case err != nil:
		writeJSON(w, map[string]any{"ok": false, "text": err.Error()})
	default:
		writeJSON(w, map[string]any{"ok": true, "text": said})
	}
}

// ownPort says whether an input listens on a port.
func (s *server) ownPort(port int) bool {
	var addresses []string
	on := s.listening.Load()
	if on.statsd != nil {
		addresses = append(addresses, on.statsd.Addr())
	}
	if on.graphite != nil {
		addresses = append(addresses, on.graphite.Addr(), on.graphite.PickleAddr())
	}
	if on.influx != nil {
		addresses = append(addresses, on.influx.Addr())
	}
	return slices.ContainsFunc(addresses, func(address string) bool {
		_, text, err := net.SplitHostPort(address)
		return err == nil && text == strconv.Itoa(port)
	})
}

// notOwn refuses what this store sent itself: it would be taken for new samples, and sent again, for ever.
func (s *server) notOwn(handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.outputs != nil && r.Header.Get(remotewrite.OriginHeader) == s.outputs.Origin() {
			problem.Write(w, http.StatusUnprocessableEntity, "invalid", "An output of this appliance sends to the appliance itself.",
				"Give the output the address of another receiver.")
			return
		}
		handler.ServeHTTP(w, r)
	})
}

// ofOutputs is a figure with one value for each output.
func ofOutputs(name string, kind tsdb.Kind, help string, read func(o *outputs.Status) float64) figure {
	return figure{"output_" + name, kind, help, func(r *reading, emit func(float64, ...tsdb.Label)) {
		for i := range r.outputs {
			if o := &r.outputs[i]; o.State != outputs.Off {
				emit(read(o), tsdb.Label{Name: "kind", Value: o.Kind}, tsdb.Label{Name: "output", Value: o.Name})
			}
		}
	}}
}

// outputFigures are those of the outputs. Their names begin with cistern_output_.
var outputFigures = []figure{
	ofOutputs("sent_total", tsdb.Counter, "Samples that receivers acknowledged.", func(o *outputs.Status) float64 { return float64(o.Sent) }),
	ofOutputs("refused_total", tsdb.Counter, "Samples that receivers refused for good.", func(o *outputs.Status) float64 { return float64(o.Refused) }),
	ofOutputs("left_out_total", tsdb.Counter, "Samples that the kind of output has no form for.", func(o *outputs.Status) float64 { return float64(o.LeftOut) }),
	ofOutputs("skipped_total", tsdb.Counter, "Samples that were not sent because too much waited.", func(o *outputs.Status) float64 { return float64(o.Skipped) }),
	ofOutputs("retries_total", tsdb.Counter, "Deliveries that failed and were tried again.", func(o *outputs.Status) float64 { return float64(o.Retries) }),
	ofOutputs("lag_bytes", tsdb.Gauge, "Bytes of the journal that wait for an output.", func(o *outputs.Status) float64 { return float64(o.LagBytes) }),
	ofOutputs("lag_seconds", tsdb.Gauge, "How long ago the oldest of what waits was accepted.", func(o *outputs.Status) float64 { return o.LagSeconds }),
	ofOutputs("up", tsdb.Gauge, "1 while an output delivers, 0 while it fails.", func(o *outputs.Status) float64 {
		return one(o.State == outputs.Delivering || o.State == outputs.CatchingUp)
	}),
}
