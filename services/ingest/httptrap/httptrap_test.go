package httptrap

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"cistern/services/histogram"
	"cistern/services/ingest/seriesstate"
	"cistern/services/journal"
	"cistern/services/store/tsdb"

	"github.com/openhistogram/circonusllhist"
)

// memory is a store that remembers, and refuses what is older than the second 1.
type memory struct {
	mu       sync.Mutex
	samples  []string
	sum      float64 // of histograms
	rejected map[tsdb.Reason]int
	err      error
}

func (m *memory) Ingest(_ context.Context, input string, batch []tsdb.Sample, d journal.Durability) (refused []tsdb.Rejection, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.err != nil {
		return nil, m.err
	}
	if input != "trap" || d != journal.Fsync {
		return nil, fmt.Errorf("input %q, durability %q", input, d)
	}
	for i, s := range batch {
		if s.Time < 1000 {
			refused = append(refused, tsdb.Rejection{Index: i, Reason: tsdb.TooOld, Detail: "it is too old"})
			continue
		}
		labels, err := tsdb.ParseKey(string(s.Key))
		if err != nil {
			return nil, err
		}
		var text []string
		for _, l := range labels {
			text = append(text, l.Name+"="+l.Value)
		}
		line := fmt.Sprintf("%s %g", strings.TrimPrefix(strings.Join(text, ","), "__name__="), s.Value)
		if s.Kind == tsdb.Histogram {
			if len(s.Histogram.Bins) == 0 {
				return nil, errors.New("an empty histogram")
			}
			m.sum += s.Histogram.Sum()
			line = strings.TrimSuffix(line, " 0")
			for i, bin := range s.Histogram.Bins {
				line += fmt.Sprintf(" %s:%d", bin, s.Histogram.Counts[i])
			}
		}
		if s.Time != 777000 {
			line += fmt.Sprintf(" @%d", s.Time)
		}
		m.samples = append(m.samples, line)
	}
	return refused, nil
}

func (m *memory) Describe([]tsdb.Metadata)                   {}
func (m *memory) Exemplify(context.Context, []tsdb.Exemplar) {}

func (m *memory) Reject(reason tsdb.Reason, n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.rejected == nil {
		m.rejected = map[tsdb.Reason]int{}
	}
	m.rejected[reason] += n
}

func handler(m *memory) (*Handler, *http.ServeMux) {
	h, mux := New(m), http.NewServeMux()
	h.now = func() time.Time { return time.Unix(777, 0) }
	h.Register(mux)
	return h, mux
}

type answer struct {
	Stats, RejectedCount int
	Rejected             []Rejection
	Durability           string
	Code                 string
}

func send(t testing.TB, mux *http.ServeMux, method, path, encoding string, body []byte) (*httptest.ResponseRecorder, answer) {
	t.Helper()
	r := httptest.NewRequest(method, path, bytes.NewReader(body))
	r.Header.Set("Content-Encoding", encoding)
	w := httptest.NewRecorder()
	mux.ServeHTTP(w, r)
	var a answer
	if err := json.Unmarshal(w.Body.Bytes(), &a); err != nil {
		t.Fatal(err, w.Body)
	}
	return w, a
}

