// Package influx takes InfluxDB's line protocol, over HTTP as InfluxDB 1 and 2 do, and over sockets. Writers for InfluxDB,
// Telegraf among them, need nothing but the appliance's address.
package influx

// The routes: reading a request, storing what it holds, answering in InfluxDB's form.

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"cistern/services/ingest/admission"
	"cistern/services/journal"
	"cistern/services/store/tsdb"
)

const (
	// maxBody bounds what a body unpacks to.
	maxBody = 32 << 20
	// maxKeys bounds the bytes of all series' keys: each field, of some bytes, has all tags of its line in its own.
	maxKeys = 128 << 20
	// version is what clients are told: they look at it to see what the server understands.
	version = "1.8.10"
)

// Handler takes lines over HTTP.
type Handler struct {
	// Durability is what is promised when a request was answered.
	Durability journal.Durability

	store tsdb.Ingester
	gate  *admission.Gate
	now   func() time.Time
}

// New makes the handler of a store. What is answered is on disk, unless Durability is set otherwise.
func New(store tsdb.Ingester, gate *admission.Gate) *Handler {
	return &Handler{Durability: journal.Fsync, store: store, gate: gate, now: time.Now}
}

// Register adds the routes to a mux.
func (h *Handler) Register(mux *http.ServeMux) {
	mux.HandleFunc("POST /write", h.write)
	mux.HandleFunc("POST /api/v2/write", h.write)
	mux.HandleFunc("GET /ping", ping)
	mux.HandleFunc("GET /query", query)
	mux.HandleFunc("POST /query", query)
}

// units are the precisions of InfluxDB 1 and 2, in nanoseconds.
var units = map[string]time.Duration{
	"": 1, "n": 1, "ns": 1, "u": time.Microsecond, "us": time.Microsecond, "µ": time.Microsecond, "µs": time.Microsecond,
	"ms": time.Millisecond, "s": time.Second, "m": time.Minute, "h": time.Hour,
}

func (h *Handler) write(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("X-Influxdb-Version", version)
	asked := r.URL.Query()
	unit, known := units[asked.Get("precision")]
	if !known {
		h.store.Reject("malformed_body", 1)
		refuse(w, r, http.StatusBadRequest, 0, fmt.Sprintf("the precision %.20q is not known: use ns, us, ms, s, m or h", asked.Get("precision")))
		return
	}
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
		h.unavailable(w, r, err)
		return
	}
	defer slot.Leave()
	db := asked.Get("db")
	if db == "" {
		db = asked.Get("bucket")
	}
	points := &points{}
	p := parser{now: h.now().UnixMilli(), unit: int64(unit), db: db}
	for number := 1; len(content) > 0; {
		before := content
		var wrong *fault
		points.line = number
		if content, wrong = p.line(content, points); wrong != nil {
			points.refuse(wrong.reason, wrong.detail)
			points.unread++
		}
		number += newlines(before, content)
		if len(points.samples) > admission.MaxParts || points.keys > maxKeys {
			h.store.Reject("malformed_body", 1)
			refuse(w, r, http.StatusRequestEntityTooLarge, 0, "the request holds too much: "+admission.ErrTooMany.Error()+"; send it in smaller parts")
			return
		}
	}
	slot.LeaveWith(points.keys + 100*len(points.samples))
	rejected, err := h.store.Ingest(r.Context(), "influx", points.samples, h.Durability)
	if err != nil {
		h.unavailable(w, r, err)
		return
	}
	for reason, n := range points.counts {
		h.store.Reject(reason, n)
	}
	h.answer(w, r, points, rejected)
}

// newlines is how many lines are between a text and what is left of it.
func newlines(before, rest []byte) int {
	n := 0
	for _, c := range before[:len(before)-len(rest)] {
		if c == '\n' {
			n++
		}
	}
	return n
}

// points are what a request becomes.
type points struct {
	line    int // that is being read
	samples []tsdb.Sample
	places  []int // the lines of the samples
	keys    int
	buffer  []byte
	counts  map[tsdb.Reason]int
	unread  int // lines that cannot be read
	first   struct {
		line   int // 0: nothing was wrong
		detail string
	}
}

func (p *points) count(reason tsdb.Reason) {
	if p.counts == nil {
		p.counts = map[tsdb.Reason]int{}
	}
	p.counts[reason]++
}

func (p *points) refuse(reason tsdb.Reason, detail string) {
	p.count(reason)
	p.note(p.line, detail)
}

func (p *points) note(line int, detail string) {
	if p.first.line == 0 || line < p.first.line {
		p.first.line, p.first.detail = line, detail
	}
}

