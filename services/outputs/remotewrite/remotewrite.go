// Package remotewrite sends samples on by Prometheus remote write, 1.0 and 2.0: numbers, native histograms as they are, and
// log-linear histograms as native ones of schema 5, which has about as many buckets as there are bins.
package remotewrite

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"cistern/services/histogram"
	"cistern/services/histogram/convert"
	"cistern/services/outputs/receiver"
	"cistern/services/store/tsdb"

	"github.com/klauspost/compress/s2"
	promhistogram "github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/prompb"
)

// Settings are where and how to send. Secrets are User's Password and Token.
type Settings struct {
	URL string `json:"url"`
	// Version is "1.0", "2.0", or "auto": 2.0 where the receiver knows it.
	Version  string `json:"version"`
	User     string `json:"user,omitempty"`
	Password string `json:"password,omitempty"`
	Token    string `json:"token,omitempty"`
	// CA is PEM: the authorities that the receiver's certificate is checked against, instead of the operating system's.
	CA string `json:"ca,omitempty"`
}

// Hidden is the settings without their secrets.
func (s Settings) Hidden() Settings {
	s.Password, s.Token, s.CA = "", "", ""
	return s
}

// exponentialSchema is the native histograms' that log-linear ones become.
const exponentialSchema = 5

// OriginHeader names the store that sends, so that none takes its own samples for new ones.
const OriginHeader = "X-Cistern-Origin"

type series struct {
	key    string
	kind   tsdb.Kind
	second *receiver.Second // of log-linear histograms
	at     int              // where the latest of them waits
}

// waiting is a sample that was not delivered yet.
type waiting struct {
	series *series
	time   int64
	value  float64
	native []byte // a histogram, as both versions encode it
}

// Output sends to one receiver.
type Output struct {
	settings Settings
	origin   string
	client   *http.Client
	second   bool // 2.0 is spoken
	decided  bool // and the receiver has accepted it, or it was not left open

	most    int // samples in a request: fewer after the receiver refused one as too large
	waiting []waiting
	sent    int // so many of them are done with
	size    int
	merged  int // parts of a second that went into others that wait
	leftOut int

	message, body, packed []byte
	symbols               map[string]uint32
	refs                  []byte
	decoded               histogram.Histogram
}

// New opens an output; the receiver is asked for nothing yet.
func New(s Settings, origin string) (*Output, error) {
	at, err := url.Parse(s.URL)
	if err != nil || at.Host == "" || at.Scheme != "http" && at.Scheme != "https" {
		return nil, errors.New("the address must begin with http:// or https:// and name a host")
	}
	if at.User != nil {
		return nil, errors.New("the address may not hold a user name or a password: they have fields of their own")
	}
	if s.User != "" && s.Token != "" {
		return nil, errors.New("a user and a token exclude each other: choose one")
	}
	if s.Version != "1.0" && s.Version != "2.0" && s.Version != "auto" {
		return nil, fmt.Errorf("the version %.20q is not known: it is 1.0, 2.0 or auto", s.Version)
	}
	secure := &tls.Config{MinVersion: tls.VersionTLS12}
	if s.CA != "" {
		secure.RootCAs = x509.NewCertPool()
		if !secure.RootCAs.AppendCertsFromPEM([]byte(s.CA)) {
			return nil, errors.New("the certificate authority cannot be read: it is PEM, and begins with -----BEGIN CERTIFICATE-----")
		}
	}
	return &Output{
		settings: s, origin: origin, second: s.Version != "1.0", decided: s.Version != "auto", most: math.MaxInt, symbols: map[string]uint32{},
		client: &http.Client{
			Transport: &http.Transport{
				TLSClientConfig: secure, MaxIdleConns: 1, IdleConnTimeout: 90 * time.Second, ForceAttemptHTTP2: true,
				TLSHandshakeTimeout: 10 * time.Second, ResponseHeaderTimeout: receiver.Timeout, MaxResponseHeaderBytes: 64 << 10,
			},
			// The secrets go to the address that was given, and to no other.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
			Timeout:       receiver.Timeout,
		},
	}, nil
}

// Prepare implements receiver.Receiver.
func (o *Output) Prepare(key string, kind tsdb.Kind) any {
	s := &series{key: key, kind: kind}
	if kind == tsdb.Histogram {
		s.second = &receiver.Second{}
	}
	return s
}

