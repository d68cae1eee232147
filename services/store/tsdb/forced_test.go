package tsdb

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"runtime"
	"strings"
	"testing"

	"cistern/services/journal"
	"cistern/services/platform/vfs"
)

// rawKey is labels as a client sends them: in any order, twice, or empty.
func rawKey(labels ...Label) []byte { return appendUnchecked(nil, labels) }

func keyFrom(t testing.TB, labels ...Label) []byte {
	t.Helper()
	key, err := AppendKey(nil, labels)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// What is sent has the forced labels and no others of their names, whatever was sent, and makes one series with what had them already.
func TestForcedLabels(t *testing.T) {
	f := openStore(t, testOptions(vfs.NewMemory()))
	forced := WithForcedLabels(t.Context(), []Label{{"site", "berlin"}, {"rack", "7"}})
	now := start.UnixMilli()
	own := keyFrom(t, Label{NameLabel, "g"}, Label{"host", "a"}, Label{"rack", "7"}, Label{"site", "berlin"})
	many := []Label{{NameLabel, "many"}}
	for i := range MaxLabels - 2 {
		many = append(many, Label{fmt.Sprintf("l%02d", i), "x"})
	}
	for _, c := range []struct {
		sent   []byte
		raw    bool
		reason Reason
	}{
		{own, false, ""},
		{own, true, ""},
		{keyFrom(t, Label{NameLabel, "g"}, Label{"host", "a"}), false, ""},
		{keyFrom(t, Label{NameLabel, "g"}, Label{"host", "a"}, Label{"site", "paris"}), false, ""},
		{rawKey(Label{"site", "paris"}, Label{"host", "a"}, Label{NameLabel, "g"}), true, ""},
		{rawKey(Label{NameLabel, "g"}, Label{"host", "a"}, Label{"site", ""}), true, ""},
		{rawKey(Label{NameLabel, "g"}, Label{"host", "a"}, Label{"site", "paris"}, Label{"site", "rome"}), true, ""},
		{rawKey(Label{"host", "a"}), true, BadName},
		{rawKey(Label{NameLabel, "g"}, Label{"host", "a"}, Label{"host", "b"}), true, BadLabel},
		{rawKey(Label{NameLabel, "g"}, Label{"host", "\xff"}), true, BadLabel},
		{[]byte("\x0a\x7fnot a key"), true, BadLabel},
		{keyFrom(t, append(many, Label{"last", "x"})...), false, TooManyLabels}, // with both it has one too many
	} {
		sent := bytes.Clone(c.sent)
		now++
		rejected, err := f.Ingest(forced, "test", []Sample{{Key: sent, Raw: c.raw, Kind: Gauge, Time: now, Value: 1}}, journal.Buffered)
		if err != nil {
			t.Fatal(err)
		}
		if c.reason == "" && len(rejected) > 0 || c.reason != "" && (len(rejected) != 1 || rejected[0].Reason != c.reason || rejected[0].Index != 0) {
			t.Errorf("%q: %v", c.sent, rejected)
		}
		if !bytes.Equal(sent, c.sent) {
			t.Errorf("%q was changed", c.sent)
		}
	}
	found, release, err := f.Select(t.Context(), 0, math.MaxInt64)
	defer release()
	if err != nil || len(found) != 1 || found[0].Key != string(own) {
		t.Fatalf("%d series, %v", len(found), err)
	}
	if times, _, err := found[0].AppendNumbers(0, math.MaxInt64, nil, nil); err != nil || len(times) != 7 {
		t.Error(times, err)
	}
}

// Within one batch samples that share a key share the forced one, and those between them do not.
func TestForcedLabelsOfABatch(t *testing.T) {
	ctx := WithForcedLabels(t.Context(), []Label{{"site", "berlin"}})
	a, b := keyFrom(t, Label{NameLabel, "a"}), keyFrom(t, Label{NameLabel, "b"}, Label{"site", "paris"})
	f := openStore(t, testOptions(vfs.NewMemory()))
	for round := range 2 { // of new series, and of known ones
		var batch []Sample
		for i, key := range [][]byte{a, a, b, b, a} {
			batch = append(batch, Sample{Key: key, Kind: Gauge, Time: start.UnixMilli() + int64(round*10+i), Value: float64(round*10 + i)})
		}
		if rejected, err := f.Ingest(ctx, "test", batch, journal.Buffered); err != nil || len(rejected) > 0 {
			t.Fatal(rejected, err)
		}
	}
	for name, want := range map[string]string{"a": "[0 1 4 10 11 14]", "b": "[2 3 12 13]"} {
		found, release, err := f.Select(t.Context(), 0, math.MaxInt64, equal(NameLabel, name))
		if err != nil || len(found) != 1 || FormatLabels(found[0].Labels()) != name+`{site="berlin"}` {
			t.Fatal(len(found), err)
		}
		if _, values, err := found[0].AppendNumbers(0, math.MaxInt64, nil, nil); err != nil || fmt.Sprint(values) != want {
			t.Errorf("%s: %v %v, want %s", name, values, err, want)
		}
		release()
	}
}

// Long keys that samples share by turns are made once, and are as right as others.
func TestForcedLabelsOfLongKeys(t *testing.T) {
	ctx := WithForcedLabels(t.Context(), []Label{{"site", "berlin"}})
	f := openStore(t, testOptions(vfs.NewMemory()))
	var keys [][]byte
	for _, name := range []string{"a", "b"} {
		labels := []Label{{NameLabel, name}, {"site", "paris"}}
		for i := range 50 {
			labels = append(labels, Label{fmt.Sprintf("l%02d", i), strings.Repeat("x", 2000)})
		}
		keys = append(keys, keyFrom(t, labels...))
	}
	short := keyFrom(t, Label{NameLabel, "c"})
	batch := make([]Sample, 0, 30_000)
	for i := range cap(batch) {
		key := short
		if i%3 < 2 {
			key = keys[i%3]
		}
		batch = append(batch, Sample{Key: key, Raw: true, Kind: Gauge, Time: start.UnixMilli() + int64(i), Value: 1})
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if rejected, err := f.Ingest(ctx, "test", batch, journal.Buffered); err != nil || len(rejected) > 0 {
		t.Fatal(len(rejected), err)
	}
	runtime.ReadMemStats(&after)
	// 20,000 keys of a hundred kilobytes are two gigabytes.
	if bytes := after.TotalAlloc - before.TotalAlloc; bytes > 64<<20 {
		t.Errorf("%d bytes were taken for 30,000 samples of three series", bytes)
	}
	found, release, err := f.Select(t.Context(), 0, math.MaxInt64, equal("site", "berlin"))
	defer release()
	if err != nil || len(found) != 3 {
		t.Fatal(len(found), err)
	}
	for _, one := range found {
		if times, _, err := one.AppendNumbers(0, math.MaxInt64, nil, nil); err != nil || len(times) != len(batch)/3 {
			t.Error(len(times), err)
		}
	}
}

func TestForcedLabelsOfExemplars(t *testing.T) {
	f := openStore(t, testOptions(vfs.NewMemory()))
	ctx := WithForcedLabels(t.Context(), []Label{{"site", "berlin"}})
	f.Exemplify(ctx, []Exemplar{
		{Key: keyFrom(t, Label{NameLabel, "a"}, Label{"site", "paris"}), Labels: []Label{{"trace_id", "1"}}, Value: 1, Time: start.UnixMilli()},
		{Key: []byte("no key"), Labels: []Label{{"trace_id", "2"}}, Value: 1, Time: start.UnixMilli()},
	})
	sets := f.Exemplars(t.Context(), 0, math.MaxInt64)
	if len(sets) != 1 || FormatLabels(sets[0].Labels) != `a{site="berlin"}` {
		t.Fatal(sets)
	}
	narrowed := WithSelector(t.Context(), []*Matcher{equal("site", "paris")})
	if sets = f.Exemplars(narrowed, 0, math.MaxInt64); len(sets) != 0 {
		t.Error(sets)
	}
}

// Who has no selector pays nothing for it, and what counts whole indexes is refused to who has one.
func TestSelectorOfAContext(t *testing.T) {
	f := openStore(t, testOptions(vfs.NewMemory()))
	var batch []Sample
	for _, site := range []string{"berlin", "paris"} {
		batch = append(batch, Sample{Key: keyFrom(t, Label{NameLabel, "g"}, Label{"site", site}, Label{"of_" + site, "x"}), Kind: Gauge, Time: start.UnixMilli(), Value: 1})
	}
	narrowed := WithSelector(t.Context(), []*Matcher{equal("site", "berlin")})
	if _, err := f.Ingest(t.Context(), "test", batch, journal.Buffered); err != nil {
		t.Fatal(err)
	}
	for _, where := range []string{"in memory", "in a block"} {
		for _, c := range []struct {
			ctx  context.Context
			want string
		}{{t.Context(), "[berlin paris] [__name__ of_berlin of_paris site]"}, {narrowed, "[berlin] [__name__ of_berlin site]"}} {
			values, err := f.LabelValues(c.ctx, "site", 0, math.MaxInt64)
			names, err2 := f.LabelNames(c.ctx, 0, math.MaxInt64)
			if got := fmt.Sprint(values, names); err != nil || err2 != nil || got != c.want {
				t.Errorf("%s: %s, want %s; %v %v", where, got, c.want, err, err2)
			}
			found, release, err := f.Select(c.ctx, 0, math.MaxInt64, equal(NameLabel, "g"))
			if err != nil || len(found) != len(values) {
				t.Errorf("%s: %d series, %v", where, len(found), err)
			}
			release()
		}
		if _, err := f.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := f.Cardinality(narrowed, 0, math.MaxInt64, 10); err == nil {
		t.Error("the cardinality of all series is told")
	}
	if _, err := f.Sizes(narrowed, "site"); err == nil {
		t.Error("the sizes of all series are told")
	}
	ctx, matchers := t.Context(), []*Matcher{equal("a", "b")}
	if n := testing.AllocsPerRun(100, func() { matchers = narrow(ctx, matchers) }); n != 0 {
		t.Errorf("%v allocations without a selector", n)
	}
}
