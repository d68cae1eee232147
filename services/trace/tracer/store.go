package tracer

// The way to storaged: a second's values become samples, samples wait here until they are stored. The body is the
// binary form of services/ingest/importer/binary.go.

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"cistern/services/histogram"
	"cistern/services/trace/statistics"
)

// What waits while storaged does not answer: a minute or two of a busy machine, some ten megabytes.
const (
	maxWaiting = 100_000
	maxAge     = 2 * time.Minute
	maxPost    = 20_000
)

// staleNaN is Prometheus' mark for a series that has ended.
var staleNaN = math.Float64frombits(0x7ff0000000000002)

type label struct{ name, value string }

const (
	kindGauge     = 1
	kindHistogram = 3
)

// seriesKey is a series' key as services/store/tsdb/key.go has it. Values are UTF-8 already.
func seriesKey(labels ...label) []byte {
	slices.SortFunc(labels, func(a, b label) int { return strings.Compare(a.name, b.name) })
	var key []byte
	for _, l := range labels {
		if l.value == "" {
			continue
		}
		var body []byte
		body = append(binary.AppendUvarint(append(body, 0x0a), uint64(len(l.name))), l.name...)
		body = append(binary.AppendUvarint(append(body, 0x12), uint64(len(l.value))), l.value...)
		key = append(binary.AppendUvarint(append(key, 0x0a), uint64(len(body))), body...)
	}
	return key
}

// sample is one on its way.
type sample struct {
	key     []byte
	time    int64 // ms since 1970
	value   float64
	bins    *histogram.Histogram // of a histogram
	dropped func(n int)          // called when it is not stored; may be nil
}

// encode makes a body of samples.
func encode(list []sample) []byte {
	body := []byte("CISTSMP2")
	index := map[string]int64{}
	var keys []*sample
	for i := range list {
		if _, known := index[string(list[i].key)]; !known {
			index[string(list[i].key)] = int64(len(keys))
			keys = append(keys, &list[i])
		}
	}
	body = binary.AppendUvarint(body, uint64(len(keys)))
	for _, s := range keys {
		kind := byte(kindGauge)
		if s.bins != nil {
			kind = kindHistogram
		}
		body = append(body, kind)
		body = binary.AppendUvarint(body, uint64(len(s.key)))
		body = append(body, s.key...)
	}
	body = binary.AppendUvarint(body, uint64(len(list)))
	series, at := int64(0), int64(0)
	for i := range list {
		s := &list[i]
		body = binary.AppendVarint(body, index[string(s.key)]-series)
		body = binary.AppendVarint(body, s.time-at)
		series, at = index[string(s.key)], s.time
		if s.bins != nil {
			body = s.bins.Append(body)
		} else {
			body = binary.LittleEndian.AppendUint64(body, math.Float64bits(s.value))
		}
	}
	return body
}

// sender posts what it is given. Samples that storaged does not take are dropped; those that it cannot take now wait.
type sender struct {
	client *http.Client
	log    *slog.Logger

	mu      sync.Mutex
	waiting []sample
	oldest  time.Time // when the first of them came
	wake    chan struct{}
	// several sources measure: what one brings waits a moment for the others of its second.
	several atomic.Bool
	reason  string // why nothing is stored; "" when all is well
	// failures in a row; while there are some, new samples wait for the next try.
	failures int
}

func newSender(socket string, log *slog.Logger) *sender {
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", socket)
	}
	return &sender{
		client: &http.Client{Transport: &http.Transport{DialContext: dial, MaxIdleConns: 2}, Timeout: 20 * time.Second},
		log:    log, wake: make(chan struct{}, 1),
	}
}

// put hands samples over; it never waits.
func (s *sender) put(list []sample) {
	if len(list) == 0 {
		return
	}
	s.mu.Lock()
	if len(s.waiting) == 0 {
		s.oldest = time.Now()
	}
	s.waiting = append(s.waiting, list...)
	if over := len(s.waiting) - maxWaiting; over > 0 {
		drop(s.waiting[:over])
		s.waiting = slices.Delete(s.waiting, 0, over)
	}
	failing := s.failures > 0
	s.mu.Unlock()
	if !failing {
		s.nudge()
	}
}

func drop(list []sample) {
	for i := range list {
		if list[i].dropped != nil {
			list[i].dropped(1)
		}
	}
}

// Reason says why samples are not stored at present; "" when they are.
func (s *sender) Reason() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.reason
}