var bodies = []struct {
	body     string
	want     []string
	rejected []string // path and reason
}{
	{`{"a":1,"b":{"c":-2.5e-1,"d.e":{"f":3}}}`, []string{"a 1", "b.c -0.25", "b.d.e.f 3"}, nil},
	{`{"a":"1.5","b":" 1","c":"","d":"NaN","e":"0x10","f":"ok"}`, []string{"a 1.5"}, []string{"b trap_text", "c trap_text", "d trap_text", "e trap_text", "f trap_text"}},
	{`{"a":null,"b":true,"c":1e999,"d":{},"":1,"e":{"":2}}`, []string{"e. 2"}, []string{"a trap_null", "b trap_boolean", "c bad_value", " bad_name"}},
	{`{"a":[1,1,"2.5",2.51,-7,0]}`, []string{"a -7.0e0:1 0:1 1.0e0:2 2.5e0:2"}, nil},
	{`{"a":["H[1.2e-3]=4","H[-0.5]=1","H[0]=2"],"b":{"_type":"h","_value":["H[1e1]=3",11]}}`, []string{"a -5.0e-1:1 0:2 1.2e-3:4", "b 1.0e1:3 1.1e1:1"}, nil},
	{`{"a":[1,null,true,"x",[2],{"b":1},1e200,"H[1]","H[x]=1","H[1]=-1","H[1]=1e3","H[1e200]=1","H[1]=9007199254740993"]}`, []string{"a 1.0e0:1"},
		[]string{"a[1] trap_null", "a[2] trap_boolean", "a[3] trap_text", "a[4] trap_nested", "a[5] trap_nested", "a[6] bad_value", "a[7] bad_value", "a[8] bad_value",
			"a[9] bad_value", "a[10] bad_value", "a[11] bad_value", "a[12] bad_value"}},
	{`{"a":[],"b":[null],"c":["H[1]=0"]}`, nil, []string{"a empty_histogram", "b[0] trap_null", "c empty_histogram"}},
	{`{"a":{"_type":"n","_value":1.5,"_ts":2000,"_tags":["k:v","x:y:z","flag"],"_fl":4}}`, []string{"a,flag=true,k=v,x=y:z 1.5 @2000"}, nil},
	{`{"a":{"_type":"L","_value":"18446744073709551615"},"b":{"_type":"i","_value":-1},"c":{"_type":"l","_value":1.5},"d":{"_value":2}}`,
		[]string{"a 1.8446744073709552e+19", "b -1", "d 2"}, []string{"c bad_value"}},
	{`{"a":{"_type":"s","_value":"1"},"b":{"_type":"q","_value":1},"c":{"_type":7,"_value":1},"d":{"_type":"n","_value":[1]},"e":{"_type":"h","_value":1},"f":{"_value":{"g":1}},"g":{"_type":"n","_value":null}}`,
		nil, []string{"a trap_text", "b trap_unknown_type", "c trap_unknown_type", "d trap_nested", "e trap_nested", "f trap_nested", "g trap_null"}},
	{`{"a":{"_value":1,"_ts":"x"},"b":{"_value":1,"_ts":-1},"c":{"_value":1,"_ts":[]},"d":{"_value":1,"_ts":1},"e":{"_value":1,"_ts":"3000"}}`,
		[]string{"e 1 @3000"}, []string{"a trap_bad_time", "b trap_bad_time", "c trap_bad_time", "d too_old"}},
	{`{"a":{"_value":1,"_tags":"k:v"},"b":{"_value":1,"_tags":[1]},"c":{"_value":1,"_tags":[":v"]},"d":{"_value":1,"_tags":["__name__:v"]},"e":{"_value":1,"_tags":["b\"!\":x"]}}`,
		nil, []string{"a trap_bad_tag", "b trap_bad_tag", "c trap_bad_tag", "d trap_bad_tag", "e trap_bad_tag"}},
	{`{"a|ST[k:v,x:y]":1,"b|ST[k:v]":{"c|ST[k:w]":2,"d":{"_value":3,"_tags":["k:z"]}},"e|ST[b\"aw==\":b\"YSxi\"]":4,"f|ST[x":5,"g|ST[]":6}`,
		[]string{"a,k=v,x=y 1", "b.c,k=w 2", "b.d,k=z 3", "e,k=a,b 4", "g 6"}, []string{"f trap_bad_tag"}},
	// Of one metric, several times.
	{`{"a":[{"_value":1,"_ts":1000},{"_value":2,"_ts":2000},{"_value":null}]}`, []string{"a 1 @1000", "a 2 @2000"}, []string{"a[2] trap_null"}},
	{`{"a":{"_value":1,"b":2}}`, []string{"a 1", "a.b 2"}, nil},
	{`{"größe":1,"a":1,"a":2}`, []string{"größe 1", "a 1", "a 2"}, nil},
	{`{}`, nil, nil},
}

func TestBodies(t *testing.T) {
	for _, c := range bodies {
		m := &memory{}
		_, mux := handler(m)
		w, a := send(t, mux, "POST", "/api/v1/trap", "", []byte(c.body))
		if w.Code != 200 || a.Stats != len(c.want) || !slices.Equal(m.samples, c.want) || a.Durability != "fsync" {
			t.Errorf("%s: %d %s: %q, want %q", c.body, w.Code, w.Body, m.samples, c.want)
		}
		var rejected []string
		counts := map[tsdb.Reason]int{}
		for _, one := range a.Rejected {
			rejected = append(rejected, one.Path+" "+string(one.Reason))
			if one.Reason != tsdb.TooOld { // the store counts its own
				counts[one.Reason]++
			}
			if one.Detail == "" {
				t.Errorf("%s: %+v", c.body, one)
			}
		}
		if !slices.Equal(rejected, c.rejected) || a.RejectedCount != len(c.rejected) || len(counts) > 0 && !maps.Equal(counts, m.rejected) {
			t.Errorf("%s: refused %q, want %q; counted %v", c.body, rejected, c.rejected, m.rejected)
		}
	}
}

