package tsdb

// A selector that narrows all that is read under a context. It is enforced here, where series are selected, so that no way of
// asking gets around it.

import (
	"context"
	"errors"
	"slices"
)

type selectorKey struct{}

// WithSelector makes the series that do not match all of these matchers invisible to queries under the context.
func WithSelector(ctx context.Context, matchers []*Matcher) context.Context {
	return context.WithValue(ctx, selectorKey{}, matchers)
}

// Narrowed says whether the context has a selector.
func Narrowed(ctx context.Context) bool { return len(selectorOf(ctx)) > 0 }

func selectorOf(ctx context.Context) []*Matcher {
	matchers, _ := ctx.Value(selectorKey{}).([]*Matcher)
	return matchers
}

// narrow is the matchers of a query together with those of its context.
func narrow(ctx context.Context, matchers []*Matcher) []*Matcher {
	more := selectorOf(ctx)
	if len(more) == 0 {
		return matchers
	}
	return slices.Concat(matchers, more)
}

// errNarrowed is for what counts whole indexes.
var errNarrowed = errors.New("this is counted of all series and cannot be limited to some of them")
