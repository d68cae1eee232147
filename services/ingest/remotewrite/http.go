package remotewrite

// The route: reading a request, storing what it holds, answering.

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync"
	"unsafe"

	"cistern/services/daemon/problem"
	"cistern/services/ingest/admission"
	"cistern/services/journal"
	"cistern/services/store/tsdb"

	"github.com/klauspost/compress/s2"
)

// heavyPart is what a native histogram or an exemplar counts of admission.MaxParts.
const heavyPart = 8

// Durability is what is promised when a request was answered, unless the handler is configured otherwise.
const Durability = journal.Fsync

// Handler takes samples over HTTP.
type Handler struct {
	// Durability is what is promised when a request was answered.
	Durability journal.Durability

	store    tsdb.Ingester
	gate     *admission.Gate
	decoders decoders
	history  bool
}

// New makes the handler of a store.
func New(store tsdb.Ingester, gate *admission.Gate) *Handler {
	return &Handler{Durability: Durability, store: store, gate: gate, decoders: newDecoders()}
}

// NewHistory makes the handler of history: samples may be however far behind their series' latest one, and the answer counts
// what was stored and what was refused.
func NewHistory(store tsdb.Ingester, gate *admission.Gate) *Handler {
	h := New(store, gate)
	h.history = true
	return h
}

// decoders are those at rest. A few stay for good: a sync.Pool alone keeps one for each processor that ever gave one back,
// and forgets them all at the wrong moment, which is megabytes either way. Large ones it may forget.
type decoders struct {
	idle chan *decoder
	more sync.Pool
}

func newDecoders() decoders {
	return decoders{idle: make(chan *decoder, min(4, runtime.GOMAXPROCS(0))), more: sync.Pool{New: func() any { return &decoder{} }}}
}

func (d *decoders) take() *decoder {
	select {
	case one := <-d.idle:
		return one
	default:
		return d.more.Get().(*decoder)
	}
}

func (d *decoders) give(one *decoder) {
	if cap(one.message)+cap(one.samples)*int(unsafe.Sizeof(tsdb.Sample{})) <= 8<<20 {
		select {
		case d.idle <- one:
			return
		default:
		}
	}
	d.more.Put(one)
}

// Register adds the route to a mux.
func (h *Handler) Register(mux *http.ServeMux) {
	if h.history {
		mux.HandleFunc("POST /admin/write", h.remoteWrite)
		return
	}
	mux.HandleFunc("POST /api/v1/write", h.remoteWrite)
}

// ingest stores what was decoded.
func (h *Handler) ingest(ctx context.Context, d *decoder) ([]tsdb.Rejection, error) {
	input := "remote_write"
	if h.history {
		ctx, input = tsdb.WithHistory(ctx), "history"
	}
	return h.store.Ingest(ctx, input, d.samples, h.Durability)
}

func (h *Handler) remoteWrite(w http.ResponseWriter, r *http.Request) {
	content := r.Header.Get("Content-Type")
	message := messageOf(content)
	if message == "" {
		h.gate.Unsupported(w, fmt.Sprintf("The content type %.100q is not understood.", content),
			"Send application/x-protobuf with proto="+message1+" or proto="+message2+".")
		return
	}
	if encoding := r.Header.Get("Content-Encoding"); encoding != "" && encoding != "snappy" { // 1.0 did not look at the header
		h.gate.Unsupported(w, fmt.Sprintf("The encoding %.100q is not understood.", encoding), "Send snappy.")
		return
	}
	body, done, ok := h.gate.Receive(w, r)
	if !ok {
		return
	}
	defer done()
	d := h.decoders.take()
	defer h.decoders.give(d)
	slot, ok := h.unpack(w, r, body, d)
	if !ok {
		return
	}
	defer slot.Leave()
	if message == message2 {
		h.remoteWrite2(w, r, d, slot)
		return
	}
	if err := d.remoteWrite(d.message); err != nil {
		h.gate.Malformed(w, err)
		return
	}
	slot.LeaveWith(d.holds())
	h.store.Describe(d.metadata)
	rejected, err := h.ingest(r.Context(), d)
	if err != nil {
		admission.Unavailable(w, "samples", err)
		return
	}
	h.store.Exemplify(r.Context(), d.exemplars)
	h.answerWrite(w, d, rejected)
}

