// Package otlp takes OpenTelemetry's metrics over HTTP, as protobuf and as JSON, and over gRPC. Names and attributes keep
// their dots unless Options say otherwise. Histograms stay whole, as native histograms; differences become running totals.
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

// Handler takes metrics over HTTP and gRPC. It keeps the running totals of differences: see totals.go.
type Handler struct {
	store    tsdb.Ingester
	rules    rules
	decoding admission.Slots
	totals   *totals
	now      func() time.Time
}

// New makes the handler of a store.
func New(store tsdb.Ingester, o Options) *Handler {
	return &Handler{
		store: store, rules: rules{promote: o.Promote, names: newNaming(o.Translation)},
		decoding: admission.NewSlots(maxDecoding), totals: newTotals(store, o.TotalsBytes, time.Now()), now: time.Now,
	}
}

// Register adds the routes to a mux: OpenTelemetry's own, and the one that Prometheus has.
func (h *Handler) Register(mux *http.ServeMux) {
	mux.HandleFunc("POST /v1/metrics", h.export)
	mux.HandleFunc("POST /api/v1/otlp/v1/metrics", h.export)
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
	took, err := h.take(w, r, content)
	if err == nil {
		answer(w, content, took)
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
func (h *Handler) take(w http.ResponseWriter, r *http.Request, content string) (outcome, error) {
	if content != typeProtobuf && content != typeJSON {
		return outcome{}, &failure{http.StatusUnsupportedMediaType, unimplemented, fmt.Sprintf("%.80q is not understood: send %s or %s", content, typeProtobuf, typeJSON)}
	}
	var body bytes.Buffer
	if _, err := body.ReadFrom(http.MaxBytesReader(w, r.Body, maxCompressed)); err != nil {
		var tooLarge *http.MaxBytesError
		if errors.As(err, &tooLarge) {
			return outcome{}, tooMuch("the body is larger than %d bytes", maxCompressed)
		}
		return outcome{}, unreadable(err)
	}
	return h.message(r.Context(), body.Bytes(), content, r.Header.Get("Content-Encoding"))
}

// message stores what one message holds, which is there already: a slow client takes no place among those that are decoded.
func (h *Handler) message(ctx context.Context, body []byte, content, encoding string) (outcome, error) {
	if err := h.decoding.Enter(ctx); err != nil {
		return outcome{}, err
	}
	defer h.decoding.Leave()
	data, err := decode(body, content, encoding)
	if err != nil {
		return outcome{}, err
	}
	return h.keep(ctx, data)
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

// outcome is what became of a message that was taken.
type outcome struct {
	rejected []rejection // data points, each at least once
	warnings []rejection // what was left out beside them
}

// keep stores what a request holds.
func (h *Handler) keep(ctx context.Context, data *metrics.MetricsData) (outcome, error) {
	t := h.rules.translate(data, h.now().UnixMilli(), tsdb.ForcedLabels(ctx))
	if t.keys > maxKeys {
		return outcome{}, tooMuch("the labels of all data points are more than %d bytes", maxKeys)
	}
	commit := func([]tsdb.Rejection) {}
	if len(t.deltas) > 0 {
		// One request after the other: a total must not be stored before the one it goes on from.
		release, err := h.totals.table.Enter(ctx)
		if err != nil {
			return outcome{}, err
		}
		defer release()
		if commit, err = h.totals.apply(ctx, t, h.now()); err != nil {
			return outcome{}, err
		}
	}
	refused, err := h.store.Ingest(ctx, "otlp", t.samples, Durability)
	if err != nil {
		return outcome{}, err
	}
	commit(refused)
	for _, one := range slices.Concat(t.rejected, t.warnings) {
		h.store.Reject(one.reason, 1)
	}
	var later []tsdb.Rejection
	for _, one := range refused {
		detail := t.names[one.Index] + ": " + one.Detail
		switch point := t.points[one.Index]; {
		case one.Reason.Later():
			later = append(later, tsdb.Rejection{Index: one.Index, Reason: one.Reason, Detail: detail})
		case point != beside:
			t.rejected = append(t.rejected, rejection{point, one.Reason, detail})
		case t.names[one.Index] == targetName:
			t.warnings = append(t.warnings, rejection{point, one.Reason, detail})
		default: // The zero before a total was only wanted where there is room for it.
		}
	}
	h.store.Describe(t.metadata)
	h.store.Exemplify(ctx, t.exemplars)
	if len(later) > 0 {
		// Clients drop what a partial success refuses, and send all of it again when there is none. That changes nothing of
		// what was stored: a difference that was added to its total already is refused then.
		return outcome{}, fmt.Errorf("%d of %d samples are too many for now; the first: %s", len(later), len(t.samples), later[0].Detail)
	}
	return outcome{t.rejected, t.warnings}, nil
}

// first is what was refused of the first data point.
func first(rejected []rejection) rejection {
	return slices.MinFunc(rejected, func(a, b rejection) int { return a.point - b.point })
}

// partial is what partial_success says: how many data points were refused, and a text, which with none refused is a warning.
// There is none when all went well. Clients do not send again what was refused.
func (o outcome) partial() (rejected int64, text string) {
	points := map[int]struct{}{}
	for _, one := range o.rejected {
		points[one.point] = struct{}{}
	}
	if len(o.rejected) > 0 {
		text = fmt.Sprintf("%d data points were refused (%s), the others were stored; the first: %s", len(points), summary(o.rejected), first(o.rejected).detail)
	}
	if len(o.warnings) > 0 {
		if text != "" {
			text += ". "
		}
		text += fmt.Sprintf("Beside the data points something was left out (%s); the first: %s", summary(o.warnings), first(o.warnings).detail)
	}
	return int64(len(points)), strings.ToValidUTF8(text, "\ufffd")
}

// answer is 200, with partial_success when there is something to say.
func answer(w http.ResponseWriter, content string, took outcome) {
	w.Header().Set("Content-Type", content)
	if content == typeJSON {
		type partial struct {
			Rejected int64  `json:"rejectedDataPoints,string"`
			Message  string `json:"errorMessage"`
		}
		var body struct {
			Partial *partial `json:"partialSuccess,omitempty"`
		}
		if rejected, text := took.partial(); text != "" {
			body.Partial = &partial{rejected, text}
		}
		_ = json.NewEncoder(w).Encode(body)
		return
	}
	_, _ = w.Write(took.response())
}

// response is ExportMetricsServiceResponse { partial_success = 1 { int64 rejected_data_points = 1; string error_message = 2 } }.
func (o outcome) response() []byte {
	rejected, text := o.partial()
	if text == "" {
		return nil
	}
	partial := []byte{}
	if rejected > 0 {
		partial = protowire.AppendVarint(protowire.AppendTag(partial, 1, protowire.VarintType), uint64(rejected))
	}
	partial = protowire.AppendString(protowire.AppendTag(partial, 2, protowire.BytesType), text)
	return protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType), partial)
}

func summary(refused []rejection) string {
	counts := map[tsdb.Reason]int{}
	for _, one := range refused {
		counts[one.reason]++
	}
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
