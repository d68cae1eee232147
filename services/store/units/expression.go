package units

import (
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
)

// Measure is what values are measured in. PerSecond: they are what there is of it in each second.
type Measure struct {
	Unit      string `json:"unit"`
	PerSecond bool   `json:"perSecond"`
}

// Of derives what an expression's values are measured in from what its metrics are. The zero Measure is said where that is not
// certain: a wrong unit is worse than none. metric returns the unit of a metric by name.
func Of(expr parser.Expr, metric func(name string) string) Measure {
	switch e := expr.(type) {
	case *parser.VectorSelector:
		if e.Name != "" {
			return Measure{Unit: metric(e.Name)}
		}
		for _, m := range e.LabelMatchers {
			if m.Name == model.MetricNameLabel && m.Type == labels.MatchEqual {
				return Measure{Unit: metric(m.Value)}
			}
		}
	case *parser.MatrixSelector:
		return Of(e.VectorSelector, metric)
	case *parser.SubqueryExpr:
		return Of(e.Expr, metric)
	case *parser.ParenExpr:
		return Of(e.Expr, metric)
	case *parser.UnaryExpr:
		return Of(e.Expr, metric)
	case *parser.StepInvariantExpr:
		return Of(e.Expr, metric)
	case *parser.AggregateExpr:
		return ofAggregate(e, metric)
	case *parser.Call:
		return ofCall(e, metric)
	case *parser.BinaryExpr:
		return ofOperator(e, metric)
	}
	return Measure{}
}

var counted = Measure{Unit: "count"}

func ofAggregate(e *parser.AggregateExpr, metric func(string) string) Measure {
	switch e.Op {
	case parser.SUM, parser.AVG, parser.MIN, parser.MAX, parser.TOPK, parser.BOTTOMK, parser.QUANTILE, parser.STDDEV,
		parser.LIMITK, parser.LIMIT_RATIO:
		return Of(e.Expr, metric)
	case parser.COUNT:
		return counted
	}
	return Measure{}
}

// argument says which of a function's arguments has the unit of its result.
var argument = map[string]int{
	"abs": 0, "ceil": 0, "floor": 0, "round": 0, "clamp": 0, "clamp_max": 0, "clamp_min": 0, "sort": 0, "sort_desc": 0,
	"sort_by_label": 0, "sort_by_label_desc": 0, "label_replace": 0, "label_join": 0, "scalar": 0, "vector": 0, "info": 0,
	"increase": 0, "delta": 0, "idelta": 0, "predict_linear": 0, "double_exponential_smoothing": 0, "histogram_sum": 0,
	"avg_over_time": 0, "max_over_time": 0, "min_over_time": 0, "last_over_time": 0, "first_over_time": 0, "sum_over_time": 0,
	"stddev_over_time": 0, "mad_over_time": 0, "quantile_over_time": 1,
}

func ofCall(e *parser.Call, metric func(string) string) Measure {
	name := e.Func.Name
	at := func(i int) Measure {
		if i >= len(e.Args) {
			return Measure{}
		}
		return Of(e.Args[i], metric)
	}
	if i, ok := argument[name]; ok {
		return at(i)
	}
	switch name {
	case "rate", "irate", "deriv":
		if m := at(0); !m.PerSecond {
			return Measure{Unit: m.Unit, PerSecond: true}
		}
	case "histogram_quantile", "histogram_avg", "histogram_stddev":
		// What is measured, however many of them a second there were.
		i := 0
		if name == "histogram_quantile" {
			i = 1
		}
		return Measure{Unit: at(i).Unit}
	case "histogram_fraction":
		return Measure{Unit: "ratio"}
	case "histogram_count":
		return Measure{Unit: "count", PerSecond: at(0).PerSecond}
	case "count_over_time", "changes", "resets":
		return counted
	}
	return Measure{}
}

func ofOperator(e *parser.BinaryExpr, metric func(string) string) Measure {
	left, right := Of(e.LHS, metric), Of(e.RHS, metric)
	factor, scaled := number(e.RHS)
	if !scaled && e.Op == parser.MUL {
		if factor, scaled = number(e.LHS); scaled {
			left = right
		}
	}
	switch {
	case e.Op.IsComparisonOperator() && !e.ReturnBool, e.Op == parser.LAND, e.Op == parser.LUNLESS:
		if _, literal := number(e.LHS); literal {
			return right
		}
		return left
	case e.Op == parser.LOR:
		if left == right {
			return left
		}
	case e.Op == parser.ADD || e.Op == parser.SUB:
		if _, literal := number(e.LHS); literal {
			return right
		}
		if scaled || left == right {
			return left
		}
	case scaled && e.Op == parser.MUL:
		switch {
		case factor == 1:
			return left
		case factor == 100 && left == Measure{Unit: "ratio"}:
			return Measure{Unit: "percent"}
		case factor == 1000 && left == Measure{Unit: "seconds"}:
			return Measure{Unit: "milliseconds"}
		case factor == 8 && left.Unit == "bytes":
			return Measure{Unit: "bits", PerSecond: left.PerSecond}
		}
	case scaled && e.Op == parser.DIV && factor == 1:
		return left
	case e.Op == parser.DIV && !scaled:
		known := left.Unit != "" && left.Unit != "count"
		switch {
		case left == right && known:
			return Measure{Unit: "ratio"}
		case known && left.PerSecond == right.PerSecond && (right.Unit == "" || right.Unit == "count"):
			// The sum by the count: seconds a request.
			return Measure{Unit: left.Unit}
		}
	}
	return Measure{}
}

// number is the value of an expression that is one.
func number(e parser.Expr) (float64, bool) {
	switch e := e.(type) {
	case *parser.NumberLiteral:
		return e.Val, true
	case *parser.ParenExpr:
		return number(e.Expr)
	case *parser.StepInvariantExpr:
		return number(e.Expr)
	}
	return 0, false
}
