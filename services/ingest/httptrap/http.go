// Package httptrap takes measurements as any JSON: numbers, texts that hold numbers, and lists of values or bins, which
// become whole histograms; nested objects make dotted names. It is the form of Circonus' HTTPTrap.
package httptrap

// The routes: reading a request, storing what it holds, answering. What becomes what is in metrics.go.

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"cistern/services/daemon/problem"
	"cistern/services/ingest/admission"
	"cistern/services/ingest/seriesstate"
	"cistern/services/journal"
	"cistern/services/store/tsdb"
)

const (
	// maxBody bounds a body, and also what it unpacks to.
	maxBody = 8 << 20
	// maxNodes bounds its values, each some ten times larger in memory than the shortest is as text.
	maxNodes = 512 << 10
	maxDepth = 32
	// maxKeys bounds the bytes of all series' keys: each value, of some bytes, has the tags of the objects around it in its own.
	maxKeys = 64 << 20
	// maxListed is how many rejections an answer names one by one.
	maxListed = 100
	// maxDecoding is how many requests are unpacked and held in memory at once.
	maxDecoding = 4
)

// Durability is what is promised when a request was answered, unless the handler is configured otherwise.
const Durability = journal.Fsync

// Handler takes JSON over HTTP. It remembers cumulative histograms: see cumulative.go.
type Handler struct {
	// Durability is what is promised when a request was answered.
	Durability journal.Durability

	store    tsdb.Ingester
	decoding admission.Slots
	latest   *seriesstate.Table[remembered] // cumulative histograms
	now      func() time.Time
}

// New makes the handler of a store.
func New(store tsdb.Ingester) *Handler {
	return &Handler{Durability: Durability, store: store, decoding: admission.NewSlots(maxDecoding), latest: seriesstate.New[remembered](maxRemembered), now: time.Now}
}

// Register adds the routes to a mux.
func (h *Handler) Register(mux *http.ServeMux) {
	for _, method := range []string{"POST", "PUT"} {
		mux.HandleFunc(method+" /api/v1/trap", h.trap)
		mux.HandleFunc(method+" /api/v1/trap/{check}", h.trap)
	}
}

// Rejection is one value that was not stored.
type Rejection struct {
	Path   string      `json:"path"` // within the body, as names are made: a.b, a.b[3] in a list
	Reason tsdb.Reason `json:"reason"`
	Detail string      `json:"detail"`
}

func (h *Handler) trap(w http.ResponseWriter, r *http.Request) {
	var body bytes.Buffer
	if _, err := body.ReadFrom(http.MaxBytesReader(w, r.Body, maxBody)); err != nil {
		h.refuse(w, err)
		return
	}
	// A slow client takes no place among those that are decoded: its body is there already.
	if err := h.decoding.Enter(r.Context()); err != nil {
		admission.Unavailable(w, "values", err)
		return
	}
	defer h.decoding.Leave()
	root, err := decode(body.Bytes(), r.Header.Get("Content-Encoding"))
	if err != nil {
		h.refuse(w, err)
		return
	}
	t := &translation{now: h.now().UnixMilli(), check: r.PathValue("check"), forced: tsdb.ForcedLabels(r.Context())}
	t.object("", nil, root)
	if t.keys > maxKeys {
		h.refuse(w, tooMuch("The names and tags of all values are more than %d bytes.", maxKeys))
		return
	}
	commit := func([]tsdb.Rejection) {}
	if len(t.growing) > 0 {
		// One request after the other: a difference must be to what was stored before it.
		release, err := h.latest.Enter(r.Context())
		if err != nil {
			admission.Unavailable(w, "values", err)
			return
		}
		defer release()
		commit = apply(h.latest, t, h.now())
	}
	refused, err := h.store.Ingest(r.Context(), "trap", t.samples, h.Durability)
	if err != nil {
		admission.Unavailable(w, "values", err)
		return
	}
	commit(refused)
	count := len(refused)
	for reason, n := range t.counts {
		h.store.Reject(reason, n)
		count += n
	}
	for _, one := range refused[:min(len(refused), maxListed)] {
		t.rejected = append(t.rejected, Rejection{t.paths[one.Index], one.Reason, one.Detail})
	}
	answer := struct {
		Stats         int                `json:"stats"`
		RejectedCount int                `json:"rejectedCount"`
		Rejected      []Rejection        `json:"rejected"`
		Durability    journal.Durability `json:"durability"`
	}{len(t.samples) - len(refused), count, t.rejected, h.Durability}
	if answer.Rejected == nil {
		answer.Rejected = []Rejection{}
	}
	answer.Rejected = answer.Rejected[:min(len(answer.Rejected), maxListed)]
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(answer)
}

