// Package otlp takes OpenTelemetry's metrics over HTTP, as protobuf and as JSON. Names and attributes keep their dots:
// nothing is renamed, and no suffix is added for units or counters. Histograms stay whole, as native histograms.
package otlp

// The route: reading a request, storing what it holds, answering. What becomes what is in points.go.

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"slices"
	"strings"
	"time"

	"cistern/services/ingest/admission"
	"cistern/services/ingest/seriesstate"
	"cistern/services/journal"
	"cistern/services/store/tsdb"

	metrics "go.opentelemetry.io/proto/otlp/metrics/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// What one request may hold. A collector sends some thousand data points, a few megabytes.
const (
	maxCompressed = 16 << 20
	maxMessage    = 32 << 20
	// maxParts bounds the messages within a request, down to single attributes: an empty one is two bytes long and takes
	// a hundred in memory.
	maxParts = 1 << 20
	maxDepth = 32
	// maxKeys bounds the bytes of all series' keys: each data point, of some bytes, has the resource's labels in its own.
	maxKeys = 64 << 20
	// maxDecoding is how many requests are unpacked and held in memory at once.
	maxDecoding = 4
)

// Durability is what is promised when a request was answered.
const Durability = journal.Fsync

const (
	typeProtobuf = "application/x-protobuf"
	typeJSON     = "application/json"
)

// The codes of google.rpc.Status that are answered with.
const (
	invalidArgument   = 3
	resourceExhausted = 8
	unimplemented     = 12
	unavailable       = 14
)

// Handler takes metrics over HTTP. It keeps the running totals of delta sums: see totals.go.
type Handler struct {
	store    tsdb.Ingester
	decoding admission.Slots
	totals   *seriesstate.Table[running] // of delta sums
	now      func() time.Time
}

// New makes the handler of a store.
func New(store tsdb.Ingester) *Handler {
	return &Handler{store: store, decoding: admission.NewSlots(maxDecoding), totals: seriesstate.New[running](maxTotals), now: time.Now}
}

// Register adds the route to a mux.
func (h *Handler) Register(mux *http.ServeMux) {
	mux.HandleFunc("POST /v1/metrics", h.export)
}

// failure is an answer other than 200.
type failure struct {
	status, code int
	message      string
}

func (f *failure) Error() string { return f.message }

func unreadable(err error) error {
	return &failure{http.StatusBadRequest, invalidArgument, "the metrics cannot be read: " + err.Error()}
}

func (h *Handler) export(w http.ResponseWriter, r *http.Request) {
	content, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	rejected, err := h.take(w, r, content)
	if err == nil {
		answer(w, content, rejected)
		return
	}
	var f *failure
	if !errors.As(err, &f) {
		w.Header().Set("Retry-After", "5")
		f = &failure{http.StatusServiceUnavailable, unavailable, "the metrics cannot be stored now: " + err.Error()}
	} else {
		h.store.Reject("malformed_body", 1)
	}
	fail(w, content, f)
}

// take stores a request. An error that is no *failure is the store's.
func (h *Handler) take(w http.ResponseWriter, r *http.Request, content string) ([]rejection, error) {
	if content != typeProtobuf && content != typeJSON {
		return nil, &failure{http.StatusUnsupportedMediaType, unimplemented, fmt.Sprintf("%.80q is not understood: send %s or %s", content, typeProtobuf, typeJSON)}
	}
	var body bytes.Buffer
	if _, err := body.ReadFrom(http.MaxBytesReader(w, r.Body, maxCompressed)); err != nil {
		var tooLarge *http.MaxBytesError
		if errors.As(err, &tooLarge) {
			return nil, tooMuch("the body is larger than %d bytes", maxCompressed)
		}
		return nil, unreadable(err)
	}
	// A slow client takes no place among those that are decoded: its body is there already.
	if err := h.decoding.Enter(r.Context()); err != nil {
		return nil, err
	}
	defer h.decoding.Leave()
	data, err := decode(body.Bytes(), content, r.Header.Get("Content-Encoding"))
	if err != nil {
		return nil, err
	}
	return h.keep(r.Context(), data)
}

func tooMuch(format string, args ...any) error {
	return &failure{http.StatusRequestEntityTooLarge, resourceExhausted, fmt.Sprintf(format, args...) + "; send it in smaller parts"}
}

// decode unpacks and parses a body.
func decode(body []byte, content, encoding string) (*metrics.MetricsData, error) {
	switch encoding {
	case "", "identity":
	case "gzip":
		unpacked, err := gzip.NewReader(bytes.NewReader(body))
		if err != nil {
			return nil, unreadable(err)
		}
		var message bytes.Buffer
		if _, err := message.ReadFrom(io.LimitReader(unpacked, maxMessage+1)); err != nil {
			return nil, unreadable(err)
		}
		body = message.Bytes()
	default:
		return nil, &failure{http.StatusUnsupportedMediaType, unimplemented, fmt.Sprintf("the encoding %.80q is not understood: send gzip, or none", encoding)}
	}
	if len(body) > maxMessage {
		return nil, tooMuch("the message is larger than %d bytes when unpacked", maxMessage)
	}
	// MetricsData is ExportMetricsServiceRequest on the wire, without a package that needs gRPC.
	data := &metrics.MetricsData{}
	if content == typeJSON {
		if bytes.Count(body, []byte{'{'}) > maxParts {
			return nil, tooMuch("the message has more than %d parts", maxParts)
		}
		if err := (protojson.UnmarshalOptions{DiscardUnknown: true, RecursionLimit: 2 * maxDepth}).Unmarshal(body, data); err != nil {
			return nil, unreadable(err)
		}
		hexIdentifiers(data)
		return data, nil
	}
	parts := maxParts
	if err := countParts(data.ProtoReflect().Descriptor(), body, &parts, maxDepth); err != nil {
		return nil, err
	}
	if err := (proto.UnmarshalOptions{DiscardUnknown: true, RecursionLimit: maxDepth}).Unmarshal(body, data); err != nil {
		return nil, unreadable(err)
	}
	return data, nil
}

