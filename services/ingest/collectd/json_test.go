package collectd

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"

	"cistern/services/ingest/admission"
	"cistern/services/ingest/ingesttest"
	"cistern/services/store/tsdb"
)

// written is what collectd 5.12 sent to write_http, but for the times.
const written = `[
{"values":[1901474177],"dstypes":["counter"],"dsnames":["value"],"time":%[1]d.123,"interval":10.000,"host":"leeloo.octo.it","plugin":"cpu","plugin_instance":"0","type":"cpu","type_instance":"idle"},
{"values":[12,34],"dstypes":["derive","derive"],"dsnames":["read","write"],"time":%[1]d,"interval":10.000,"host":"leeloo.octo.it","plugin":"disk","plugin_instance":"sda","type":"disk_octets","type_instance":"","meta":{"network:received":true}},
{"values":[null,0.5,0.25],"dstypes":["gauge","gauge","gauge"],"dsnames":["shortterm","midterm","longterm"],"time":%[1]d,"interval":10.000,"host":"leeloo.octo.it","plugin":"load","plugin_instance":"","type":"load","type_instance":""}]`

func TestJSON(t *testing.T) {
	s, mux := ingesttest.Store(t, func(s *tsdb.Store, mux *http.ServeMux) { New(s, admission.New(s)).Register(mux) })
	now := time.Now().Unix()
	w := ingesttest.Post(mux, "/api/v1/collectd", fmt.Appendf(nil, written, now), "Content-Type", "application/json")
	var answer struct {
		Accepted, RejectedCount int
		Rejected                []Rejection
	}
	if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil || w.Code != 200 || answer.Accepted != 5 || answer.RejectedCount != 1 || answer.Rejected[0].Index != 2 || answer.Rejected[0].Reason != NoValue {
		t.Fatal(w.Code, w.Body)
	}
	want := map[string]string{
		"[{__name__ collectd.cpu.cpu} {host leeloo.octo.it} {plugin_instance 0} {type_instance idle}]": "counter 1.901474177e+09",
		"[{__name__ collectd.disk.disk_octets.read} {host leeloo.octo.it} {plugin_instance sda}]":      "counter 12",
		"[{__name__ collectd.disk.disk_octets.write} {host leeloo.octo.it} {plugin_instance sda}]":     "counter 34",
		"[{__name__ collectd.load.load.midterm} {host leeloo.octo.it}]":                                "gauge 0.5",
		"[{__name__ collectd.load.load.longterm} {host leeloo.octo.it}]":                               "gauge 0.25",
	}
	if got := ingesttest.Numbers(t, s); !maps.Equal(got, want) {
		t.Errorf("%v", got)
	}
}

// What is wrong with one list does not touch the others; a body that cannot be read is refused whole.
func TestBadJSON(t *testing.T) {
	_, mux := ingesttest.Store(t, func(s *tsdb.Store, mux *http.ServeMux) { New(s, admission.New(s)).Register(mux) })
	good := `{"values":[1],"dstypes":["gauge"],"dsnames":["value"],"host":"h","plugin":"p","type":"t"}`
	for reason, lists := range map[tsdb.Reason][]string{
		BadPacket: {`{"message":"m","severity":"WARNING"}`, `{"values":[1,2],"dstypes":["gauge"],"dsnames":["a","b"],"host":"h","plugin":"p","type":"t"}`,
			`{"values":[1],"dstypes":["x"],"dsnames":["value"],"host":"h","plugin":"p","type":"t"}`},
		Incomplete:        {`{"values":[1],"dstypes":["gauge"],"dsnames":["value"],"plugin":"p","type":"t"}`},
		BadTime:           {`{"time":-1,"values":[1],"dstypes":["gauge"],"dsnames":["value"],"host":"h","plugin":"p","type":"t"}`},
		tsdb.TooOld:       {`{"time":1000,"values":[1],"dstypes":["gauge"],"dsnames":["value"],"host":"h","plugin":"p","type":"t"}`},
		tsdb.LabelTooLong: {`{"values":[1],"dstypes":["gauge"],"dsnames":["value"],"host":"` + strings.Repeat("h", 3000) + `","plugin":"p","type":"t"}`},
	} {
		for _, one := range lists {
			w := ingesttest.Post(mux, "/api/v1/collectd", []byte("["+good+","+one+","+good+"]"))
			if w.Code != 200 || !strings.Contains(w.Body.String(), `"accepted":2`) || !strings.Contains(w.Body.String(), `"index":1,"reason":"`+string(reason)+`"`) {
				t.Errorf("%.100s: %d %s", one, w.Code, w.Body)
			}
		}
	}
	for body, code := range map[string]int{"": 400, "[": 400, "[" + good: 400, "[" + good + "]x": 400, `[{"values":"x"}]`: 400, "7": 400, "[1]": 400, good: 200, "[]": 200,
		`PUTVAL "a/b/c" interval=10 1:2`: 415} {
		if w := ingesttest.Post(mux, "/api/v1/collectd", []byte(body)); w.Code != code {
			t.Errorf("%.60s: %d %s", body, w.Code, w.Body)
		}
	}
}

func FuzzJSON(f *testing.F) {
	f.Add(fmt.Appendf(nil, written, 7))
	f.Add([]byte(`{"values":[1e999,null],"dstypes":["GAUGE","x"],"dsnames":["","\u0000"],"host":"h","plugin":"p","type":"t","time":1e11}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		one := translation{now: 7, counts: map[tsdb.Reason]int{}}
		if one.decode(body) != nil {
			return
		}
		for _, s := range one.samples { // every key must be a key
			if _, err := tsdb.ParseKey(string(s.Key)); err != nil {
				t.Fatal(err)
			}
		}
	})
}
