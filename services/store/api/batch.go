package api

// Many instant queries at once: what the threshold rules ask every second or so. Beside sparing a request for each, an answer
// holds no labels when the series are those that the client has heard of already: nearly always, and most of an answer.
//
//	POST /api/v1/query_batch {"queries":[{"query":"load{group=\"a\"}","known":"8c1f…"},…],"time"?:seconds}
//	→ {"time":…,"results":[{"set":"8c1f…","values":[1,2.5,null]},{"set":"03d2…","labels":[{…}],"unit":"seconds","values":[7]},
//	   {"error":"1:3: parse error: …","errorType":"bad_data"},{"later":true},…]}
//
// The results stand in the order of the queries. `set` stands for the labels of all series, in order, and for what their values
// are measured in; as long as it is what was given as `known`, `labels`, `unit` and `perSecond` are left out. A value is null when it is not a finite number: "nan", "inf" and "ninf" list the
// places of those. A scalar is one series without labels; series of histograms have no single value and are left out. What was
// not begun within a second is answered with `later`: ask again, in another batch, so that a slow query holds up few others.

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/maphash"
	"math"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"cistern/services/daemon/problem"
	"cistern/services/store/query/fast"
	"cistern/services/store/tsdb"
	"cistern/services/store/units"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
)

const (
	maxBatch     = 1000
	maxBatchBody = 8 << 20
	batchTime    = time.Second // no query is begun after so long
	batchTimeout = 10 * time.Second
	// Parsed expressions that are kept; beyond that they are forgotten together. Rules are a few thousand.
	maxParsed = 20_000
)

// batchSeed makes it impossible to choose labels that hash like others.
var batchSeed = maphash.MakeSeed()

// parsedExpressions are kept by their text: a rule's never changes.
type parsedExpressions struct {
	mu     sync.Mutex
	byText map[string]parser.Expr
}

func (p *parsedExpressions) get(text string, parse func(string) (parser.Expr, error)) (parser.Expr, error) {
	p.mu.Lock()
	expr, ok := p.byText[text]
	p.mu.Unlock()
	if ok {
		return expr, nil
	}
	expr, err := parse(text)
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.byText == nil || len(p.byText) >= maxParsed {
		p.byText = map[string]parser.Expr{}
	}
	p.byText[text] = expr
	return expr, nil
}

// queryBatch makes the handler; it keeps what it has parsed.
func (a *API) queryBatch() http.HandlerFunc {
	parsed := &parsedExpressions{}
	return func(w http.ResponseWriter, r *http.Request) {
		var request struct {
			Queries []struct {
				Query string `json:"query"`
				Known string `json:"known"`
			} `json:"queries"`
			Time *float64 `json:"time"`
		}
		if !problem.Decode(w, r, &request, maxBatchBody) {
			return
		}
		if len(request.Queries) > maxBatch {
			problem.Write(w, http.StatusBadRequest, "invalid_request", fmt.Sprintf("These are %d queries; a batch has %d at most.", len(request.Queries), maxBatch), "Ask in several batches.")
			return
		}
		at := a.now()
		if t := request.Time; t != nil {
			const most = math.MaxInt64 / 1e9 // see countable
			if !(math.Abs(*t) <= most) {
				problem.Write(w, http.StatusBadRequest, "invalid_request", "The time is in seconds since 1970, and between the years 1678 and 2262.", "")
				return
			}
			at = time.UnixMilli(int64(math.Round(*t * 1000)))
		}
		all := &asked{caller: callerOf(r)}
		all.ctx, all.cancel = context.WithCancel(r.Context())
		defer all.end()
		if err := a.admit(all); err != nil {
			problem.Write(w, http.StatusServiceUnavailable, "service_unavailable", "The batch cannot be answered: "+err.Error()+".", "Ask again in a moment.")
			return
		}
		began := time.Now()
		var b bytes.Buffer
		fmt.Fprintf(&b, `{"time":%s,"results":[`, strconv.FormatFloat(float64(at.UnixMilli())/1000, 'f', -1, 64))
		for i, q := range request.Queries {
			if i > 0 {
				b.WriteByte(',')
			}
			// What was left behind at its deadline still uses the budget.
			if i > 0 && (time.Since(began) > batchTime || all.straying != nil) {
				b.WriteString(`{"later":true}`)
				continue
			}
			if err := a.batchResult(all, &b, parsed, q.Query, q.Known, at); err != nil {
				if r.Context().Err() != nil {
					return // the client has gone
				}
				known := classify(err)
				words, _ := json.Marshal(known.Error())
				fmt.Fprintf(&b, `{"error":%s,"errorType":%q}`, words, known.kind)
			}
		}
		b.WriteString("]}\n")
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(b.Bytes())
	}
}

