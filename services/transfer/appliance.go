package transfer

// The appliance as a transfer sees it: the routes of its store, and what it answers when it refuses.

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Appliance sends requests to an appliance, with whatever says who asks. An error means that there was no answer.
type Appliance interface {
	Name() string
	Do(ctx context.Context, method, path string, header http.Header, body []byte) (*http.Response, error)
}

// refusal is an answer that is none.
type refusal struct {
	status int
	code   string
	detail string
	after  time.Duration // of Retry-After; 0 when there is none
}

func (r *refusal) Error() string { return r.detail }

// later says whether the same request may be taken some time later.
func (r *refusal) later() bool {
	return slices.Contains([]int{http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout}, r.status)
}

// maxAnswer bounds what is read of an answer that is held in memory.
const maxAnswer = 256 << 20

// ask sends a request and returns its answer's body, which the caller closes; a refusal is an error of type *refusal.
func ask(ctx context.Context, a Appliance, method, path string, header http.Header, body []byte) (io.ReadCloser, error) {
	response, err := a.Do(ctx, method, path, header, body)
	if err != nil {
		return nil, err
	}
	if response.StatusCode < 300 {
		return response.Body, nil
	}
	defer response.Body.Close()
	text, _ := io.ReadAll(io.LimitReader(response.Body, 1<<20))
	one := &refusal{status: response.StatusCode}
	if seconds, err := strconv.Atoi(response.Header.Get("Retry-After")); err == nil && seconds > 0 {
		one.after = time.Duration(seconds) * time.Second
	}
	var problem struct {
		Code, Detail, Action, Error string
		Errors                      []struct{ Path, Message string }
	}
	_ = json.Unmarshal(text, &problem) // what is no problem document is told by its status
	one.code = problem.Code
	if one.detail = problem.Detail; one.detail == "" {
		one.detail = problem.Error
	}
	if one.detail == "" {
		one.detail = fmt.Sprintf("%s %s: the answer is %s", method, path, response.Status)
	}
	for _, e := range problem.Errors {
		if e.Message != problem.Detail {
			one.detail += "\n  " + strings.TrimPrefix(e.Path+": ", ": ") + e.Message
		}
	}
	if problem.Action != "" {
		one.detail += "\n" + problem.Action
	}
	switch {
	case response.StatusCode == http.StatusUnauthorized:
		one.detail += "\nSign in with “cistern sign-in”, or give an API token in CISTERN_TOKEN."
	case response.StatusCode == http.StatusForbidden:
		one.detail += "\nHistory is imported by administrators: sign in as one, or give the API token of one."
	case response.StatusCode == http.StatusNotFound && strings.HasPrefix(path, "/admin/write"):
		one.detail = "this appliance cannot import history: update it to the version of this command"
	}
	return nil, one
}

// decode reads an answer to its end, so that its connection serves the next request too, and closes it.
func decode(body io.ReadCloser, into any) error {
	defer body.Close()
	limited := io.LimitReader(body, maxAnswer)
	err := json.NewDecoder(limited).Decode(into)
	_, _ = io.Copy(io.Discard, limited) // what is wrong with it was seen before
	return err
}

// retry waits after a failed request before the next one: as long as the appliance asks for, or longer each time.
type retry struct {
	failed  int
	since   time.Time // of the first failure in a row
	patient time.Duration
}

// wait says how long to wait, or false when it is not worth it.
func (r *retry) wait(err error, now time.Time) (time.Duration, bool) {
	var refused *refusal
	var asking *url.Error // not net.Error, which a full disk's number is too
	var connecting *net.OpError
	switch {
	case errors.As(err, &refused):
		if !refused.later() {
			return 0, false
		}
	case errors.As(err, &asking), errors.As(err, &connecting), errors.Is(err, io.ErrUnexpectedEOF):
	default: // something of our own, as a disk that is full
		return 0, false
	}
	if r.failed++; r.failed == 1 {
		r.since = now
	}
	if refused != nil && refused.after > 0 { // it is there, and says when: that is no failure
		return min(refused.after, time.Minute), true
	}
	if now.Sub(r.since) > r.patient {
		return 0, false
	}
	return min(time.Second<<min(r.failed-1, 5), 30*time.Second), true
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// kept is how long the appliance keeps samples, and their rollups of a minute and of an hour.
type kept struct {
	Raw    int64 `json:"rawSeconds"`
	Minute int64 `json:"minuteSeconds"`
	Hour   int64 `json:"hourSeconds"`
}

// oldest is the least time, in ms, of which the appliance takes a sample now.
func (k kept) oldest(now time.Time) int64 { return now.UnixMilli() - min(k.Raw, 1<<40)*1000 }

func retention(ctx context.Context, a Appliance) (k kept, err error) {
	body, err := ask(ctx, a, http.MethodGet, "/admin/retention", nil, nil)
	if err != nil {
		return k, fmt.Errorf("asking how long the appliance keeps measurements: %w", err)
	}
	if err := decode(body, &k); err != nil || k.Raw <= 0 {
		return k, fmt.Errorf("the appliance's answer about its retention cannot be read: %v", err)
	}
	return k, nil
}

// queried is the result of a query: series with their values.
type queried struct {
	Metric     map[string]string
	Value      point
	Values     []point
	Histograms []histogramPoint
}

// point is a time in seconds and a number as text, as the query API writes them.
type point struct {
	Time  float64
	Value float64
}

func (p *point) UnmarshalJSON(text []byte) error {
	var number string
	if err := json.Unmarshal(text, &[]any{&p.Time, &number}); err != nil {
		return err
	}
	var err error
	p.Value, err = strconv.ParseFloat(number, 64)
	return err
}

// millis is the point's time.
func (p *point) millis() int64 { return millisOf(p.Time) }

func millisOf(seconds float64) int64 {
	if seconds < 0 {
		return int64(seconds*1000 - 0.5)
	}
	return int64(seconds*1000 + 0.5)
}

// histogramPoint is as much of a native histogram as a comparison needs.
type histogramPoint struct {
	Time  float64
	Count float64
}

func (p *histogramPoint) UnmarshalJSON(text []byte) error {
	var h struct{ Count string }
	if err := json.Unmarshal(text, &[]any{&p.Time, &h}); err != nil {
		return err
	}
	var err error
	p.Count, err = strconv.ParseFloat(h.Count, 64)
	return err
}

// query asks the query API; it comes again for as long as the appliance says later.
func query(ctx context.Context, a Appliance, route string, parameters url.Values) ([]queried, error) {
	again := retry{patient: time.Minute}
	for {
		body, err := ask(ctx, a, http.MethodPost, "/api/v1/"+route, http.Header{"Content-Type": {"application/x-www-form-urlencoded"}}, []byte(parameters.Encode()))
		if err == nil {
			var answer struct {
				Data struct{ Result []queried }
			}
			if err = decode(body, &answer); !errors.Is(err, io.ErrUnexpectedEOF) { // else the connection was cut
				return answer.Data.Result, err
			}
		}
		pause, worth := again.wait(err, time.Now())
		if !worth || ctx.Err() != nil {
			return nil, err
		}
		if err := sleep(ctx, pause); err != nil {
			return nil, err
		}
	}
}

// seconds writes a time as the query API reads it.
func seconds(millis int64) string {
	var b bytes.Buffer
	if millis < 0 {
		b.WriteByte('-')
		millis = -millis
	}
	fmt.Fprintf(&b, "%d.%03d", millis/1000, millis%1000)
	return b.String()
}
