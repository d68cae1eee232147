package web

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"
)

type recorded struct {
	Log     string  `json:"log"`
	Dropped int64   `json:"dropped"`
	Entries []Entry `json:"entries"`
}

func behind(t *testing.T, r *Record, log string, after int64) recorded {
	t.Helper()
	w := httptest.NewRecorder()
	r.ServeHTTP(w, httptest.NewRequest("GET", fmt.Sprintf("/audit-entries?log=%s&after=%d", log, after), nil))
	var found recorded
	if err := json.Unmarshal(w.Body.Bytes(), &found); err != nil || w.Code != 200 {
		t.Fatal(w.Code, w.Body)
	}
	return found
}

// Whoever signs in at the page, or is refused, is written down, and so is what is asked for there; over a restart, too.
func TestWhatIsDoneAtThePageIsRecorded(t *testing.T) {
	s, h := webOf(t)
	path := filepath.Join(t.TempDir(), "record.json")
	s.API.Record = &Record{Path: path}
	call(h, "POST", "/support/session", `{"user":"admin","password":"wrong"}`, "192.0.2.7")
	call(h, "POST", "/support/session", `{"user":"correct horse","password":"admin"}`, "192.0.2.7")
	cookie := call(h, "POST", "/support/session", `{"user":"admin","password":"correct horse"}`, "192.0.2.7").Result().Cookies()[0]
	call(h, "GET", "/support/bundles", "", "192.0.2.7", cookie)
	call(h, "DELETE", "/support/bundles/none", "", "192.0.2.7", cookie)
	call(h, "GET", "/support/bundles/none/content", "", "192.0.2.7", cookie)
	call(h, "DELETE", "/support/session", "", "192.0.2.7", cookie)
	all := behind(t, &Record{Path: path}, "", 0)
	var what []string
	for i, e := range all.Entries {
		if e.Number != int64(i+1) || e.Address != "192.0.2.7" || time.Since(e.Time) > time.Minute {
			t.Errorf("%+v", e)
		}
		what = append(what, e.User+" "+e.Action+" "+e.Target)
	}
	// A name that is nobody's may be a password.
	want := []string{"admin support.refused admin", " support.refused an unknown name", "admin support.sign-in admin",
		"admin support.request DELETE /support/bundles/none", "admin support.request GET /support/bundles/none/content", "admin support.sign-out admin"}
	if fmt.Sprint(what) != fmt.Sprint(want) {
		t.Errorf("%q", what)
	}
	if later := behind(t, s.API.Record, all.Log, 4); len(later.Entries) != 2 || later.Entries[0].Number != 5 {
		t.Errorf("%+v", later)
	}
	if other := behind(t, s.API.Record, "another", 4); len(other.Entries) != 6 {
		t.Errorf("numbers of another file: %+v", other)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Error(info, err)
	}
}

// Whoever is refused again and again does not push out who was let in.
func TestTheRecordIsBounded(t *testing.T) {
	r := &Record{Path: filepath.Join(t.TempDir(), "record.json")}
	r.Add(Entry{User: "admin", Action: "support.sign-in"})
	for range mostRecorded + 20 {
		r.Add(Entry{Action: actionRefused})
	}
	all := behind(t, r, "", 0)
	if len(all.Entries) != mostRecorded || all.Dropped != 21 || all.Entries[0].Action != "support.sign-in" {
		t.Errorf("%d entries, %d dropped, the first %+v", len(all.Entries), all.Dropped, all.Entries[0])
	}
	// A damaged file is begun anew, under another name of the log.
	if err := os.WriteFile(r.Path, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if anew := behind(t, &Record{Path: r.Path}, all.Log, 0); len(anew.Entries) != 0 || anew.Log == all.Log {
		t.Errorf("%+v", anew)
	}
}