func (s *sender) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.wake:
		}
		if s.several.Load() {
			pause(ctx, 100*time.Millisecond)
		}
		// What is under way when the stop begins is finished: sent again, histograms would count twice.
		for ctx.Err() == nil && s.flush(context.Background()) {
		}
	}
}

// flush sends what waits, and says whether there is more to send at once.
func (s *sender) flush(ctx context.Context) bool {
	s.mu.Lock()
	list := s.waiting[:min(len(s.waiting), maxPost)]
	s.mu.Unlock()
	if len(list) == 0 {
		return false
	}
	err := s.post(ctx, list)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil {
		// put may have taken some off the front meanwhile, when there were too many: then fewer are left of these.
		s.waiting = slices.Delete(s.waiting, 0, min(len(list), len(s.waiting)))
		s.oldest = time.Now()
		if s.reason != "" {
			s.log.Info("samples are stored again")
		}
		s.reason, s.failures = "", 0
		return len(s.waiting) > 0
	}
	if s.reason == "" {
		s.log.Warn("samples are not stored", "error", err)
	}
	s.reason = "The telemetry store takes no samples: " + err.Error()
	if time.Since(s.oldest) > maxAge {
		drop(list)
		s.waiting = slices.Delete(s.waiting, 0, min(len(list), len(s.waiting)))
	}
	// Later each time: encoding everything that waits is not free.
	s.failures++
	time.AfterFunc(min(time.Second<<min(s.failures, 4), 10*time.Second), s.nudge)
	return false
}

func (s *sender) nudge() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// post sends one body. An error means that it is to be sent again.
func (s *sender) post(ctx context.Context, list []sample) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://storaged/api/v1/import", bytes.NewReader(encode(list)))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/vnd.cistern.samples")
	response, err := s.client.Do(request)
	if err != nil {
		var op *net.OpError
		if errors.As(err, &op) {
			return op
		}
		return err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, 1<<20))
	switch {
	case err != nil:
		return err
	case response.StatusCode >= 500 || response.StatusCode == http.StatusTooManyRequests:
		return fmt.Errorf("%s: %.300s", response.Status, body)
	case response.StatusCode != http.StatusOK:
		s.log.Warn("storaged refused samples", "samples", len(list), "status", response.Status, "error", fmt.Sprintf("%.300s", body))
		drop(list)
		return nil
	}
	var answer struct {
		RejectedCount int `json:"rejectedCount"`
		Rejected      []struct {
			Index          int
			Reason, Detail string
		} `json:"rejected"`
	}
	if json.Unmarshal(body, &answer) == nil && answer.RejectedCount > 0 {
		for i, one := range answer.Rejected {
			if one.Index < 0 || one.Index >= len(list) {
				continue
			}
			if i == 0 {
				s.log.Warn("storaged refused samples", "samples", answer.RejectedCount, "of", len(list), "reason", one.Reason, "error", one.Detail)
			}
			drop(list[one.Index : one.Index+1])
		}
	}
	return nil
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// second is what a dataset measured in one second.
type second struct {
	time   int64 // its beginning, ms since 1970
	total  float64
	values map[string]float64 // by value, when there is a breakdown
	bins   map[histogram.Bin]int64
}

// How values become series.
const (
	topValues = 100
	// maxSeries bounds what one dataset writes in a second: the values of the last minute, which go on as zeros.
	maxSeries = 1000
	lastsFor  = 60_000 // ms
	// maxLabel is how much of a value a label holds; see tsdb.MaxLabelValue. Dataset's canonical text is shorter.
	maxLabel = 2000
)

// writer makes the samples of one dataset.
type writer struct {
	dataset *statistics.Dataset
	base    []label
	total   []byte
	rest    []byte
	bins    []byte
	series  map[string]*valueSeries
	last    int64 // the time of the last second that was written
	restAt  int64 // when there was a rest; 0: its series has ended
	dropped func(int)
}

type valueSeries struct {
	key  []byte
	seen int64 // when it was not zero
}

func newWriter(d *statistics.Dataset, dropped func(int)) *writer {
	w := &writer{dataset: d, series: map[string]*valueSeries{}, dropped: dropped}
	w.base = []label{{"__name__", d.Statistic.Metric()}, {"dataset", d.String()}}
	for _, f := range d.Filters {
		w.base = append(w.base, label{f.Name, cutLabel(statistics.Label(f.Value))})
	}
	w.total = seriesKey(slices.Clone(w.base)...)
	w.rest = seriesKey(append(slices.Clone(w.base), label{"rest", "true"})...)
	if d.Kind() == "histogram" {
		// A second without events has no histogram; how many there were is a series of its own, so that a gap can be told
		// from nothing.
		w.bins = w.total
		events := slices.Clone(w.base)
		events[0].value += "_events"
		w.total = seriesKey(events...)
	}
	return w
}

