package web

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"cistern/services/platform/golden"
)

var goldenTime = time.Date(2026, 11, 23, 4, 5, 6, 0, time.UTC)

// Who had used up the guesses in another version has none after an update, and browsers stay known.
func TestGoldenGuesses(t *testing.T) {
	golden.Check(t, "guesses", func(t *testing.T) golden.Files {
		path := filepath.Join(t.TempDir(), "guesses.json")
		made := openThrottle(path)
		for range maxGuesses {
			g, err := made.begin("admin", "192.0.2.1", "", goldenTime)
			if err != nil {
				t.Fatal(err)
			}
			g.compared()
		}
		known, err := made.begin("admin", "2001:db8::1", "", goldenTime)
		if err != nil {
			t.Fatal(err)
		}
		known.compared()
		known.right(hashOf("golden"), goldenTime)
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return golden.Files{"guesses.json": content}
	}, func(t *testing.T, files golden.Files) {
		read := reread(t, files["guesses.json"])
		var locked lockedOut
		if _, err := read.begin("admin", "192.0.2.1", "", goldenTime); !errors.As(err, &locked) || locked.wait != oneMore {
			t.Errorf("%v, want another guess in %v", err, oneMore)
		}
		if want := (browser{"admin", goldenTime}); read.browsers[hashOf("golden")] != want {
			t.Errorf("%v, want %v", read.browsers, want)
		}
	})
}

// The first form had every address that had failed, and no version.
func TestFirstFormOfGuesses(t *testing.T) {
	read := reread(t, []byte(`{"192.0.2.1":{"count":10,"lastAt":"2026-11-23T04:05:06Z"},"2001:db8::1":{"count":1,"lastAt":"2026-11-23T04:05:06Z"}}`))
	if _, err := read.begin("admin", "192.0.2.1", "", goldenTime); err == nil {
		t.Error("an address that had used up its guesses has one")
	}
	if _, err := read.begin("admin", "2001:db8::1", "", goldenTime); err != nil {
		t.Error(err)
	}
}

func reread(t *testing.T, content []byte) *throttle {
	t.Helper()
	path := filepath.Join(t.TempDir(), "guesses.json")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return openThrottle(path)
}

// What another version wrote down and nobody has taken over yet is still there after an update.
func TestGoldenRecord(t *testing.T) {
	entry := Entry{Time: goldenTime, User: "admin", Address: "192.0.2.1", Action: "support.sign-in", Target: "admin"}
	golden.Check(t, "record", func(t *testing.T) golden.Files {
		r := &Record{Path: filepath.Join(t.TempDir(), "record.json"), loaded: true, file: recordFile{Version: 1, Log: "0123456789abcdef", Next: 7}}
		r.Add(entry)
		content, err := os.ReadFile(r.Path)
		if err != nil {
			t.Fatal(err)
		}
		return golden.Files{"record.json": content}
	}, func(t *testing.T, files golden.Files) {
		r := &Record{Path: filepath.Join(t.TempDir(), "record.json")}
		if err := os.WriteFile(r.Path, files["record.json"], 0o600); err != nil {
			t.Fatal(err)
		}
		entry.Number = 7
		if all := behind(t, r, "0123456789abcdef", 6); len(all.Entries) != 1 || all.Entries[0] != entry {
			t.Errorf("%+v", all)
		}
	})
}

// Codes that another version has seen used stay used: an update makes no code good again.
func TestGoldenUsedFactors(t *testing.T) {
	open := func(path string) *Page {
		s := &Page{API: &API{}, UsedFile: path, Now: func() time.Time { return goldenTime }}
		s.Handler() // reads the file
		return s
	}
	used := usedCode{"ada", recoverySum, "192.0.2.1"}
	golden.Check(t, "used-factors", func(t *testing.T) golden.Files {
		path := filepath.Join(t.TempDir(), "used-factors.json")
		s := open(path)
		s.used.Steps["fa-1"] = 59_808_128
		s.used.RecoveryCodes = append(s.used.RecoveryCodes, used)
		if err := s.saveUsed(); err != nil {
			t.Fatal(err)
		}
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return golden.Files{"used-factors.json": content}
	}, func(t *testing.T, files golden.Files) {
		path := filepath.Join(t.TempDir(), "used-factors.json")
		if err := os.WriteFile(path, files["used-factors.json"], 0o600); err != nil {
			t.Fatal(err)
		}
		want := usedFactors{1, map[string]int64{"fa-1": 59_808_128}, []usedCode{used}}
		if s := open(path); !reflect.DeepEqual(s.used, want) {
			t.Errorf("%v, want %v", s.used, want)
		}
	})
}
