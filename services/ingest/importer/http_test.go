package importer

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"cistern/services/ingest/admission"
	"cistern/services/ingest/ingesttest"
	"cistern/services/journal"
	"cistern/services/store/tsdb"
)

func testStore(t testing.TB) (*tsdb.Store, http.Handler) {
	t.Helper()
	return ingesttest.Store(t, func(s *tsdb.Store, mux *http.ServeMux) { New(s, admission.New(s)).Register(mux) })
}

func TestImport(t *testing.T) {
	s, h := testStore(t)
	var packed bytes.Buffer
	writer := gzip.NewWriter(&packed)
	now := float64(time.Now().Unix())
	fmt.Fprintf(writer, `{"samples":[
		{"name":"a","labels":{"x":"y"},"time":%f,"value":1.5},
		{"name":"lat","time":%f,"histogram":{"bins":{"0.0012":4,"3":1}}},
		{"name":"","value":1},
		{"name":"both","value":1,"histogram":{"bins":{"1":1}}},
		{"name":"neither"},
		{"name":"h","histogram":{"bins":{"x":1}}},
		{"name":"h","histogram":{"bins":{"1":-1}}},
		{"name":"old","time":1,"value":1},
		{"name":"n_total","value":3}
	]}`, now, now)
	writer.Close()
	w := ingesttest.Post(h, "/api/v1/import", packed.Bytes(), "Content-Encoding", "gzip")
	var answer struct {
		Accepted   int
		Rejected   []tsdb.Rejection
		Durability journal.Durability
	}
	if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil || w.Code != http.StatusOK {
		t.Fatalf("%d %s %v", w.Code, w.Body, err)
	}
	reasons := map[int]tsdb.Reason{}
	for _, one := range answer.Rejected {
		reasons[one.Index] = one.Reason
	}
	if answer.Accepted != 3 || answer.Durability != journal.Fsync || len(reasons) != 6 || reasons[2] != tsdb.BadName ||
		reasons[3] != tsdb.BadValue || reasons[7] != tsdb.TooOld {
		t.Fatalf("%s", w.Body)
	}
	if got := ingesttest.Numbers(t, s); got["[{__name__ a} {x y}]"] != "gauge 1.5" || got["[{__name__ n_total}]"] != "counter 3" {
		t.Fatalf("%v", got)
	}
	for body, code := range map[string]string{
		`{"samples":[{"name":"a","valeu":1}]}`: "unknown_field", `{"samples":[{"name":7}]}`: "invalid_request",
		`{}`: "invalid_request", `{"samples":[`: "malformed_json", ``: "malformed_json",
		`{"samples":[` + strings.Repeat(`{"name":"a","value":1},`, maxBody/20) + `]}`: "body_too_large",
	} {
		w := ingesttest.Post(h, "/api/v1/import", []byte(body))
		if !strings.Contains(w.Body.String(), `"code":"`+code+`"`) || w.Code < 400 {
			t.Errorf("%.40q: %d %s", body, w.Code, w.Body)
		}
	}
	// A bomb: gzip that unpacks to more than is allowed.
	var bomb bytes.Buffer
	writer = gzip.NewWriter(&bomb)
	_, _ = writer.Write(bytes.Repeat([]byte{' '}, maxBody+10))
	writer.Close()
	if w := ingesttest.Post(h, "/api/v1/import", bomb.Bytes(), "Content-Encoding", "gzip"); w.Code != http.StatusRequestEntityTooLarge {
		t.Errorf("bomb: %d %s", w.Code, w.Body)
	}
}

// What is not understood at all is counted too, whatever is wrong with it; an encoding that we do not know is no damage.
func TestUnreadableBodiesAreCounted(t *testing.T) {
	s, h := testStore(t)
	for i, c := range []struct {
		body, header, value string
		want                int
	}{
		{"{", "Content-Type", "application/json", 400},
		{"{}", "Content-Type", "application/json", 400},
		{"{}", "Content-Encoding", "br", 415},
		{"{}", "Content-Encoding", "gzip", 400},
	} {
		if w := ingesttest.Post(h, "/api/v1/import", []byte(c.body), c.header, c.value); w.Code != c.want {
			t.Errorf("%q %s: %d %s", c.body, c.value, w.Code, w.Body)
		}
		if n := s.Status().Rejected["malformed_body"]; n != uint64(i+1) {
			t.Errorf("%q %s: counted %d, not %d", c.body, c.value, n, i+1)
		}
	}
}

// A small request must not take a thousand times its size in memory.
func TestBombs(t *testing.T) {
	_, h := testStore(t)
	many := func(text string) string { return strings.Repeat(text, admission.MaxParts+1) }
	for what, body := range map[string]string{
		"application/json": `{"samples":[` + many("{},") + "{}]}",
		samplesType:        samplesMagic + string(binary.AppendUvarint(nil, admission.MaxParts+1)) + many("\x01\x00"),
	} {
		if w := ingesttest.Post(h, "/api/v1/import", []byte(body), "Content-Type", what); w.Code != http.StatusRequestEntityTooLarge {
			t.Errorf("%s: %d %.300s", what, w.Code, w.Body)
		}
	}
}