// cutLabel shortens what no label holds, so that different values stay different.
func cutLabel(value string) string {
	if len(value) <= maxLabel {
		return value
	}
	hash := uint64(14695981039346656037) // FNV-1a
	for _, c := range []byte(value) {
		hash = (hash ^ uint64(c)) * 1099511628211
	}
	end := maxLabel - 20
	for end > 0 && value[end]&0xc0 == 0x80 {
		end--
	}
	return value[:end] + fmt.Sprintf("…%016x", hash)
}

// write makes the samples of a second. One that is not behind the last is left out, and ok is false: the clock was set
// back, and no point may be there twice.
func (w *writer) write(s second) (list []sample, ok bool) {
	if s.time <= w.last {
		return nil, false
	}
	w.last = s.time
	one := func(key []byte, value float64) {
		list = append(list, sample{key: key, time: s.time, value: value, dropped: w.dropped})
	}
	one(w.total, s.total)
	if w.bins != nil {
		if h := toHistogram(s.bins); len(h.Bins) > 0 {
			list = append(list, sample{key: w.bins, time: s.time, bins: h, dropped: w.dropped})
		}
		return list, true
	}
	if w.dataset.By == nil {
		return list, true
	}
	rest, some := w.values(s, one)
	if some {
		w.restAt = s.time
	}
	switch {
	case w.restAt == 0:
	case s.time-w.restAt <= lastsFor:
		one(w.rest, rest)
	default:
		one(w.rest, staleNaN)
		w.restAt = 0
	}
	return list, true
}

// values writes those that have a series, gives one to the greatest of the others, and sums up what is left.
func (w *writer) values(s second, one func([]byte, float64)) (rest float64, some bool) {
	type pair struct {
		name  string
		value float64
	}
	var fresh []pair
	for name, value := range s.values {
		if w.series[name] == nil && value != 0 {
			fresh = append(fresh, pair{name, value})
		}
	}
	for name, series := range w.series {
		value, there := s.values[name]
		if value != 0 || there && w.dataset.Statistic.Kind == statistics.Level {
			series.seen = s.time
		}
		// An amount that is missing is zero; a level that is missing is gone.
		if s.time-series.seen > lastsFor || !there && w.dataset.Statistic.Kind == statistics.Level {
			one(series.key, staleNaN)
			delete(w.series, name)
			continue
		}
		one(series.key, value)
	}
	slices.SortFunc(fresh, func(a, b pair) int {
		if a.value != b.value {
			if a.value > b.value {
				return -1
			}
			return 1
		}
		return strings.Compare(a.name, b.name)
	})
	for i, p := range fresh {
		if i >= topValues || len(w.series) >= maxSeries {
			rest, some = rest+p.value, true
			continue
		}
		value := cutLabel(statistics.Label(p.name))
		// An empty value would be no label, and its series the total's.
		if value == "" {
			value = emptyValue
		}
		series := &valueSeries{key: seriesKey(append(slices.Clone(w.base), label{w.dataset.By.Name, value})...), seen: s.time}
		w.series[p.name] = series
		one(series.key, p.value)
	}
	return rest, some
}

// emptyValue stands for an empty value in a label: no other value becomes a backslash and nothing else.
const emptyValue = `\`

// end marks all series as ended, from the second behind the last on, so that a gap looks like one.
func (w *writer) end() (list []sample) {
	if w.last == 0 {
		return nil
	}
	at := w.last + 1000
	one := func(key []byte) {
		list = append(list, sample{key: key, time: at, value: staleNaN, dropped: w.dropped})
	}
	one(w.total)
	for _, series := range w.series {
		one(series.key)
	}
	if w.restAt != 0 {
		one(w.rest)
	}
	clear(w.series)
	w.restAt = 0
	return list
}

// seriesNow is how many series there are.
func (w *writer) seriesNow() int {
	n := 1 + len(w.series)
	if w.bins != nil {
		n++
	}
	if w.restAt != 0 {
		n++
	}
	return n
}

func toHistogram(bins map[histogram.Bin]int64) *histogram.Histogram {
	h := &histogram.Histogram{}
	for bin, n := range bins {
		if n > 0 {
			h.Add(bin, uint64(n))
		}
	}
	return h
}