// batchResult writes one result; nothing when it fails.
func (a *API) batchResult(all *asked, b *bytes.Buffer, parsed *parsedExpressions, text, known string, at time.Time) error {
	if strings.TrimSpace(text) == "" {
		return badData("query: is missing; give a PromQL expression")
	}
	expr, err := parsed.get(text, a.parser.ParseExpr)
	if err != nil {
		return badData("query: %w", err)
	}
	if t := expr.Type(); t != parser.ValueTypeVector && t != parser.ValueTypeScalar {
		return badData("the expression gives a %s; a threshold needs one value for each series", parser.DocumentedType(t))
	}
	all.budget.Again()
	one := *all
	one.ctx, one.cancel = context.WithTimeoutCause(all.ctx, batchTimeout, &late{batchTimeout})
	defer one.cancel()
	defer func() { all.straying = one.straying }()
	if err := one.budget.Charge(one.ctx, int64(b.Cap()), "results of the batch"); err != nil {
		return err
	}
	q := fast.Query{Text: text, Start: at, End: at, Lookback: lookback}
	// As for a single query: where rollups are all that is left, samples are as far apart as those.
	from, to := promql.FindMinMaxTime(&parser.EvalStmt{Expr: expr, Start: at, End: at, LookbackDelta: lookback})
	if apart := a.store.Granularity(from, to); apart >= lookback {
		q.Lookback = apart + lookback
	}
	if selector, ok := expr.(*parser.VectorSelector); ok && q.Lookback == lookback && plain(selector) {
		// It looks at its deadline often enough to do without a goroutine of its own, of which there would be thousands a second.
		found, err := a.newest(one.ctx, selector, at.UnixMilli())
		if err != nil {
			return err
		}
		defer found.done()
		if found.values != nil {
			writeBatchResult(b, newestSeries(found.list), found.values, a.measureOf(one.ctx, expr), known)
			return nil
		}
	}
	found, err := timely(&one, func(ctx context.Context) (fast.Answer, error) { return a.engine.Exec(ctx, q) }, closed)
	if err != nil {
		return err
	}
	defer closed(found)
	var series vectorSeries
	var values []float64
	switch v := found.Value.(type) {
	case promql.Scalar:
		series, values = vectorSeries{labels.EmptyLabels()}, []float64{v.V}
	case promql.Vector:
		for _, one := range v {
			if one.H == nil {
				series, values = append(series, one.Metric), append(values, one.F)
			}
		}
	default:
		return errors.New("the expression gives no vector")
	}
	writeBatchResult(b, series, values, a.measureOf(one.ctx, expr), known)
	return nil
}

// plain says whether a selector asks for nothing but the newest samples.
func plain(s *parser.VectorSelector) bool {
	return s.OriginalOffset == 0 && s.Offset == 0 && s.OriginalOffsetExpr == nil && s.Timestamp == nil && s.StartOrEnd == 0 && !s.Anchored && !s.Smoothed
}

// soon is how far back the newest sample is looked for at first: of what is sent every few seconds it is there.
const soon = 15_000

// newest is the newest numbers of series. There are no values when there are histograms among them: PromQL's engine is asked then.
type newest struct {
	list   []*tsdb.Series
	values []float64
	done   func()
}

// newest is the newest number of each series that a selector matches, without those that have ended: what PromQL means by a
// plain selector, without an engine.
func (a *API) newest(ctx context.Context, s *parser.VectorSelector, at int64) (newest, error) {
	from := at - lookback.Milliseconds() + 1 // PromQL's look-back is open at its beginning
	found, release, err := a.store.Select(ctx, from, at, s.LabelMatchers...)
	if err != nil {
		return newest{}, err
	}
	result := newest{list: found[:0:0], values: make([]float64, 0, len(found)), done: release}
	for _, one := range found {
		if one.HasHistograms() || one.HasNatives() {
			return newest{done: release}, nil
		}
		if ctx.Err() != nil {
			release()
			return newest{}, context.Cause(ctx)
		}
		v, ok, err := last(one, max(from, at-soon), at)
		if err == nil && !ok {
			v, ok, err = last(one, from, at)
		}
		if err != nil {
			release()
			return newest{}, err
		}
		if ok && !value.IsStaleNaN(v) {
			result.list, result.values = append(result.list, one), append(result.values, v)
		}
	}
	return result, nil
}