// Add implements receiver.Receiver.
func (o *Output) Add(of any, sample *tsdb.Streamed) int {
	one := waiting{series: of.(*series), time: sample.Time, value: sample.Value}
	switch sample.Kind {
	case tsdb.Histogram:
		again, err := one.series.second.Add(&o.decoded, sample.Time, sample.Encoded)
		if err != nil {
			o.leftOut++
			return o.size
		}
		native, _, err := convert.ToPrometheus(&o.decoded, exponentialSchema)
		if err != nil { // more values than the other kind can count
			o.leftOut++
			return o.size
		}
		native.CounterResetHint = promhistogram.GaugeType // what was measured in one second is no running total
		form := prompb.FromIntHistogram(sample.Time, native)
		one.native, _ = form.Marshal()
		if at := one.series.at; again && at < len(o.waiting) && o.waiting[at].series == one.series && o.waiting[at].time == one.time {
			o.waiting[at] = one
			o.merged++
			return o.size
		}
		one.series.at = len(o.waiting)
	case tsdb.NativeHistogram:
		form := prompb.FromFloatHistogram(sample.Time, sample.Native)
		one.native, _ = form.Marshal()
	}
	o.waiting = append(o.waiting, one)
	o.size += len(one.series.key) + len(one.native) + 24
	return o.size
}

// Forget implements receiver.Receiver.
func (o *Output) Forget() {
	clear(o.waiting)
	o.waiting, o.sent, o.size, o.merged, o.leftOut = o.waiting[:0], 0, 0, 0, 0
}

// Close implements receiver.Receiver.
func (o *Output) Close() error {
	o.client.CloseIdleConnections()
	return nil
}

// Send implements receiver.Receiver. What was delivered of a batch that had to be divided is not sent again with the rest.
func (o *Output) Send(ctx context.Context) (receiver.Outcome, error) {
	outcome := receiver.Outcome{LeftOut: o.leftOut}
	o.leftOut = 0
	for o.sent < len(o.waiting) {
		some := o.waiting[o.sent:min(len(o.waiting), o.sent+min(o.most, len(o.waiting)))]
		part, err := o.deliver(ctx, some)
		if errors.Is(err, errTooLarge) {
			if len(some) > 1 {
				o.most = len(some) / 2
				continue
			}
			part, err = receiver.Outcome{Refused: 1, Words: err.Error()}, nil
		}
		if err != nil {
			return outcome, err
		}
		outcome = outcome.Plus(part)
		o.sent += len(some)
	}
	outcome.Sent += o.merged
	o.Forget()
	return outcome, nil
}

// errTooLarge is the receiver's 413.
var errTooLarge = errors.New("the receiver takes no request of this size")

// errNotConfirmed is the error when 2.0 was asked for, and the receiver does not know it.
var errNotConfirmed = errors.New("the receiver accepted a message of remote write 2.0 without saying what it stored, as one does that knows 1.0 only: choose 1.0 or auto")

// deliver sends some samples in one request.
func (o *Output) deliver(ctx context.Context, some []waiting) (receiver.Outcome, error) {
	second := o.second
	if second {
		o.encode2(some)
	} else {
		o.encode1(some)
	}
	answer, words, err := o.post(ctx, o.message, second)
	if err != nil {
		return receiver.Outcome{}, err
	}
	written, confirmed := writtenOf(answer.Header)
	status := answer.StatusCode
	switch {
	case status/100 == 2 && second && !confirmed && !o.decided, status == http.StatusUnsupportedMediaType && second && !o.decided:
		// It does not know 2.0: what it answered is to a message that it did not understand.
		o.second, o.decided = false, true
		return o.deliver(ctx, some)
	case status/100 == 2 && second && !confirmed:
		return receiver.Outcome{}, errNotConfirmed
	case status/100 == 2:
		o.decided = o.decided || second
		if second && written < len(some) {
			return receiver.Outcome{Sent: written, Refused: len(some) - written, Words: "it stored fewer samples than were sent, and did not say why"}, nil
		}
		return receiver.Outcome{Sent: len(some)}, nil
	case status == http.StatusRequestEntityTooLarge:
		return receiver.Outcome{}, fmt.Errorf("%w: %s", errTooLarge, words)
	case again(status):
		return receiver.Outcome{}, later(answer.Header, fmt.Errorf("the receiver answered %s: %s", answer.Status, words))
	}
	out := receiver.Outcome{Refused: len(some), Words: fmt.Sprintf("%s: %s", answer.Status, words)}
	if second && confirmed {
		out.Sent, out.Refused = min(written, len(some)), len(some)-min(written, len(some))
	}
	return out, nil
}

// again says whether a request is to be repeated after such an answer. A wrong address or secret is set right by somebody,
// and then what waited is still wanted.
func again(status int) bool {
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound, http.StatusMethodNotAllowed,
		http.StatusProxyAuthRequired, http.StatusRequestTimeout, http.StatusTooManyRequests:
		return true
	}
	return status/100 == 5 || status/100 == 3 || status/100 == 1
}