// refuse answers a body that cannot be read. Nothing of it was stored.
func (h *Handler) refuse(w http.ResponseWriter, err error) {
	h.store.Reject("malformed_body", 1)
	var (
		document problem.Document
		tooLarge *http.MaxBytesError
	)
	switch {
	case errors.As(err, &tooLarge):
		document = tooMuch("The request's body is larger than %d bytes.", maxBody)
	case !errors.As(err, &document):
		document = malformed("The request's body could not be read: %v.", err)
	}
	document.Send(w)
}

func malformed(format string, args ...any) problem.Document {
	return problem.New(http.StatusBadRequest, "malformed_json", fmt.Sprintf(format, args...), "")
}

func tooMuch(format string, args ...any) problem.Document {
	return problem.New(http.StatusRequestEntityTooLarge, "body_too_large", fmt.Sprintf(format, args...), "Send it in smaller parts.")
}

type kind uint8

const (
	null kind = iota
	boolean
	number
	text
	list
	object
)

// node is a JSON value. Objects keep the order of their members, and those of the same name.
type node struct {
	kind  kind
	text  string // of numbers and texts
	items []node // of lists and objects
	names []string
}

// member is the last member of that name; ok is false when there is none.
func (n *node) member(name string) (value *node, ok bool) {
	for i := len(n.names) - 1; i >= 0; i-- {
		if n.names[i] == name {
			return &n.items[i], true
		}
	}
	return nil, false
}

// decode reads a whole body: one object. Its errors are problem documents where the content is to blame.
func decode(body []byte, encoding string) (*node, error) {
	switch encoding {
	case "", "identity":
	case "gzip":
		unpacked, err := gzip.NewReader(bytes.NewReader(body))
		if err != nil {
			return nil, err
		}
		var message bytes.Buffer
		if _, err := message.ReadFrom(io.LimitReader(unpacked, maxBody+1)); err != nil {
			return nil, err
		}
		if body = message.Bytes(); len(body) > maxBody {
			return nil, tooMuch("The request's body is larger than %d bytes when unpacked.", maxBody)
		}
	default:
		return nil, problem.New(http.StatusUnsupportedMediaType, "unsupported_media_type",
			fmt.Sprintf("The encoding %.80q is not understood.", encoding), "Send gzip, or none.")
	}
	d := decoder{json: json.NewDecoder(bytes.NewReader(body)), left: maxNodes}
	d.json.UseNumber()
	root, err := d.value(maxDepth)
	if err == nil {
		if _, more := d.json.Token(); more != io.EOF {
			err = malformed("There is something after the JSON value of the request's body.")
		}
	}
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return nil, malformed("The request's body ends in the middle of its JSON.")
	case err != nil:
		return nil, err
	case root.kind != object:
		return nil, problem.New(http.StatusBadRequest, "invalid_request", "The request's body is JSON, but no object.", `Send {"name": value, …}.`)
	}
	return &root, nil
}

type decoder struct {
	json *json.Decoder
	left int
}

func (d *decoder) value(depth int) (node, error) {
	token, err := d.json.Token()
	if err != nil {
		return node{}, err
	}
	if d.left--; d.left < 0 {
		return node{}, tooMuch("The request's body holds more than %d values.", maxNodes)
	}
	switch token := token.(type) {
	case json.Delim:
		if depth == 0 {
			return node{}, malformed("The request's body is nested deeper than %d.", maxDepth)
		}
		return d.nested(token, depth-1)
	case json.Number:
		return node{kind: number, text: string(token)}, nil
	case string:
		return node{kind: text, text: token}, nil
	case bool:
		return node{kind: boolean}, nil
	}
	return node{kind: null}, nil
}

// nested reads a list or an object after its opening bracket.
func (d *decoder) nested(open json.Delim, depth int) (node, error) {
	n := node{kind: list}
	if open == '{' {
		n.kind = object
	}
	for d.json.More() {
		if n.kind == object {
			name, err := d.json.Token()
			if err != nil {
				return n, err
			}
			key, _ := name.(string) // the decoder lets nothing else through
			n.names = append(n.names, key)
		}
		item, err := d.value(depth)
		if err != nil {
			return n, err
		}
		n.items = append(n.items, item)
	}
	_, err := d.json.Token()
	return n, err
}
