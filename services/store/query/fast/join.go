package fast

// Arithmetic between two vectors whose series are matched by their labels. What is an error in the engine, and what needs more
// than rows of numbers, is left to it: its words name the series.

import (
	"context"
	"slices"

	"cistern/services/store/tsdb"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/schema"
)

// join is an operation between two vectors.
type join struct {
	many, one   *node // each series of one may match several of many, unless onlyMatched
	by          operation
	swapped     bool // many stands on the right
	onlyMatched bool // the results have the labels that were matched, and no others
	matching    *parser.VectorMatching
	names       []string // that are compared, or those that are not
}

// joinOf is the operation that an expression is, or nil.
func joinOf(e parser.Expr) *join {
	b, ok := unwrapped(e).(*parser.BinaryExpr)
	if !ok || b.VectorMatching == nil || b.Op.IsComparisonOperator() {
		return nil
	}
	m := b.VectorMatching
	j := &join{by: operation{op: b.Op}, matching: m, names: slices.Clone(m.MatchingLabels)}
	if !j.by.known() || m.FillValues.LHS != nil || m.FillValues.RHS != nil {
		return nil
	}
	switch m.Card {
	case parser.CardOneToOne:
		j.onlyMatched = true
	case parser.CardManyToOne:
	case parser.CardOneToMany:
		j.swapped = true
	default:
		return nil
	}
	if !m.On {
		j.names = append(j.names, tsdb.NameLabel)
	}
	slices.Sort(j.names)
	if j.many, j.one = sideOf(b.LHS), sideOf(b.RHS); j.many == nil || j.one == nil {
		return nil
	}
	if j.swapped {
		j.many, j.one = j.one, j.many
	}
	return j
}

func sideOf(e parser.Expr) *node {
	if n := nodeOf(e); n != nil {
		return n
	}
	return selector(e)
}

// signature is what must be the same of two series that match.
func (j *join) signature(set labels.Labels, buffer []byte) []byte {
	if j.matching.On {
		return set.BytesWithLabels(buffer, j.names...)
	}
	return set.BytesWithoutLabels(buffer, j.names...)
}

// result is the labels of what comes of two series that match.
func (j *join) result(many, one labels.Labels, builder *labels.Builder) labels.Labels {
	many = many.DropReserved(schema.IsMetadataLabel)
	if !j.onlyMatched && len(j.matching.Include) == 0 {
		return many
	}
	builder.Reset(many)
	switch {
	case !j.onlyMatched:
	case j.matching.On:
		builder.Keep(j.matching.MatchingLabels...)
	default:
		builder.Del(j.matching.MatchingLabels...)
	}
	for _, name := range j.matching.Include {
		builder.Set(name, one.Get(name)) // to nothing: it is taken away
	}
	return builder.Labels()
}

// joined is the rows of the operation, in the order of the side of which there may be many.
func (r *run) joined(j *join) ([]row, error) {
	many, err := r.evaluate(j.many)
	if err != nil {
		return nil, err
	}
	ones, err := r.evaluate(j.one)
	if err != nil {
		return nil, err
	}
	var buffer []byte
	matches := make(map[string][]*row, len(ones))
	for i := range ones {
		if ones[i].hists != nil {
			return nil, errUnfit
		}
		buffer = j.signature(ones[i].labels, buffer)
		list := matches[string(buffer)]
		if slices.ContainsFunc(list, func(other *row) bool { return meet(other, &ones[i]) }) {
			return nil, errUnfit // at some step it cannot be told which of them it is
		}
		matches[string(buffer)] = append(list, &ones[i])
	}
	builder := labels.NewBuilder(labels.EmptyLabels())
	rows := make([]row, 0, len(many))
	for i := range many {
		if i%1024 == 0 && r.ended() {
			return nil, context.Cause(r.ctx)
		}
		if many[i].hists != nil {
			return nil, errUnfit
		}
		buffer = j.signature(many[i].labels, buffer)
		list := matches[string(buffer)]
		for k, other := range list {
			values := many[i].values
			if k < len(list)-1 { // the last one has them for itself
				if err := r.hold(rowBytes*int64(r.at.n)+rowSize, "results of the operation"); err != nil {
					return nil, err
				}
				values = slices.Clone(values)
			}
			j.apply(values, other.values)
			if one := (row{labels: j.result(many[i].labels, other.labels, builder), values: values}); !one.empty() {
				rows = append(rows, one)
			}
		}
	}
	return rows, unique(rows)
}

// apply makes of the values of many what comes of both.
func (j *join) apply(many, one []float64) {
	for k, v := range many {
		switch {
		case isAbsent(v):
		case isAbsent(one[k]):
			many[k] = absent
		case j.swapped:
			many[k] = j.by.compute(one[k], v)
		default:
			many[k] = j.by.compute(v, one[k])
		}
	}
}

// meet says whether two rows have values at the same step.
func meet(a, b *row) bool {
	for k, v := range a.values {
		if !isAbsent(v) && !isAbsent(b.values[k]) {
			return true
		}
	}
	return false
}