// later is an error with the time that the receiver asked for.
func later(header http.Header, err error) error {
	text := header.Get("Retry-After")
	if text == "" {
		return err
	}
	if seconds, bad := strconv.ParseInt(text, 10, 32); bad == nil && seconds >= 0 {
		return &receiver.Later{After: time.Duration(seconds) * time.Second, Err: err}
	}
	if at, bad := http.ParseTime(text); bad == nil {
		return &receiver.Later{After: max(0, time.Until(at)), Err: err}
	}
	return err
}

// writtenOf is how many samples and histograms a receiver of 2.0 says that it stored, and whether it says so at all.
func writtenOf(header http.Header) (n int, confirmed bool) {
	for _, kind := range []string{"Samples", "Histograms"} {
		if text := header.Get("X-Prometheus-Remote-Write-" + kind + "-Written"); text != "" {
			confirmed = true
			if one, err := strconv.Atoi(text); err == nil && one > 0 {
				n += one
			}
		}
	}
	return n, confirmed
}

// post sends one message, and returns the answer with what its body says.
func (o *Output) post(ctx context.Context, message []byte, second bool) (*http.Response, string, error) {
	o.body = s2.EncodeSnappy(o.body[:cap(o.body)], message)
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, o.settings.URL, bytes.NewReader(o.body))
	if err != nil {
		return nil, "", err
	}
	proto, version := "prometheus.WriteRequest", "0.1.0"
	if second {
		proto, version = "io.prometheus.write.v2.Request", "2.0.0"
	}
	request.Header.Set("Content-Type", "application/x-protobuf;proto="+proto)
	request.Header.Set("Content-Encoding", "snappy")
	request.Header.Set("X-Prometheus-Remote-Write-Version", version)
	request.Header.Set("User-Agent", "Cistern")
	if o.origin != "" {
		request.Header.Set(OriginHeader, o.origin)
	}
	switch {
	case o.settings.Token != "":
		request.Header.Set("Authorization", "Bearer "+o.settings.Token)
	case o.settings.User != "":
		request.SetBasicAuth(o.settings.User, o.settings.Password)
	}
	answer, err := o.client.Do(request)
	if err != nil {
		return nil, "", reason(request.URL.Host, err)
	}
	text, _ := io.ReadAll(io.LimitReader(answer.Body, 64<<10))
	answer.Body.Close()
	words := wordsOf(text)
	if to := answer.Header.Get("Location"); answer.StatusCode/100 == 3 && to != "" {
		words = fmt.Sprintf("it is somewhere else: enter %.300s as the address", to)
	}
	return answer, words, nil
}

// reason is a failure in fewer words than the library's.
func reason(host string, err error) error {
	var failed *url.Error
	if errors.As(err, &failed) {
		if failed.Timeout() {
			return fmt.Errorf("%s did not answer within %s", host, receiver.Timeout)
		}
		err = failed.Err
	}
	return fmt.Errorf("asking %s: %w", host, receiver.Reason(err))
}

// wordsOf is what an answer says in one line: of a problem document its sentences, else the text.
func wordsOf(text []byte) string {
	var problem struct {
		Title, Detail string
		Errors        []struct{ Message string }
	}
	words := string(text)
	if json.Unmarshal(text, &problem) == nil && (problem.Title != "" || problem.Detail != "") {
		parts := []string{problem.Title}
		if problem.Detail != "" && problem.Detail != problem.Title {
			parts = append(parts, problem.Detail)
		}
		for _, one := range problem.Errors {
			parts = append(parts, one.Message)
		}
		words = strings.Join(parts, " ")
	}
	words = strings.ToValidUTF8(strings.Join(strings.Fields(words), " "), "�")
	if len(words) > 400 {
		words = strings.ToValidUTF8(words[:400], "") + "…"
	}
	if words == "" {
		return "it said nothing more"
	}
	return words
}

// Check implements receiver.Receiver: it sends a message that holds nothing.
func (o *Output) Check(ctx context.Context) (string, error) {
	begun := time.Now()
	second := o.second
	answer, words, err := o.post(ctx, nil, second)
	if err != nil {
		return "", err
	}
	_, confirmed := writtenOf(answer.Header)
	unknown := answer.StatusCode == http.StatusUnsupportedMediaType || answer.StatusCode/100 == 2 && !confirmed
	if second && unknown && o.settings.Version == "auto" {
		second = false
		if answer, words, err = o.post(ctx, nil, second); err != nil {
			return "", err
		}
	}
	took := time.Since(begun).Round(time.Millisecond)
	version := "1.0"
	if second {
		version = "2.0"
	}
	if answer.StatusCode/100 != 2 {
		return "", fmt.Errorf("the receiver answered %s: %s", answer.Status, words)
	}
	if second && unknown {
		return "", errNotConfirmed
	}
	return fmt.Sprintf("The receiver answered %s to an empty message of remote write %s after %s.", answer.Status, version, took), nil
}
