package transfer

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/golang/snappy"
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	writev2 "github.com/prometheus/prometheus/prompb/io/prometheus/write/v2"
)

// parts is a source of numbered series.
type parts struct {
	identity string
	sizes    []int
	begin    int64
}

func (p *parts) Identity() string { return p.identity }
func (p *parts) Close() error     { return nil }

func (p *parts) Survey(ctx context.Context, s *Selection, before int64) (*Survey, error) {
	return Count(ctx, p, s, before)
}

func (p *parts) Walk(ctx context.Context, w Walk) error {
	for i, size := range p.sizes {
		if int64(i) < w.From {
			continue
		}
		if size < 0 {
			w.Report(fmt.Sprintf("part %d", i), errors.New("it is torn"), 7)
			continue
		}
		set, ok := w.Selection.Labels(labels.FromStrings("__name__", "m", "i", fmt.Sprint(i)))
		if !ok {
			continue
		}
		err := w.Use(&Part{Number: int64(i), Labels: set, Kind: Gauge, Each: func(use func(Sample) error) error {
			for k := range int64(size) {
				one := Sample{Time: p.begin + k, Value: float64(k)}
				if i == 3 {
					one.Native = &histogram.FloatHistogram{Count: float64(k)}
				}
				if err := use(one); err != nil {
					return err
				}
			}
			return nil
		}})
		if err != nil {
			return err
		}
	}
	return ctx.Err()
}

// fake is an appliance that keeps what it is sent, and fails as it is told.
type fake struct {
	fail   func() (stores bool, status int) // status 0: no answer
	stored map[string]map[int64]float64
	refuse map[string]string // series: reason
	keeps  int64
	keep   map[int64]bool // nil: all that it says that it stores
}

func (f *fake) Name() string { return "fake" }

func answer(status int, text string) *http.Response {
	return &http.Response{StatusCode: status, Status: fmt.Sprint(status), Header: http.Header{}, Body: io.NopCloser(strings.NewReader(text))}
}

func (f *fake) Do(ctx context.Context, method, path string, _ http.Header, body []byte) (*http.Response, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if path == "/admin/retention" {
		return answer(200, fmt.Sprintf(`{"rawSeconds":%d,"minuteSeconds":%d,"hourSeconds":%d}`, f.keeps, f.keeps, f.keeps)), nil
	}
	if strings.HasPrefix(path, "/api/v1/query") {
		return f.query(string(body))
	}
	if path != "/admin/write" {
		return answer(404, `{"detail":"no such thing"}`), nil
	}
	stores, status := true, 200
	if f.fail != nil {
		stores, status = f.fail()
	}
	text := ""
	if stores {
		raw, err := snappy.Decode(nil, body)
		if err != nil {
			return nil, err
		}
		if len(body) > 1<<20 {
			return answer(413, ""), nil
		}
		var request writev2.Request
		if err := request.Unmarshal(raw); err != nil {
			return nil, err
		}
		n, refused := 0, map[string]int{}
		var builder labels.ScratchBuilder
		for _, s := range request.Timeseries {
			set, err := s.ToLabels(&builder, request.Symbols)
			if err != nil {
				return nil, err
			}
			key := set.String()
			if reason := f.refuse[key]; reason != "" {
				refused[reason] += len(s.Samples) + len(s.Histograms)
				continue
			}
			if f.stored[key] == nil {
				f.stored[key] = map[int64]float64{}
			}
			for _, one := range s.Samples {
				if f.keep == nil || f.keep[one.Timestamp] {
					f.stored[key][one.Timestamp] = one.Value
				}
			}
			for _, one := range s.Histograms {
				if f.keep == nil || f.keep[one.Timestamp] {
					f.stored[key][one.Timestamp] = one.GetCountFloat()
				}
			}
			n += len(s.Samples) + len(s.Histograms)
		}
		var list []string
		for reason, many := range refused {
			list = append(list, fmt.Sprintf(`{"reason":%q,"samples":%d,"first":"x"}`, reason, many))
		}
		text = fmt.Sprintf(`{"stored":%d,"refused":[%s]}`, n, strings.Join(list, ","))
	}
	if status == 0 {
		return nil, errors.New("the connection was reset")
	}
	if status != 200 {
		text = `{"detail":"it went wrong"}`
	}
	return answer(status, text), nil
}

