package api

// A request that asks the store: its deadline, its place among the others, and its budget. At the deadline it is answered
// wherever it is; what it holds is given back when it has really ended.

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"runtime/debug"
	"time"

	"cistern/services/store/query/budget"
	"cistern/services/store/tsdb"
)

// asked is one request.
type asked struct {
	ctx      context.Context
	cancel   context.CancelFunc
	caller   string
	budget   *budget.Budget
	straying chan struct{} // closed when what was left behind has ended; nil when nothing was
}

// late is the end of a query's time.
type late struct{ timeout time.Duration }

func (l *late) Error() string {
	return fmt.Sprintf("the query was not answered within %v, which is its timeout (%v at most)", l.timeout, Timeout)
}

func (l *late) Is(err error) bool { return err == context.DeadlineExceeded }

// begin gives the request its deadline. It ends when the client leaves.
func (a *API) begin(r *http.Request) (*asked, error) {
	timeout := Timeout
	if text := r.FormValue("timeout"); text != "" {
		wanted, err := parseDuration(text)
		if err != nil {
			return nil, badData("timeout: %w", err)
		}
		timeout = min(timeout, wanted)
	}
	one := &asked{caller: callerOf(r)}
	one.ctx, one.cancel = context.WithTimeoutCause(r.Context(), timeout, &late{timeout})
	return one, nil
}

// admit waits for the request's turn.
func (a *API) admit(one *asked) error {
	ctx, b, err := a.pool.Admit(one.ctx, one.caller)
	if err != nil {
		return err
	}
	one.ctx, one.budget = tsdb.WithMeter(ctx, b), b
	return nil
}

// enter is begin and admit.
func (a *API) enter(r *http.Request) (*asked, error) {
	one, err := a.begin(r)
	if err != nil {
		return nil, err
	}
	if err := a.admit(one); err != nil {
		one.end()
		return nil, err
	}
	return one, nil
}

// end gives back what the request has, once nothing of it runs any more.
func (one *asked) end() {
	one.cancel()
	if one.straying == nil {
		one.budget.End()
		return
	}
	straying, b := one.straying, one.budget
	go func() {
		<-straying
		b.End()
	}()
}

// patience is how long what notices the deadline is given to end by itself.
const patience = 10 * time.Millisecond

// timely does what was asked, or returns at the deadline; what then comes of it is given to discard.
func timely[T any](one *asked, f func(context.Context) (T, error), discard func(T)) (T, error) {
	type outcome struct {
		value T
		err   error
	}
	done := make(chan outcome, 1)
	go func() {
		var o outcome
		defer func() {
			if broken := recover(); broken != nil {
				o.err = fmt.Errorf("an unexpected error: %v\n%s", broken, debug.Stack())
			}
			done <- o
		}()
		o.value, o.err = f(one.ctx)
	}()
	var o outcome
	select {
	case o = <-done:
	case <-one.ctx.Done():
		select {
		case o = <-done:
		case <-time.After(patience):
			straying := make(chan struct{})
			one.straying = straying
			go func() {
				defer close(straying)
				if o := <-done; o.err == nil {
					discard(o.value)
				}
			}()
			o.err = one.ctx.Err()
		}
	}
	if o.err != nil && one.ctx.Err() != nil {
		o.err = context.Cause(one.ctx)
		if errors.Is(o.err, context.DeadlineExceeded) {
			one.budget.Late()
		}
	}
	return o.value, o.err
}

// callerOf is whose turn a request takes: the user whom nginx has let in, which only it can say who comes by the socket; else
// the address that it comes from.
func callerOf(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err == nil && net.ParseIP(host) != nil {
		return host
	}
	if user := r.Header.Get("X-Cistern-User"); user != "" {
		return "user " + user
	}
	if from := r.Header.Get("X-Forwarded-For"); from != "" {
		return from
	}
	return ownCaller
}

// ownCaller is who comes by the socket without a user: akd, which evaluates threshold rules.
const ownCaller = "this machine"