func last(s *tsdb.Series, from, to int64) (v float64, ok bool, err error) {
	it := s.Numbers(from, to)
	for _, values, more := it.NextBatch(); more; _, values, more = it.NextBatch() {
		if len(values) > 0 {
			v, ok = values[len(values)-1], true
		}
	}
	return v, ok, it.Err()
}

// seriesList is the series of a result: what tells each of them from all others, and its labels.
type seriesList interface {
	Len() int
	hash(i int, h *maphash.Hash)
	writeLabels(i int, b *bytes.Buffer)
}

type newestSeries []*tsdb.Series

func (l newestSeries) Len() int { return len(l) }
func (l newestSeries) hash(i int, h *maphash.Hash) {
	hashText(h, l[i].Key)
}
func (l newestSeries) writeLabels(i int, b *bytes.Buffer) {
	first := true
	tsdb.EachLabel(l[i].Key, func(name, value string) {
		writeLabel(b, first, name, value)
		first = false
	})
}

type vectorSeries []labels.Labels

func (l vectorSeries) Len() int { return len(l) }
func (l vectorSeries) hash(i int, h *maphash.Hash) {
	l[i].Range(func(one labels.Label) {
		hashText(h, one.Name)
		hashText(h, one.Value)
	})
	_, _ = h.Write([]byte{0xff, 0xff, 0xff, 0xff}) // no text is so long
}
func (l vectorSeries) writeLabels(i int, b *bytes.Buffer) {
	first := true
	l[i].Range(func(one labels.Label) {
		writeLabel(b, first, one.Name, one.Value)
		first = false
	})
}

// hashText hashes the length before the text, so that no two lists are the same bytes.
func hashText(h *maphash.Hash, text string) {
	var length [4]byte
	binary.LittleEndian.PutUint32(length[:], uint32(len(text)))
	_, _ = h.Write(length[:])
	_, _ = h.WriteString(text)
}

func writeBatchResult(b *bytes.Buffer, series seriesList, values []float64, measure units.Measure, known string) {
	var h maphash.Hash
	h.SetSeed(batchSeed)
	hashText(&h, measure.Unit)
	if measure.PerSecond {
		_ = h.WriteByte(1)
	}
	for i := range series.Len() {
		series.hash(i, &h)
	}
	set := strconv.FormatUint(h.Sum64(), 16)
	b.WriteString(`{"set":"`)
	b.WriteString(set)
	b.WriteByte('"')
	if set != known {
		b.WriteString(`,"labels":[`)
		for i := range series.Len() {
			if i > 0 {
				b.WriteByte(',')
			}
			b.WriteByte('{')
			series.writeLabels(i, b)
			b.WriteByte('}')
		}
		b.WriteByte(']')
		if measure.Unit != "" {
			unit, _ := json.Marshal(measure.Unit)
			fmt.Fprintf(b, `,"unit":%s`, unit)
		}
		if measure.PerSecond {
			b.WriteString(`,"perSecond":true`)
		}
	}
	var odd [3][]int // NaN, infinite, negatively infinite
	b.WriteString(`,"values":[`)
	for i, v := range values {
		if i > 0 {
			b.WriteByte(',')
		}
		switch {
		case math.IsNaN(v):
			odd[0] = append(odd[0], i)
			b.WriteString("null")
		case math.IsInf(v, 0):
			which := 1
			if v < 0 {
				which = 2
			}
			odd[which] = append(odd[which], i)
			b.WriteString("null")
		default:
			b.Write(strconv.AppendFloat(b.AvailableBuffer(), v, 'g', -1, 64))
		}
	}
	b.WriteByte(']')
	for i, name := range []string{"nan", "inf", "ninf"} {
		if len(odd[i]) > 0 {
			places, _ := json.Marshal(odd[i])
			fmt.Fprintf(b, `,"%s":%s`, name, places)
		}
	}
	b.WriteByte('}')
}

func writeLabel(b *bytes.Buffer, first bool, name, text string) {
	if !first {
		b.WriteByte(',')
	}
	n, _ := json.Marshal(name)
	v, _ := json.Marshal(text)
	b.Write(n)
	b.WriteByte(':')
	b.Write(v)
}