func (p *points) text() { p.count(Text) }

func (p *points) add(labels []tsdb.Label, sample tsdb.Sample) {
	if p.keys > maxKeys { // the request is refused
		return
	}
	if cap(p.buffer)-len(p.buffer) < 1<<10 {
		p.buffer = make([]byte, 0, 64<<10)
	}
	start := len(p.buffer)
	var err error
	if p.buffer, err = tsdb.AppendKey(p.buffer, labels); err != nil {
		var bad *tsdb.KeyError
		if !errors.As(err, &bad) {
			bad = &tsdb.KeyError{Reason: tsdb.BadLabel, Detail: err.Error()}
		}
		p.refuse(bad.Reason, bad.Detail)
		return
	}
	sample.Key = p.buffer[start:len(p.buffer):len(p.buffer)]
	p.keys += len(sample.Key)
	p.samples, p.places = append(p.samples, sample), append(p.places, p.line)
}

// answer answers a writer whose samples were taken, but for rejected ones and lines that cannot be read. 4xx makes it drop
// the batch, which is right when the rest was stored and the same would be refused again; what can be taken later is
// answered with 503, so that it comes again: that changes nothing of what was stored already.
func (h *Handler) answer(w http.ResponseWriter, r *http.Request, p *points, rejected []tsdb.Rejection) {
	later := false
	for _, one := range rejected {
		later = later || one.Reason.Later()
		p.note(p.places[one.Index], one.Detail)
	}
	if p.first.line == 0 {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	text := fmt.Sprintf("partial write: line %d: %s", p.first.line, p.first.detail)
	if p.unread > 1 {
		text += fmt.Sprintf("; %d lines cannot be read", p.unread)
	}
	text += fmt.Sprintf(" dropped=%d", len(rejected)+p.unread)
	switch {
	case later:
		w.Header().Set("Retry-After", "5")
		refuse(w, r, http.StatusServiceUnavailable, p.first.line, text)
	case p.unread == 0 && strings.HasPrefix(r.URL.Path, "/api/v2/"):
		refuse(w, r, http.StatusUnprocessableEntity, p.first.line, text)
	default:
		refuse(w, r, http.StatusBadRequest, p.first.line, text)
	}
}

func (h *Handler) unavailable(w http.ResponseWriter, r *http.Request, err error) {
	w.Header().Set("Retry-After", "5")
	refuse(w, r, http.StatusServiceUnavailable, 0, "the lines cannot be stored now: "+err.Error())
}

// codes are InfluxDB 2's words for statuses.
var codes = map[int]string{
	http.StatusBadRequest: "invalid", http.StatusUnprocessableEntity: "unprocessable entity",
	http.StatusRequestEntityTooLarge: "request too large", http.StatusServiceUnavailable: "unavailable",
}

// refuse answers in the form of the version that was asked: {"error"} of 1, {"code", "message", "line"} of 2.
func refuse(w http.ResponseWriter, r *http.Request, status, line int, text string) {
	var answer any = map[string]string{"error": text}
	if strings.HasPrefix(r.URL.Path, "/api/v2/") {
		of2 := map[string]any{"code": codes[status], "message": text}
		if line > 0 {
			of2["line"] = line
		}
		answer = of2
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Influxdb-Error", strings.ToValidUTF8(strings.Map(printable, text), "?"))
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(answer)
}

// printable keeps a header one line.
func printable(r rune) rune {
	if r < ' ' || r > '~' {
		return '?'
	}
	return r
}

// ping says that writes are taken here.
func ping(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("X-Influxdb-Version", version)
	w.Header().Set("X-Influxdb-Build", "Cistern")
	w.WriteHeader(http.StatusNoContent)
}

// query answers what writers of InfluxDB 1 ask before they write: databases need not be made. Questions about samples are
// asked in PromQL.
func query(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("X-Influxdb-Version", version)
	text := strings.ToUpper(strings.Join(strings.Fields(r.FormValue("q")), " "))
	switch {
	case strings.HasPrefix(text, "CREATE DATABASE"), strings.HasPrefix(text, "CREATE RETENTION POLICY"):
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintln(w, `{"results":[{"statement_id":0}]}`)
	case strings.HasPrefix(text, "SHOW DATABASES"):
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintln(w, `{"results":[{"statement_id":0,"series":[{"name":"databases","columns":["name"],"values":[["cistern"]]}]}]}`)
	default:
		refuse(w, r, http.StatusBadRequest, 0, "InfluxQL is not answered here: ask in PromQL at /api/v1/query")
	}
}