func TestCheckAndGzip(t *testing.T) {
	m := &memory{}
	_, mux := handler(m)
	var body bytes.Buffer
	z := gzip.NewWriter(&body)
	_, _ = z.Write([]byte(`{"a":1,"b|ST[check:mine]":2}`))
	_ = z.Close()
	if w, _ := send(t, mux, "PUT", "/api/v1/trap/web%20shop", "gzip", body.Bytes()); w.Code != 200 {
		t.Fatal(w.Body)
	}
	if want := []string{"a,check=web shop 1", "b,check=web shop,exported_check=mine 2"}; !slices.Equal(m.samples, want) {
		t.Errorf("%q", m.samples)
	}
}

// What the reference library encodes.
func TestBase64(t *testing.T) {
	reference := circonusllhist.New()
	for _, v := range []float64{0, 0.0012, -3.4e20, 9.9e-100, 57} {
		if err := reference.RecordValues(v, 70_000); err != nil {
			t.Fatal(err)
		}
	}
	_ = reference.RecordValue(57)
	var encoded bytes.Buffer
	if err := reference.SerializeB64(&encoded); err != nil {
		t.Fatal(err)
	}
	m := &memory{}
	_, mux := handler(m)
	send(t, mux, "POST", "/api/v1/trap", "", fmt.Appendf(nil, `{"a":{"_type":"h","_value":%q},"b":{"_type":"h","_value":"AAA"},"c":{"_type":"h","_value":"AAE="},"d":{"_type":"h","_value":"AAEBAQAB"},"e":{"_type":"h","_value":"AAA="}}`, &encoded))
	if want := []string{"a -3.4e20:70000 0:70000 9.9e-100:70000 1.2e-3:70000 5.7e1:70001"}; !slices.Equal(m.samples, want) {
		t.Errorf("%q", m.samples)
	}
	if want := (map[tsdb.Reason]int{tsdb.BadValue: 3, tsdb.EmptySample: 1}); !maps.Equal(m.rejected, want) {
		t.Errorf("refused %v", m.rejected)
	}
}

// Values keep their sum, whatever their bins; of bins that come as such a value counts as the middle.
func TestSum(t *testing.T) {
	m := &memory{}
	_, mux := handler(m)
	send(t, mux, "POST", "/api/v1/trap", "", []byte(`{"a":[10,10.5,"H[1]=2",0.25,{"_type":"h","_value":[10]}],"c":{"_type":"H","_value":[3]}}`))
	send(t, mux, "POST", "/api/v1/trap", "", []byte(`{"c":{"_type":"H","_value":[3,7.25]}}`))
	if want := 10 + 10.5 + 2*1.05 + 0.25 + 10 + 7.25; math.Abs(m.sum-want) > 1e-12 {
		t.Errorf("the sum is %v, want %v (%q)", m.sum, want, m.samples)
	}
}

// Of cumulative histograms the difference is stored, once.
func TestCumulative(t *testing.T) {
	m := &memory{}
	h, mux := handler(m)
	for _, c := range []struct {
		ts, err int
		bins    string
		want    []string
	}{
		{1000, 0, `"H[1]=5"`, nil},
		{2000, 0, `"H[1]=7","H[2]=1"`, []string{"a 1.0e0:2 2.0e0:1 @2000"}},
		{3000, 503, `"H[1]=8","H[2]=1"`, nil},
		{3000, 0, `"H[1]=8","H[2]=1"`, []string{"a 1.0e0:1 @3000"}},
		{4000, 0, `"H[1]=8","H[2]=1"`, nil},
		{2500, 0, `"H[1]=7","H[2]=1"`, nil},                                 // out of order
		{5000, 0, `"H[2]=3"`, []string{"a 2.0e0:3 @5000"}},                  // began anew
		{6000, 0, `"H[2]=3","H[3]=1"`, []string{"a 3.0e0:1 @6000"}},         //
		{7000, 0, `"H[1]=1","H[2]=3"`, []string{"a 1.0e0:1 2.0e0:3 @7000"}}, // anew again: the bin 3 is gone
	} {
		m.samples, m.err = nil, nil
		if c.err > 0 {
			m.err = errors.New("the pool is full")
		}
		w, a := send(t, mux, "POST", "/api/v1/trap", "", fmt.Appendf(nil, `{"a":{"_type":"H","_value":[%s],"_ts":%d}}`, c.bins, c.ts))
		if !slices.Equal(m.samples, c.want) || c.err > 0 && w.Code != c.err || a.Stats != len(c.want) {
			t.Errorf("%s: %d %q, want %q", c.bins, w.Code, m.samples, c.want)
		}
	}
	if m.rejected[tsdb.OutOfOrder] != 1 || h.latest.Len() != 1 {
		t.Errorf("refused %v", m.rejected)
	}
	h.now = func() time.Time { return time.Unix(777, 0).Add(2 * seriesstate.ForgetAfter) }
	send(t, mux, "POST", "/api/v1/trap", "", []byte(`{"b":{"_type":"H","_value":[1]}}`))
	if h.latest.Len() != 1 {
		t.Error("what has ended is still remembered")
	}
	for i := range maxRemembered {
		h.latest.Set(fmt.Sprint(i), remembered{}, h.now())
	}
	if _, a := send(t, mux, "POST", "/api/v1/trap", "", []byte(`{"c":{"_type":"H","_value":[1]}}`)); a.RejectedCount != 1 || m.rejected[tsdb.SeriesLimit] != 1 {
		t.Errorf("%+v", a)
	}
}