// query answers the three forms in which a comparison asks.
func (f *fake) query(body string) (*http.Response, error) {
	form, err := url.ParseQuery(body)
	if err != nil {
		return nil, err
	}
	text := form.Get("query")
	from, to := strings.Index(text, "{"), strings.Index(text, "}")
	key := strings.ReplaceAll(text[from:to+1], ",", ", ")
	metric := map[string]string{"i": strings.Trim(key[strings.Index(key, "i=")+2:], `"}`)}
	window := func(end float64) (times []int64) {
		for at := range f.stored[key] {
			if at > int64(end*1000)-checkWindow && at <= int64(end*1000) {
				times = append(times, at)
			}
		}
		return times
	}
	var values [][2]any
	if form.Get("step") == "" {
		metric["__name__"] = "m"
		end, _ := strconv.ParseFloat(form.Get("time"), 64)
		for _, at := range window(end) {
			values = append(values, [2]any{float64(at) / 1000, fmt.Sprint(f.stored[key][at])})
		}
	} else {
		begin, _ := strconv.ParseFloat(form.Get("start"), 64)
		end, _ := strconv.ParseFloat(form.Get("end"), 64)
		for ; begin <= end; begin += checkWindow / 1000 {
			times, v := window(begin), 0.0
			for _, at := range times {
				if strings.HasPrefix(text, "count") {
					v++
				} else {
					v += f.stored[key][at]
				}
			}
			if len(times) > 0 {
				values = append(values, [2]any{begin, fmt.Sprint(v)})
			}
		}
	}
	encoded, err := json.Marshal(map[string]any{"data": map[string]any{"result": []any{map[string]any{"metric": metric, "values": values}}}})
	return answer(200, string(encoded)), err
}

// The comparison names what is missing and what differs, and holds only so many samples.
func TestCheck(t *testing.T) {
	before := maxCompared
	defer func() { maxCompared = before }()
	const day = 86_400_000
	source := &spaced{parts{identity: "a", sizes: []int{40, 40, 40, 40}, begin: time.Now().Add(-40 * 24 * time.Hour).UnixMilli()}}
	f := &fake{stored: map[string]map[int64]float64{}, keeps: 100 * 86_400}
	run := func() (string, error) {
		var out bytes.Buffer
		_, err := Import(t.Context(), source, f, Options{What: "x", State: filepath.Join(t.TempDir(), "s"), Check: 100, Selection: Everything(), Screen: &Screen{Out: &out}})
		return out.String(), err
	}
	expect := func(complete bool, want ...string) {
		t.Helper()
		out, err := run()
		for _, one := range want {
			if (err == nil) != complete || !strings.Contains(out, one) {
				t.Errorf("%q is not said: %s %v", one, out, err)
			}
		}
	}
	expect(true, "Checked 4 series, 160 samples: all there")
	for i := range 40 { // samples of its own, of every day of two series
		for _, key := range []string{`{__name__="m", i="0"}`, `{__name__="m", i="3"}`} {
			f.stored[key][source.begin+int64(i)*day+1] = 5
		}
	}
	expect(true, "Checked 4 series, 160 samples: all there")
	maxCompared = 20
	expect(true, "60 days of 2 series were compared by their counts only", "all there")
	f.keep = map[int64]bool{source.begin: true, source.begin + day: true}
	f.stored = map[string]map[int64]float64{}
	expect(false, `{__name__="m", i="1"}: of 40 samples 38 are missing`, "4 series differ")
}

// spaced has a sample a day.
type spaced struct{ parts }

func (s *spaced) Survey(ctx context.Context, selection *Selection, before int64) (*Survey, error) {
	return Count(ctx, s, selection, before)
}

func (s *spaced) Walk(ctx context.Context, w Walk) error {
	use := w.Use
	w.Use = func(p *Part) error {
		each := p.Each
		p.Each = func(f func(Sample) error) error {
			return each(func(one Sample) error {
				one.Time = s.begin + (one.Time-s.begin)*86_400_000
				return f(one)
			})
		}
		return use(p)
	}
	return s.parts.Walk(ctx, w)
}

