package remotewrite

// The two routes that take samples.

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"time"
	"unsafe"

	"cistern/services/daemon/problem"
	"cistern/services/histogram"
	"cistern/services/journal"
	"cistern/services/store/tsdb"

	"github.com/klauspost/compress/s2"
)

// What one request may hold. A remote writer sends some thousand samples, a few hundred kilobytes.
const (
	maxCompressed = 32 << 20
	maxMessage    = 128 << 20
	maxImport     = 32 << 20
	// maxParts bounds the samples and the like of a request: an empty one is two bytes long, which snappy makes a tenth of
	// one, and takes a hundred in memory. A native histogram or an exemplar counts as heavyPart of them.
	maxParts  = 1 << 20
	heavyPart = 8
	maxListed = 1000 // rejections named one by one in an answer
)

// Durability is what both routes promise when they have answered, unless the handler is told otherwise.
const Durability = journal.Fsync

// Handler takes samples over HTTP.
type Handler struct {
	// What is promised when remote write and import have answered.
	Write, Import journal.Durability

	store    tsdb.Ingester
	bodies   bodies
	decoders decoders
	// holding bounds how many requests are held in memory at once, large how many bodies of more than smallBody are read or
	// held.
	holding, large chan struct{}
	lanes          lanes
}

// New makes the handler of a store.
func New(store tsdb.Ingester) *Handler {
	return &Handler{Write: Durability, Import: Durability, store: store, bodies: make(bodies, min(4, runtime.GOMAXPROCS(0))), decoders: newDecoders(), holding: make(chan struct{}, 16), large: make(chan struct{}, 16), lanes: newLanes()}
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

// bodies are the memory of requests' bodies, at rest.
type bodies chan []byte

func (b bodies) take() []byte {
	select {
	case one := <-b:
		return one[:0]
	default:
		return nil
	}
}

func (b bodies) give(one []byte) {
	if cap(one) <= 4<<20 { // one huge body must not be paid for, for ever
		select {
		case b <- one:
		default:
		}
	}
}

// Register adds the routes to a mux.
func (h *Handler) Register(mux *http.ServeMux) {
	mux.HandleFunc("POST /api/v1/write", h.remoteWrite)
	mux.HandleFunc("POST /api/v1/import", h.importJSON)
}

// unavailable answers that nothing was accepted; clients keep such a batch and come again.
func unavailable(w http.ResponseWriter, err error) {
	w.Header().Set("Retry-After", "5")
	problem.Write(w, http.StatusServiceUnavailable, "service_unavailable",
		"The samples cannot be stored now: "+err.Error()+".", "Send them again later. If it goes on, look whether the pool is full or suspended.")
}

// smallBody is what a body may have without a place among the large ones. Senders' usual requests are smaller.
const smallBody = 1 << 20

// largeBody reads a body, and waits for a place before it goes beyond smallBody: however many clients send large ones at a
// time, and however slowly, they are held up by their like alone, and take a bounded amount of memory.
type largeBody struct {
	io.Reader
	places chan struct{}
	left   <-chan struct{} // closed when the client has gone
	read   int
	placed bool
}

func (b *largeBody) Read(into []byte) (int, error) {
	if b.read >= smallBody && !b.placed {
		select {
		case b.places <- struct{}{}:
			b.placed = true
		case <-b.left:
			return 0, errors.New("the client left")
		}
	}
	n, err := b.Reader.Read(into[:min(len(into), smallBody)])
	b.read += n
	return n, err
}

// receive reads a request's body, and then waits for a place among those that are held: a slow client takes none from the
// others. done gives back what is held; ok is false when the request was answered.
func (h *Handler) receive(w http.ResponseWriter, r *http.Request) (body []byte, done func(), ok bool) {
	reader := largeBody{Reader: http.MaxBytesReader(w, r.Body, maxCompressed), places: h.large, left: r.Context().Done()}
	body, err := readAll(&reader, r.ContentLength, h.bodies.take())
	giveBack := func() {
		h.bodies.give(body)
		if reader.placed {
			<-h.large
		}
	}
	if err != nil {
		giveBack()
		h.bodyProblem(w, err)
		return nil, nil, false
	}
	select {
	case h.holding <- struct{}{}:
		return body, func() { <-h.holding; giveBack() }, true
	case <-r.Context().Done():
		giveBack()
		unavailable(w, errors.New("the client left"))
		return nil, nil, false
	}
}

func (h *Handler) remoteWrite(w http.ResponseWriter, r *http.Request) {
	content := r.Header.Get("Content-Type")
	message := messageOf(content)
	if message == "" {
		h.unsupported(w, fmt.Sprintf("The content type %.100q is not understood.", content),
			"Send application/x-protobuf with proto="+message1+" or proto="+message2+".")
		return
	}
	if encoding := r.Header.Get("Content-Encoding"); encoding != "" && encoding != "snappy" { // 1.0 did not look at the header
		h.unsupported(w, fmt.Sprintf("The encoding %.100q is not understood.", encoding), "Send snappy.")
		return
	}
	body, done, ok := h.receive(w, r)
	if !ok {
		return
	}
	defer done()
	d := h.decoders.take()
	defer h.decoders.give(d)
	place, ok := h.unpack(w, r, body, d)
	if !ok {
		return
	}
	defer place.leave()
	if message == message2 {
		h.remoteWrite2(w, r, d, place)
		return
	}
	if err := d.remoteWrite(d.message); err != nil {
		h.malformed(w, err)
		return
	}
	place.leaveWith(d.holds())
	h.store.Describe(d.metadata)
	rejected, err := h.store.Ingest(r.Context(), "remote_write", d.samples, h.Write)
	if err != nil {
		unavailable(w, err)
		return
	}
	h.store.Exemplify(d.exemplars)
	h.answerWrite(w, d, rejected)
}

// answerWrite answers a remote writer whose samples were taken, but for rejected ones.
func (h *Handler) answerWrite(w http.ResponseWriter, d *decoder, rejected []tsdb.Rejection) {
	for _, one := range d.rejected {
		h.store.Reject(one.Reason, 1)
	}
	all := len(d.samples) + len(d.rejected)
	if rejected = append(rejected, d.rejected...); len(rejected) == 0 {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	answerRejected(w, rejected, d.samples, all)
}

// later says whether what was refused for this reason would be taken some time later.
func later(reason tsdb.Reason) bool { return reason == tsdb.MemoryLimit || reason == tsdb.SeriesRate }

// answerRejected tells a remote writer what was refused. 400 makes it drop the batch: right when the rest was stored and
// the same would be refused again. What can be taken later is answered with 503, so that it comes again: that changes
// nothing of what was stored already. A rejection's Index is a place in samples, or -1.
func answerRejected(w http.ResponseWriter, rejected []tsdb.Rejection, samples []tsdb.Sample, all int) {
	counts, fields := map[tsdb.Reason]int{}, []problem.Field{}
	for _, one := range rejected {
		if counts[one.Reason]++; counts[one.Reason] == 1 { // the first offender of each reason
			detail := one.Detail
			if one.Index >= 0 {
				detail = seriesOf(samples[one.Index].Key) + detail
			}
			fields = append(fields, problem.Field{Path: string(one.Reason), Message: detail})
		}
	}
	title := fmt.Sprintf("%d samples were refused (%s), the other %d were stored.", len(rejected), summary(counts), all-len(rejected))
	for reason := range counts {
		if later(reason) {
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
	const most = 200
	if len(key) > maxKey {
		return ""
	}
	labels, err := tsdb.ParseKey(borrow(key))
	if err != nil || len(labels) == 0 {
		return ""
	}
	for i := range labels { // each at most what is shown of all
		labels[i].Value = labels[i].Value[:min(len(labels[i].Value), most)]
	}
	text := tsdb.FormatLabels(labels[:min(len(labels), 64)])
	if len(text) > most {
		text = text[:most] + "…"
	}
	return strings.ToValidUTF8(text, "\ufffd") + ": "
}

// unpack unpacks a snappy-compressed body into d.message, or answers what is wrong with it. It is to be decoded in the place
// that it has taken.
func (h *Handler) unpack(w http.ResponseWriter, r *http.Request, body []byte, d *decoder) (place *place, ok bool) {
	if cap(d.message) > 16<<20 { // one huge body must not be paid for, for ever
		d.message = nil
	}
	size, err := s2.DecodedLen(body)
	if err == nil && size > maxMessage {
		h.store.Reject("malformed_body", 1)
		problem.Write(w, http.StatusRequestEntityTooLarge, "body_too_large",
			fmt.Sprintf("The message is %d bytes long when unpacked; %d is the limit.", size, maxMessage), "Send it in smaller parts.")
		return nil, false
	}
	if err == nil {
		if place = h.lanes.enter(r, size); place == nil {
			unavailable(w, errors.New("the client left"))
			return nil, false
		}
		if size > cap(d.message) {
			d.message = make([]byte, size+size/8) // the next is about as long, and should fit
		}
		d.message, err = s2.Decode(d.message[:cap(d.message)], body)
	}
	if err != nil {
		place.leave()
		h.malformed(w, fmt.Errorf("the body is not snappy: %w", err))
		return nil, false
	}
	return place, true
}

// readAll is io.ReadAll into memory that is there, with the announced length in mind; it may be -1, or a lie, so that what is
// beyond a megabyte is believed when it comes.
func readAll(body io.Reader, length int64, into []byte) ([]byte, error) {
	if length = min(length, 1<<20); length > 0 && int64(cap(into)) <= length {
		into = make([]byte, 0, length+length/8+1) // the next is about as long, and should fit
	}
	for {
		if len(into) == cap(into) {
			into = append(into, 0)[:len(into)]
		}
		n, err := body.Read(into[len(into):cap(into)])
		into = into[:len(into)+n]
		if err == io.EOF {
			return into, nil
		}
		if err != nil {
			return into, err
		}
	}
}

func summary(counts map[tsdb.Reason]int) string {
	var parts []string
	for reason, n := range counts {
		parts = append(parts, fmt.Sprintf("%s: %d", reason, n))
	}
	return strings.Join(parts, ", ")
}

// malformed answers a body that cannot be read at all.
func (h *Handler) malformed(w http.ResponseWriter, err error) {
	h.store.Reject("malformed_body", 1)
	if errors.Is(err, errTooMany) {
		problem.Write(w, http.StatusRequestEntityTooLarge, "body_too_large", "The request holds too much: "+err.Error()+".", "Send it in smaller parts.")
		return
	}
	problem.Write(w, http.StatusBadRequest, "invalid_request", "The samples cannot be read: "+err.Error()+".", "")
}

// unsupported answers a body of a kind that is not taken.
func (h *Handler) unsupported(w http.ResponseWriter, detail, action string) {
	h.store.Reject("malformed_body", 1)
	problem.Write(w, http.StatusUnsupportedMediaType, "invalid_request", detail, action)
}

func (h *Handler) bodyProblem(w http.ResponseWriter, err error) {
	h.store.Reject("malformed_body", 1)
	var tooLarge *http.MaxBytesError
	if errors.As(err, &tooLarge) {
		problem.Write(w, http.StatusRequestEntityTooLarge, "body_too_large",
			fmt.Sprintf("The request's body is larger than %d bytes.", tooLarge.Limit), "Send it in smaller parts.")
		return
	}
	problem.Write(w, http.StatusBadRequest, "invalid_request", "The request's body could not be read: "+err.Error()+".", "")
}

// importSample is one sample of POST /api/v1/import.
type importSample struct {
	Name      string            `json:"name"`
	Labels    map[string]string `json:"labels"`
	Time      *float64          `json:"time"` // seconds since 1970; now when it is missing
	Value     *float64          `json:"value"`
	Type      string            `json:"type"` // gauge, counter: of a series that is new
	Histogram json.RawMessage   `json:"histogram"`
}

func (h *Handler) importJSON(w http.ResponseWriter, r *http.Request) {
	packed, done, ok := h.receive(w, r)
	if !ok {
		return
	}
	defer done()
	content := packed
	switch encoding := r.Header.Get("Content-Encoding"); encoding {
	case "", "identity":
	case "gzip":
		unpacked, err := gzip.NewReader(bytes.NewReader(packed))
		if err == nil {
			unpacking := h.lanes.enter(r, len(packed)) // quickly done, whatever becomes of it
			if unpacking == nil {
				unavailable(w, errors.New("the client left"))
				return
			}
			content, err = readAll(http.MaxBytesReader(w, io.NopCloser(unpacked), maxImport), 0, h.bodies.take())
			defer func() { h.bodies.give(content) }()
			unpacking.leave()
		}
		if err != nil {
			h.bodyProblem(w, fmt.Errorf("unpacking gzip: %w", err))
			return
		}
	default:
		h.unsupported(w, fmt.Sprintf("The encoding %.100q is not understood.", encoding), "Send gzip, or none.")
		return
	}
	place := h.lanes.enter(r, len(content))
	if place == nil {
		unavailable(w, errors.New("the client left"))
		return
	}
	defer place.leave()
	if kind, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";"); kind == samplesType {
		h.importBinary(w, r, content, place)
		return
	}
	if bytes.Count(content, []byte{'{'}) > maxParts {
		h.malformed(w, errTooMany)
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(content))
	var body struct {
		Samples []importSample `json:"samples"`
	}
	if !problem.Decode(w, r, &body, maxImport) {
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
	place.leaveWith(16 * len(content)) // maps and texts, each of its own
	refused, err := h.store.Ingest(r.Context(), "import", batch, h.Import)
	if err != nil {
		unavailable(w, err)
		return
	}
	for _, one := range rejected {
		h.store.Reject(one.Reason, 1)
	}
	for _, one := range refused {
		one.Index = places[one.Index]
		rejected = append(rejected, one)
	}
	h.answerImport(w, len(body.Samples), rejected)
}

func (h *Handler) answerImport(w http.ResponseWriter, samples int, rejected []tsdb.Rejection) {
	if rejected == nil {
		rejected = []tsdb.Rejection{}
	}
	answer := struct {
		Accepted      int                `json:"accepted"`
		RejectedCount int                `json:"rejectedCount"`
		Rejected      []tsdb.Rejection   `json:"rejected"`
		Durability    journal.Durability `json:"durability"`
	}{samples - len(rejected), len(rejected), rejected, h.Import}
	if len(answer.Rejected) > maxListed {
		answer.Rejected = answer.Rejected[:maxListed]
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(answer)
}

// sample checks and converts; its error is a *tsdb.KeyError.
func (s *importSample) sample(now int64) (tsdb.Sample, error) {
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
