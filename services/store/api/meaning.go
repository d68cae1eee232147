package api

// What metrics mean: units, descriptions and limit lines. What a person said counts before what the sender says, and that before
// what the name says.

import (
	"context"
	"net/http"
	"strings"

	"cistern/services/store/tsdb"
	"cistern/services/store/units"

	"github.com/prometheus/prometheus/promql/parser"
)

// meaning is one metric's. From says who named the unit: person, sender, name, or nobody.
type meaning struct {
	unit, from, description string
	limit                   *float64
}

func (a *API) meaningOf(name string) meaning {
	said := a.store.Meanings()[name]
	sent := a.described(name)
	found := meaning{description: said.Description, limit: said.Limit}
	if found.description == "" {
		found.description = sent.Help
	}
	switch unit := units.Canonical(sent.Unit); {
	case said.Unit != "":
		found.unit, found.from = said.Unit, "person"
	case unit != "":
		found.unit, found.from = unit, "sender"
	default:
		if found.unit = units.OfName(name); found.unit != "" {
			found.from = "name"
		}
	}
	return found
}

// described is what the sender says of it. Series of a classic histogram or a summary are described by the name that they
// share; their counts are no seconds.
func (a *API) described(name string) tsdb.Metadata {
	if one, ok := a.store.Described(name); ok {
		return one
	}
	for _, suffix := range []string{"_sum", "_bucket", "_count"} {
		if family, ok := strings.CutSuffix(name, suffix); ok {
			one, _ := a.store.Described(family)
			if suffix == "_count" {
				one.Unit = ""
			}
			return one
		}
	}
	return tsdb.Metadata{}
}

// unitOf answers with what an expression's values are measured in.
func (a *API) unitOf(r *http.Request) (answer, error) {
	if r.FormValue("query") == "" {
		return answer{}, badData("query: is missing; give a PromQL expression")
	}
	expression, err := a.parser.ParseExpr(r.FormValue("query"))
	if err != nil {
		return answer{}, badData("query: %w", err)
	}
	return answer{data: a.measureOf(r.Context(), expression)}, nil
}

// measureOf is what the values of an expression are measured in. Who sees a part of the store only is told what the names say.
func (a *API) measureOf(ctx context.Context, e parser.Expr) units.Measure {
	if tsdb.Narrowed(ctx) {
		return units.Of(e, units.OfName)
	}
	return units.Of(e, func(name string) string { return a.meaningOf(name).unit })
}