// However often it fails, with or without having stored what it was sent: in the end everything is there, and each sample is counted
// once.
func TestResume(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	random := rand.New(rand.NewPCG(seed, 1))
	source := &parts{identity: "a", sizes: []int{30_000, 0, 45_000, 3000, -1, 1, 20_000, 25_000}, begin: time.Now().Add(-time.Hour).UnixMilli()}
	const refused = `{__name__="m", i="6"}`
	f := &fake{stored: map[string]map[int64]float64{}, keeps: 86_400, refuse: map[string]string{refused: "reserved_name"}}
	f.fail = func() (bool, int) {
		switch random.IntN(4) {
		case 0:
			return true, 0 // the answer is lost
		case 1:
			return false, 500
		}
		return true, 200
	}
	folder := t.TempDir()
	var counts *Counts
	for tries := 0; ; tries++ {
		if tries > 200 {
			t.Fatalf("seed %d: it does not end", seed)
		}
		var out bytes.Buffer
		var err error
		counts, err = Import(t.Context(), source, f, Options{What: "test", Folder: folder, Selection: Everything(), Patience: -1, Screen: &Screen{Out: &out}})
		if errors.Is(err, ErrIncomplete) { // what was refused is missing
			for _, want := range []string{"20,000 samples, reserved_name", "part 4: it is torn", "7 samples as far as"} {
				if !strings.Contains(out.String(), want) {
					t.Errorf("%q is not said: %s", want, out.String())
				}
			}
			break
		}
		if err == nil || !strings.Contains(err.Error(), "goes on from there") {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
	if counts.Sent != 103_001 || counts.Read != 123_001 || counts.Refused["reserved_name"].Samples != 20_000 || counts.Damaged != 1 {
		t.Errorf("seed %d: %+v", seed, counts)
	}
	for i, size := range source.sizes {
		key := fmt.Sprintf(`{__name__="m", i="%d"}`, i)
		if got := len(f.stored[key]); key != refused && got != max(0, size) {
			t.Errorf("seed %d: %s has %d samples, want %d", seed, key, got, size)
		}
	}
}

// What may be over some time later is tried again, what is not so is told at once.
func TestRetry(t *testing.T) {
	now := time.Now()
	for name, one := range map[string]struct {
		err   error
		worth bool
	}{
		"busy": {&refusal{status: 503, after: time.Second}, true}, "nginx": {&refusal{status: 502}, true}, "too many": {&refusal{status: 429}, true},
		"not allowed": {&refusal{status: 403}, false}, "wrong": {&refusal{status: 400}, false}, "full disk": {&os.PathError{Op: "write", Err: syscall.ENOSPC}, false},
		"no answer": {&url.Error{Op: "Post", Err: syscall.ECONNREFUSED}, true}, "no socket": {fmt.Errorf("x: %w", &net.OpError{Op: "dial", Err: syscall.ENOENT}), true},
		"cut": {fmt.Errorf("x: %w", io.ErrUnexpectedEOF), true}, "something else": {errors.New("x"), false},
	} {
		again := retry{patient: time.Minute}
		if _, worth := again.wait(one.err, now); worth != one.worth {
			t.Errorf("%s: %v", name, worth)
		}
		if _, worth := again.wait(one.err, now.Add(2*time.Minute)); worth != (name == "busy") {
			t.Errorf("%s, after two minutes: %v", name, worth)
		}
	}
}

// No request is larger than what nginx takes, and a series whose labels alone would be is left out, counted.
func TestRequestsAreSmall(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	letters := func(n int) string {
		text := make([]byte, n)
		for i := range text {
			text[i] = byte('!' + random.IntN(90))
		}
		return string(text)
	}
	for size, sent := range map[int]int64{190 << 10: 3 * 25_000, 210 << 10: 0} {
		source := &parts{identity: "a", sizes: []int{25_000, 25_000, 25_000}, begin: time.Now().Add(-time.Hour).UnixMilli()}
		f := &fake{stored: map[string]map[int64]float64{}, keeps: 86_400}
		chosen := Everything()
		chosen.Add = []labels.Label{{Name: "long", Value: letters(size)}}
		counts, err := Import(t.Context(), source, f, Options{What: "x", Folder: t.TempDir(), Selection: chosen, Screen: &Screen{Out: io.Discard}})
		if counts.Sent != sent || (err == nil) != (sent > 0) || counts.LeftOut[tooLong].Samples != 75_000-sent {
			t.Errorf("%d: %d of %d sent, %v", size, counts.Sent, sent, err)
		}
	}
}

// A state that says nothing, or is about something else, is not gone on from.
func TestState(t *testing.T) {
	source := &parts{identity: "a", sizes: []int{10, 10}, begin: time.Now().Add(-time.Hour).UnixMilli()}
	f := &fake{stored: map[string]map[int64]float64{}, keeps: 86_400}
	file := filepath.Join(t.TempDir(), "deep", "state.json")
	try := func(what string, again bool) (string, error) {
		var out bytes.Buffer
		_, err := Import(t.Context(), source, f, Options{What: what, State: file, Again: again, Selection: Everything(), Screen: &Screen{Out: &out}})
		return out.String(), err
	}
	if out, err := try("one", false); err != nil || !strings.Contains(out, "Sent and stored: 20 samples") {
		t.Fatal(out, err)
	}
	if out, err := try("one", false); err != nil || !strings.Contains(out, "All of it was sent") {
		t.Error(out, err)
	}
	if _, err := try("two", false); err == nil || !strings.Contains(err.Error(), "is about another import (one to fake)") {
		t.Error(err)
	}
	source.identity = "b"
	if _, err := try("one", false); err == nil || !strings.Contains(err.Error(), "has changed since") || !strings.Contains(err.Error(), "--again") {
		t.Error(err)
	}
	if out, err := try("one", true); err != nil || !strings.Contains(out, "Sent and stored: 20 samples") {
		t.Error(out, err)
	}
	for _, text := range []string{"", "{", `{"version":2}`, "[]"} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := try("one", false); err == nil || !strings.Contains(err.Error(), "--again to begin anew") {
			t.Errorf("%q: %v", text, err)
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if _, err := Import(ctx, source, f, Options{What: "x", Folder: t.TempDir(), Selection: Everything(), Screen: &Screen{Out: io.Discard}}); err == nil || !strings.Contains(err.Error(), "interrupted") {
		t.Error(err)
	}
}

// What is older than the retention is said with what to do, before anything is sent.
func TestTooOld(t *testing.T) {
	source := &parts{identity: "a", sizes: []int{4}, begin: time.Now().AddDate(0, 0, -100).UnixMilli()}
	f := &fake{stored: map[string]map[int64]float64{}, keeps: 90 * 86_400}
	_, err := Import(t.Context(), source, f, Options{What: "x", Folder: t.TempDir(), Selection: Everything(), Screen: &Screen{Out: io.Discard}})
	if err == nil || !strings.Contains(err.Error(), "4 of 4 samples are older than the appliance keeps measurements, which is 90 days") ||
		!strings.Contains(err.Error(), "--raw-seconds 9331200 --minute-seconds 9331200 --hour-seconds 9331200") || len(f.stored) > 0 {
		t.Error(err)
	}
}

func TestSelection(t *testing.T) {
	s := Everything()
	s.Matchers = []*labels.Matcher{labels.MustNewMatcher(labels.MatchRegexp, "job", "a|b")}
	s.Renames = []Rename{{"cistern_*", "old_*"}, {"up", "alive"}}
	s.Add = []labels.Label{{Name: "origin", Value: "x"}}
	for in, want := range map[string]string{
		`{__name__="up", job="a"}`:         `{__name__="alive", job="a", origin="x"}`,
		`{__name__="cistern_up", job="b"}`: `{__name__="old_up", job="b", origin="x"}`,
		`{__name__="upper", job="a"}`:      `{__name__="upper", job="a", origin="x"}`,
		`{__name__="up", job="c"}`:         "",
		`{__name__="up"}`:                  "",
		`{job="a", origin="elsewhere"}`:    `{job="a", origin="x"}`,
	} {
		var pairs []labels.Label
		for _, part := range strings.Split(strings.Trim(in, "{}"), ", ") {
			name, text, _ := strings.Cut(part, "=")
			pairs = append(pairs, labels.Label{Name: name, Value: strings.Trim(text, `"`)})
		}
		got, ok := s.Labels(FromPairs(pairs))
		if ok != (want != "") || ok && got.String() != want {
			t.Errorf("%s: %s %v, want %s", in, got, ok, want)
		}
	}
}

func TestNumber(t *testing.T) {
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567", -1000: "-1,000", -999: "-999"} {
		if got := Number(n); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
