package influx

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"cistern/services/store/tsdb"

	"github.com/influxdata/line-protocol/v2/lineprotocol"
)

// What the encoder of InfluxDB's own clients writes is read as it was meant, whatever the names and tags are.
func TestEncoderOfClients(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	letters := []string{"a", "b", "ö", ",", " ", "=", `"`, ".", "-", "#", ":", `\`}
	text := func() string {
		all := "x" // an escape at the beginning of a line would be a comment's or a blank's
		for range 1 + r.IntN(5) {
			all += letters[r.IntN(len(letters))]
		}
		return all + "z" // the encoder refuses what ends with a backslash
	}
	for i := range 5000 {
		var e lineprotocol.Encoder
		e.SetPrecision(lineprotocol.Nanosecond)
		name, at := text(), time.Unix(1_700_000_000+int64(i), int64(r.IntN(1e9)))
		e.StartLine(name)
		tags := map[string]string{}
		for range r.IntN(4) {
			tags[text()] = text()
		}
		labels := []tsdb.Label{{}}
		keys := make([]string, 0, len(tags))
		for key := range tags {
			keys = append(keys, key)
		}
		slices.Sort(keys)
		for _, key := range keys {
			e.AddTag(key, tags[key])
			labels = append(labels, tsdb.Label{Name: key, Value: tags[key]})
		}
		field, n := text(), r.Int64()
		e.AddField("a text", lineprotocol.MustNewValue(text()+"\n"+text()))
		e.AddField(field, lineprotocol.MustNewValue(n))
		e.AddField(field+"2", lineprotocol.MustNewValue(r.NormFloat64()))
		e.AddField(field+"3", lineprotocol.MustNewValue(n%2 == 0))
		e.EndLine(at)
		if e.Err() != nil {
			t.Fatal(e.Err())
		}
		labels[0] = tsdb.Label{Name: tsdb.NameLabel, Value: name + "_" + field}
		key, err := tsdb.AppendKey(nil, labels)
		if err != nil {
			t.Fatal(err)
		}
		all := &points{line: 1}
		p := parser{now: 7, unit: 1}
		rest, wrong := p.line(e.Bytes(), all)
		if wrong != nil || len(rest) > 0 || len(all.samples) != 3 || all.counts[Text] != 1 {
			t.Fatalf("%q: %+v, %d samples, %q left", e.Bytes(), wrong, len(all.samples), rest)
		}
		if s := all.samples[0]; string(s.Key) != string(key) || s.Value != float64(n) || s.Time != at.UnixMilli() {
			got, _ := tsdb.ParseKey(string(s.Key))
			t.Fatalf("%q: %q %v at %d, want %q", e.Bytes(), got, s.Value, s.Time, labels)
		}
	}
	// Many lines at once.
	var e lineprotocol.Encoder
	for i := range 100 {
		e.StartLine(fmt.Sprint("m", i))
		e.AddField("v", lineprotocol.MustNewValue(float64(i)))
		e.EndLine(time.Time{})
	}
	if got, wrong, _ := parsed(string(e.Bytes()), "", 1); len(got) != 100 || wrong != nil || !strings.HasPrefix(got[99], "m99_v 99") {
		t.Errorf("%d %+v", len(got), wrong)
	}
}