var errProtobuf = errors.New("the body is not protobuf")

// countParts takes the number of messages within one from left.
func countParts(of protoreflect.MessageDescriptor, message []byte, left *int, depth int) error {
	if depth == 0 {
		return unreadable(fmt.Errorf("values are nested deeper than %d", maxDepth))
	}
	for len(message) > 0 {
		number, kind, n := protowire.ConsumeTag(message)
		if n < 0 {
			return unreadable(errProtobuf)
		}
		message = message[n:]
		if n = protowire.ConsumeFieldValue(number, kind, message); n < 0 {
			return unreadable(errProtobuf)
		}
		field := of.Fields().ByNumber(number)
		if kind == protowire.BytesType && field != nil && field.Message() != nil {
			if *left--; *left < 0 {
				return tooMuch("the message has more than %d parts", maxParts)
			}
			inner, _ := protowire.ConsumeBytes(message)
			if err := countParts(field.Message(), inner, left, depth-1); err != nil {
				return err
			}
		}
		message = message[n:]
	}
	return nil
}

// rejection is a data point that was refused.
type rejection struct {
	point  int
	reason tsdb.Reason
	detail string
}

// keep stores what a request holds.
func (h *Handler) keep(ctx context.Context, data *metrics.MetricsData) ([]rejection, error) {
	t := translate(data, h.now().UnixMilli())
	if t.keys > maxKeys {
		return nil, tooMuch("the labels of all data points are more than %d bytes", maxKeys)
	}
	commit := func() {}
	if len(t.deltas) > 0 {
		// One request after the other: a total must not be stored before the one it goes on from.
		release, err := h.totals.Enter(ctx)
		if err != nil {
			return nil, err
		}
		defer release()
		commit = apply(h.totals, t, h.now())
	}
	refused, err := h.store.Ingest(ctx, "otlp", t.samples, Durability)
	if err != nil {
		return nil, err
	}
	commit()
	for _, one := range t.rejected {
		h.store.Reject(one.reason, 1)
	}
	later := 0
	for _, one := range refused {
		if one.Reason == tsdb.MemoryLimit || one.Reason == tsdb.SeriesRate {
			later++
		}
		t.rejected = append(t.rejected, rejection{t.points[one.Index], one.Reason, t.names[one.Index] + ": " + one.Detail})
	}
	h.store.Describe(t.metadata)
	h.store.Exemplify(t.exemplars)
	if later > 0 {
		// Clients drop what a partial success refuses, and send all of it again when there is none. That changes nothing of
		// what was stored: a difference that was added to its total already is refused then.
		return nil, fmt.Errorf("%d of %d samples are too many for now; the first: %s", later, len(t.samples), first(t.rejected).detail)
	}
	return t.rejected, nil
}

// first is what was refused of the first data point.
func first(rejected []rejection) rejection {
	return slices.MinFunc(rejected, func(a, b rejection) int { return a.point - b.point })
}

// answer is 200, with partial_success when data points were refused. Clients do not send these again.
func answer(w http.ResponseWriter, content string, rejected []rejection) {
	points := map[int]struct{}{}
	counts := map[tsdb.Reason]int{}
	for _, one := range rejected {
		points[one.point] = struct{}{}
		counts[one.reason]++
	}
	text := ""
	if len(rejected) > 0 {
		text = fmt.Sprintf("%d data points were refused (%s), the others were stored; the first: %s", len(points), summary(counts), first(rejected).detail)
		text = strings.ToValidUTF8(text, "\ufffd")
	}
	w.Header().Set("Content-Type", content)
	if content == typeJSON {
		type partial struct {
			Rejected int64  `json:"rejectedDataPoints,string"`
			Message  string `json:"errorMessage"`
		}
		var body struct {
			Partial *partial `json:"partialSuccess,omitempty"`
		}
		if len(points) > 0 {
			body.Partial = &partial{int64(len(points)), text}
		}
		_ = json.NewEncoder(w).Encode(body)
		return
	}
	// ExportMetricsServiceResponse { partial_success = 1 { int64 rejected_data_points = 1; string error_message = 2 } }
	var body []byte
	if len(points) > 0 {
		partial := protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), uint64(len(points)))
		partial = protowire.AppendString(protowire.AppendTag(partial, 2, protowire.BytesType), text)
		body = protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType), partial)
	}
	_, _ = w.Write(body)
}

func summary(counts map[tsdb.Reason]int) string {
	var parts []string
	for reason, n := range counts {
		parts = append(parts, fmt.Sprintf("%s: %d", reason, n))
	}
	slices.Sort(parts)
	return strings.Join(parts, ", ")
}

// fail answers with a google.rpc.Status { int32 code = 1; string message = 2 }, in the request's own form.
func fail(w http.ResponseWriter, content string, f *failure) {
	message := strings.ToValidUTF8(f.message, "\ufffd")
	if content != typeProtobuf {
		w.Header().Set("Content-Type", typeJSON)
		w.WriteHeader(f.status)
		_ = json.NewEncoder(w).Encode(map[string]any{"code": f.code, "message": message})
		return
	}
	w.Header().Set("Content-Type", typeProtobuf)
	w.WriteHeader(f.status)
	body := protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), uint64(f.code))
	body = protowire.AppendString(protowire.AppendTag(body, 2, protowire.BytesType), message)
	_, _ = w.Write(body)
}