// answerWrite answers a remote writer whose samples were taken, but for rejected ones.
func (h *Handler) answerWrite(w http.ResponseWriter, d *decoder, rejected []tsdb.Rejection) {
	for _, one := range d.rejected {
		h.store.Reject(one.Reason, 1)
	}
	all := len(d.samples) + len(d.rejected)
	rejected = append(rejected, d.rejected...)
	if h.history && !slices.ContainsFunc(rejected, func(one tsdb.Rejection) bool { return one.Reason.Later() }) {
		answerHistory(w, rejected, d.samples, all)
		return
	}
	if len(rejected) == 0 {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	answerRejected(w, rejected, d.samples, all)
}

// refusedHistory is what was refused of a request for one reason.
type refusedHistory struct {
	Reason  tsdb.Reason `json:"reason"`
	Samples int         `json:"samples"`
	First   string      `json:"first"`
}

// answerHistory counts what was stored and what was refused, which is not to be sent again.
func answerHistory(w http.ResponseWriter, rejected []tsdb.Rejection, samples []tsdb.Sample, all int) {
	answer := struct {
		Stored  int              `json:"stored"`
		Refused []refusedHistory `json:"refused"`
	}{all - len(rejected), []refusedHistory{}}
	at := map[tsdb.Reason]int{}
	for _, one := range rejected {
		i, known := at[one.Reason]
		if !known {
			i = len(answer.Refused)
			at[one.Reason] = i
			answer.Refused = append(answer.Refused, refusedHistory{Reason: one.Reason, First: describeRejection(one, samples)})
		}
		answer.Refused[i].Samples++
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(answer)
}

// describeRejection is why a sample was refused, with its series where that is known.
func describeRejection(one tsdb.Rejection, samples []tsdb.Sample) string {
	if one.Index < 0 {
		return one.Detail
	}
	return seriesOf(samples[one.Index].Key) + one.Detail
}

// holds is what the decoded message takes in memory, nearly.
func (d *decoder) holds() int {
	return cap(d.message) + cap(d.scattered) + d.keys + len(d.samples)*int(unsafe.Sizeof(tsdb.Sample{})) + d.parts*100
}

// answerRejected tells a remote writer what was refused. 400 makes it drop the batch: right when the rest was stored and
// the same would be refused again. What can be taken later is answered with 503, so that it comes again: that changes
// nothing of what was stored already. A rejection's Index is a place in samples, or -1.
func answerRejected(w http.ResponseWriter, rejected []tsdb.Rejection, samples []tsdb.Sample, all int) {
	counts, fields := map[tsdb.Reason]int{}, []problem.Field{}
	for _, one := range rejected {
		if counts[one.Reason]++; counts[one.Reason] == 1 { // the first offender of each reason
			fields = append(fields, problem.Field{Path: string(one.Reason), Message: describeRejection(one, samples)})
		}
	}
	title := fmt.Sprintf("%d samples were refused (%s), the other %d were stored.", len(rejected), summary(counts), all-len(rejected))
	for reason := range counts {
		if reason.Later() {
			w.Header().Set("Retry-After", "5")
			problem.Write(w, http.StatusServiceUnavailable, "overloaded", title,
				"Send the batch again later. If it goes on, give storaged more memory, or find out which sender makes so many series.", fields...)
			return
		}
	}
	problem.Write(w, http.StatusBadRequest, "samples_rejected", title, "Do not send the batch again.", fields...)
}

// maxKey is more than the key of any series has that is taken; what is longer is not worth looking into.
const maxKey = tsdb.MaxLabels * (tsdb.MaxLabelName + tsdb.MaxLabelValue + 16)

// seriesOf is a series as PromQL writes it and ": ", for the beginning of a message about it; "" when that cannot be told.
func seriesOf(key []byte) string {
	const maxText = 200
	if len(key) > maxKey {
		return ""
	}
	labels, err := tsdb.ParseKey(borrow(key))
	if err != nil || len(labels) == 0 {
		return ""
	}
	for i := range labels { // each at most what is shown of all
		labels[i].Value = labels[i].Value[:min(len(labels[i].Value), maxText)]
	}
	text := tsdb.FormatLabels(labels[:min(len(labels), 64)])
	if len(text) > maxText {
		text = text[:maxText] + "…"
	}
	return strings.ToValidUTF8(text, "\ufffd") + ": "
}

// unpack unpacks a snappy-compressed body into d.message, or answers what is wrong with it. It is to be decoded in the
// slot that it has taken.
func (h *Handler) unpack(w http.ResponseWriter, r *http.Request, body []byte, d *decoder) (slot *admission.Slot, ok bool) {
	if cap(d.message) > 16<<20 { // one huge body must not be paid for, for ever
		d.message = nil
	}
	size, err := s2.DecodedLen(body)
	if err == nil && size > admission.MaxUnpacked {
		h.store.Reject("malformed_body", 1)
		problem.Write(w, http.StatusRequestEntityTooLarge, "body_too_large",
			fmt.Sprintf("The message is %d bytes long when unpacked; %d is the limit.", size, admission.MaxUnpacked), "Send it in smaller parts.")
		return nil, false
	}
	if err == nil {
		var left error
		if slot, left = h.gate.Decode(r.Context(), size); left != nil {
			admission.Unavailable(w, "samples", left)
			return nil, false
		}
		if size > cap(d.message) {
			d.message = make([]byte, size+size/8) // the next is about as long, and should fit
		}
		d.message, err = s2.Decode(d.message[:cap(d.message)], body)
	}
	if err != nil {
		slot.Leave()
		h.gate.Malformed(w, fmt.Errorf("the body is not snappy: %w", err))
		return nil, false
	}
	return slot, true
}

func summary(counts map[tsdb.Reason]int) string {
	var parts []string
	for reason, n := range counts {
		parts = append(parts, fmt.Sprintf("%s: %d", reason, n))
	}
	return strings.Join(parts, ", ")
}
