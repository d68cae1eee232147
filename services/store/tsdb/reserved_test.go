package tsdb

import (
	"context"
	"strings"
	"testing"

	"cistern/services/journal"
	"cistern/services/platform/vfs"
)

// Of a name that the appliance writes itself, samples come from nobody else, and from everybody again when that is over.
func TestNamesOfRules(t *testing.T) {
	f := openStore(t, testOptions(vfs.NewMemory()))
	now := start.UnixMilli()
	send := func(ctx context.Context, at int64, name string) []Rejection {
		t.Helper()
		key, err := AppendKey(nil, []Label{{NameLabel, name}, {"job", "a"}})
		if err != nil {
			t.Fatal(err)
		}
		rejected, err := f.Ingest(ctx, "test", []Sample{{Key: key, Kind: Gauge, Time: at, Value: 1}}, journal.Buffered)
		if err != nil {
			t.Fatal(err)
		}
		return rejected
	}
	theirs := WithSender(t.Context(), &limited{left: 1 << 20})
	for _, name := range []string{"old", "other"} {
		if rejected := send(theirs, now, name); len(rejected) > 0 {
			t.Fatal(rejected)
		}
	}
	f.ReserveNames([]string{"old", "new"})
	for _, name := range []string{"old", "new"} {
		for range 2 {
			if rejected := send(theirs, now, name); len(rejected) != 1 || rejected[0].Reason != ReservedName || !strings.Contains(rejected[0].Detail, "rename the rule") {
				t.Error(name, rejected)
			}
		}
		if rejected := send(t.Context(), now, name); len(rejected) > 0 {
			t.Error(rejected)
		}
		if rejected := send(theirs, now, name); len(rejected) != 1 { // the series is there now
			t.Error(name, rejected)
		}
	}
	if rejected := send(theirs, now, "other"); len(rejected) > 0 {
		t.Error(rejected)
	}
	if _, err := f.Flush(); err != nil { // the series are made anew in the next head
		t.Fatal(err)
	}
	if rejected := send(t.Context(), now, "new"); len(rejected) > 0 {
		t.Error(rejected)
	}
	if rejected := send(theirs, now, "new"); len(rejected) != 1 {
		t.Error(rejected)
	}
	f.ReserveNames(nil)
	for _, name := range []string{"old", "new"} {
		if rejected := send(theirs, now, name); len(rejected) > 0 {
			t.Error(rejected)
		}
	}
}
