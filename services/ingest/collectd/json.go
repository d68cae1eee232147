package collectd

// What collectd's write_http plugin sends with Format JSON, at POST /api/v1/collectd: a list of value lists. Series are
// named as those of the binary protocol are, but the names of a list's values come with it.

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

	"cistern/services/ingest/admission"
	"cistern/services/journal"
	"cistern/services/store/tsdb"
)

const (
	maxBody = 32 << 20
	// maxListed is how many rejections an answer names one by one.
	maxListed = 100
	// maxValues is how many values one list may have; collectd's own types have five at most.
	maxValues = 256
)

// Handler takes collectd's JSON over HTTP.
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

// Register adds the route to a mux.
func (h *Handler) Register(mux *http.ServeMux) { mux.HandleFunc("POST /api/v1/collectd", h.take) }

// valueList is one of a body's; what else it has (interval, meta) is passed over.
type valueList struct {
	Values         []*float64 `json:"values"` // null: collectd does not know
	Types          []string   `json:"dstypes"`
	Names          []string   `json:"dsnames"`
	Time           float64    `json:"time"` // seconds; now when it is missing
	Host           string     `json:"host"`
	Plugin         string     `json:"plugin"`
	PluginInstance string     `json:"plugin_instance"`
	Type           string     `json:"type"`
	TypeInstance   string     `json:"type_instance"`
}

// Rejection is one value, or a whole list, that was not stored.
type Rejection struct {
	Index  int         `json:"index"` // of the list in the body
	Reason tsdb.Reason `json:"reason"`
	Detail string      `json:"detail"`
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
	if bytes.HasPrefix(bytes.TrimSpace(content), []byte("PUTVAL")) {
		h.gate.Unsupported(w, "The body is collectd's command format.", `Set Format "JSON" in the <Node> of write_http.`)
		return
	}
	// Each list and each value takes some hundred bytes in memory.
	if bytes.Count(content, []byte{'{'})+bytes.Count(content, []byte{','}) > 8*admission.MaxParts {
		h.gate.Malformed(w, admission.ErrTooMany)
		return
	}
	slot, err := h.gate.Decode(r.Context(), len(content))
	if err != nil {
		admission.Unavailable(w, "values", err)
		return
	}
	defer slot.Leave()
	t := translation{now: h.now().UnixMilli(), counts: map[tsdb.Reason]int{}}
	if err := t.decode(content); err != nil {
		h.gate.Malformed(w, err)
		return
	}
	slot.LeaveWith(16 * len(content))
	refused, err := h.store.Ingest(r.Context(), "collectd_http", t.samples, h.Durability)
	if err != nil {
		admission.Unavailable(w, "values", err)
		return
	}
	count := len(refused)
	for reason, n := range t.counts {
		h.store.Reject(reason, n)
		count += n
	}
	for _, one := range refused[:min(len(refused), maxListed)] {
		t.rejected = append(t.rejected, Rejection{t.places[one.Index], one.Reason, one.Detail})
	}
	answer := struct {
		Accepted      int                `json:"accepted"`
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

// translation is what a body becomes. samples and places are of the same length.
type translation struct {
	now      int64
	samples  []tsdb.Sample
	places   []int
	rejected []Rejection         // the first ones
	counts   map[tsdb.Reason]int // of all
}

func (t *translation) reject(index int, reason tsdb.Reason, n int, format string, args ...any) {
	t.counts[reason] += n
	if len(t.rejected) < maxListed {
		t.rejected = append(t.rejected, Rejection{index, reason, fmt.Sprintf(format, args...)})
	}
}

// decode reads a whole body; one list, without the brackets, is a body too.
func (t *translation) decode(content []byte) error {
	content = bytes.TrimSpace(content)
	if len(content) == 0 {
		return errors.New("the body is empty")
	}
	d, many := json.NewDecoder(bytes.NewReader(content)), content[0] == '['
	if many {
		if _, err := d.Token(); err != nil {
			return err
		}
	}
	for index := 0; d.More() && (many || index == 0); index++ {
		if len(t.samples) > admission.MaxParts {
			return admission.ErrTooMany
		}
		var one valueList
		if err := d.Decode(&one); err != nil {
			return fmt.Errorf("list %d: %w", index, err)
		}
		t.list(index, &one)
	}
	if many {
		if _, err := d.Token(); err != nil {
			return err
		}
	}
	if _, err := d.Token(); err != io.EOF {
		return errors.New("there is something behind the lists")
	}
	return nil
}

func (t *translation) list(index int, l *valueList) {
	n := len(l.Values)
	switch {
	case n == 0:
		t.reject(index, BadPacket, 1, "it has no values: notifications are not stored")
		return
	case n > maxValues:
		t.reject(index, BadPacket, n, "%d values are too many", n)
		return
	case len(l.Types) != n || n > 1 && len(l.Names) != n:
		t.reject(index, BadPacket, n, "values, dstypes and dsnames are not of the same length")
		return
	case l.Host == "" || l.Plugin == "" || l.Type == "":
		t.reject(index, Incomplete, n, "host, plugin and type must be there")
		return
	case !(l.Time >= 0 && l.Time <= maxSeconds):
		t.reject(index, BadTime, n, "the time %g is not in seconds since 1970", l.Time)
		return
	}
	at := t.now
	if l.Time > 0 {
		at = int64(math.Round(l.Time * 1000))
	}
	for i, value := range l.Values {
		if value == nil {
			t.reject(index, NoValue, 1, "value %d is null", i)
			continue
		}
		sample := tsdb.Sample{Time: at, Value: *value, Kind: tsdb.Gauge}
		switch strings.ToLower(l.Types[i]) {
		case "counter", "derive":
			sample.Kind = tsdb.Counter
		case "gauge", "absolute":
		default:
			t.reject(index, BadPacket, 1, "the type %.40q is none of counter, derive, gauge and absolute", l.Types[i])
			continue
		}
		name := "collectd." + l.Plugin + "." + l.Type
		if n > 1 {
			name += "." + l.Names[i]
		}
		var err error
		sample.Key, err = tsdb.AppendKey(nil, []tsdb.Label{{Name: tsdb.NameLabel, Value: name}, {Name: "host", Value: l.Host},
			{Name: "plugin_instance", Value: l.PluginInstance}, {Name: "type_instance", Value: l.TypeInstance}})
		if err != nil {
			reason := BadPacket
			if bad, ok := err.(*tsdb.KeyError); ok {
				reason = bad.Reason
			}
			t.reject(index, reason, 1, "%v", err)
			continue
		}
		t.samples, t.places = append(t.samples, sample), append(t.places, index)
	}
}