// Nothing of a body that cannot be read is stored, also when it begins well.
func TestUnreadable(t *testing.T) {
	bomb := &bytes.Buffer{}
	z := gzip.NewWriter(bomb)
	_, _ = z.Write(bytes.Repeat([]byte{' '}, maxBody+1))
	_ = z.Close()
	for _, c := range []struct {
		name, encoding string
		body           []byte
		status         int
		code           string
	}{
		{"empty", "", nil, 400, "malformed_json"},
		{"cut", "", []byte(`{"a":1,"b":`), 400, "malformed_json"},
		{"cut within", "", []byte(`{"a":1,"b":[1,`), 400, "malformed_json"},
		{"wrong", "", []byte(`{"a":1,"b":x}`), 400, "malformed_json"},
		{"brackets", "", []byte(`{"a":[1}`), 400, "malformed_json"},
		{"more behind", "", []byte(`{"a":1}{"a":2}`), 400, "malformed_json"},
		{"a list", "", []byte(`[{"a":1}]`), 400, "invalid_request"},
		{"a number", "", []byte(`1`), 400, "invalid_request"},
		{"deep", "", []byte(strings.Repeat(`{"a":`, 1000) + "1" + strings.Repeat("}", 1000)), 400, "malformed_json"},
		{"many", "", []byte(`{"a":[` + strings.Repeat("1,", maxNodes) + `1]}`), 413, "body_too_large"},
		{"large", "", bytes.Repeat([]byte{' '}, maxBody+1), 413, "body_too_large"},
		{"a bomb", "gzip", bomb.Bytes(), 413, "body_too_large"},
		{"no gzip", "gzip", []byte(`{"a":1}`), 400, "malformed_json"},
		{"another encoding", "br", []byte(`{"a":1}`), 415, "unsupported_media_type"},
	} {
		m := &memory{}
		_, mux := handler(m)
		w, a := send(t, mux, "POST", "/api/v1/trap", c.encoding, c.body)
		if w.Code != c.status || a.Code != c.code || len(m.samples) > 0 || m.rejected["malformed_body"] != 1 {
			t.Errorf("%s: %d %.300s, refused %v", c.name, w.Code, w.Body, m.rejected)
		}
	}
	m := &memory{err: errors.New("the pool is full")}
	_, mux := handler(m)
	if w, a := send(t, mux, "POST", "/api/v1/trap", "", []byte(`{"a":1}`)); w.Code != 503 || a.Code != "service_unavailable" || w.Header().Get("Retry-After") == "" {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

// Long names and many rejections cost no more than the body.
func TestLimits(t *testing.T) {
	m := &memory{}
	_, mux := handler(m)
	body := `{"good":1,"` + strings.Repeat("n", 4<<20) + `":{` + strings.Repeat(`"a":1,`, 100_000) + `"a":1},"list":[` + strings.Repeat("null,", 100_000) + `1],
		"t|ST[` + strings.Repeat("a:b,", 1000) + `]":1,"u":{"_value":1,"_tags":[` + strings.Repeat(`"a:b",`, 100) + `"a:b"]},"` + manyTags(40, "x") + `":{"` + manyTags(40, "y") + `":1},
		"` + manyTags(60, "x") + `":{"` + manyTags(4, "y") + `":1}}`
	w, a := send(t, mux, "POST", "/api/v1/trap", "", []byte(body))
	if w.Code != 200 || a.Stats != 2 || len(a.Rejected) != maxListed || a.RejectedCount != 100_005 || w.Body.Len() > 100_000 {
		t.Errorf("%d: %d, %d, %d %v %q", w.Code, a.Stats, len(a.Rejected), a.RejectedCount, m.rejected, m.samples)
	}
	if want := (map[tsdb.Reason]int{Null: 100_000, tsdb.LabelTooLong: 1, BadTag: 2, tsdb.TooManyLabels: 2}); !maps.Equal(m.rejected, want) {
		t.Errorf("refused %v", m.rejected)
	}
}

func manyTags(n int, prefix string) string {
	var tags []string
	for i := range n {
		tags = append(tags, fmt.Sprintf("%s%d:1", prefix, i))
	}
	return "many|ST[" + strings.Join(tags, ",") + "]"
}

func FuzzTrap(f *testing.F) {
	for _, c := range bodies {
		f.Add([]byte(c.body))
	}
	f.Add([]byte(`{"a":{"_type":"H","_value":["H[1]=5"]},"b":{"_type":"h","_value":"AAEMAAAB"}}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		_, mux := handler(&memory{})
		// 503 would be a key or a histogram that the store cannot take.
		if w, _ := send(t, mux, "POST", "/api/v1/trap/c", "", body); w.Code == 503 {
			t.Fatal(w.Body)
		}
	})
}

// Each value, of some bytes, has the tags of the objects around it in its key.
func TestTagsOfManyValues(t *testing.T) {
	m := &memory{}
	_, mux := handler(m)
	var tags []string
	for i := range 60 {
		tags = append(tags, fmt.Sprintf("t%d:%s", i, strings.Repeat("x", tsdb.MaxLabelValue)))
	}
	var members []string
	for i := range 1000 {
		members = append(members, fmt.Sprintf(`"%d":1`, i))
	}
	w, _ := send(t, mux, "POST", "/api/v1/trap", "", []byte(`{"a|ST[`+strings.Join(tags, ",")+`]":{`+strings.Join(members, ",")+`}}`))
	if w.Code != http.StatusRequestEntityTooLarge || len(m.samples) > 0 {
		t.Errorf("%d %.300s", w.Code, w.Body)
	}
}

// What the store refused of a cumulative histogram is in the next difference: only what is stored is what the next one
// is compared with.
func TestCumulativeRefused(t *testing.T) {
	m := &memory{}
	_, mux := handler(m)
	for _, c := range []struct {
		body string
		want []string
	}{
		{`{"a":{"_type":"H","_value":["H[1]=5"],"_ts":500},"b":{"_type":"H","_value":["H[1]=5"],"_ts":500}}`, nil},
		{`{"a":{"_type":"H","_value":["H[1]=7"],"_ts":900},"b":{"_type":"H","_value":["H[1]=6"],"_ts":1500}}`, []string{"b 1.0e0:1 @1500"}},
		{`{"a":[{"_type":"H","_value":["H[1]=8"],"_ts":2000},{"_type":"H","_value":["H[1]=9"],"_ts":3000}],"b":{"_type":"H","_value":["H[1]=7"],"_ts":2000}}`,
			[]string{"a 1.0e0:3 @2000", "a 1.0e0:1 @3000", "b 1.0e0:1 @2000"}},
	} {
		m.samples = nil
		if send(t, mux, "POST", "/api/v1/trap", "", []byte(c.body)); !slices.Equal(m.samples, c.want) {
			t.Errorf("%s: %q, want %q", c.body, m.samples, c.want)
		}
	}
}

// A histogram whose bins come in the worst order, which would cost the square of their number if each were put into its place.
func TestBase64InAnyOrder(t *testing.T) {
	h := &histogram.Histogram{}
	for bin := -histogram.MaxBin; bin <= histogram.MaxBin; bin++ {
		h.Add(bin, 1)
	}
	raw := h.AppendReference(nil)
	for i, j := 2, len(raw)-4; i < j; i, j = i+4, j-4 {
		a, b := [4]byte(raw[i:]), [4]byte(raw[j:])
		copy(raw[i:], b[:])
		copy(raw[j:], a[:])
	}
	got, err := parseBase64(base64.StdEncoding.EncodeToString(raw))
	if err != nil || !got.Equal(h) {
		t.Fatal(err)
	}
}

// The error for something that is no histogram says what one is.
func TestNoHistogram(t *testing.T) {
	_, mux := handler(&memory{})
	_, a := send(t, mux, "POST", "/api/v1/trap", "", []byte(`{"a":{"_type":"h","_value":5}}`))
	if len(a.Rejected) != 1 || !strings.Contains(a.Rejected[0].Detail, "H[1.2e-3]=4") {
		t.Errorf("%+v", a)
	}
}
