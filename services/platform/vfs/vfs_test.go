package vfs

import (
	"errors"
	"testing"
)

// The memory file system does what the operating system's does.
func TestBothAreAlike(t *testing.T) {
	for name, fsys := range map[string]FS{"os": OS, "memory": NewMemory()} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			path := folder + "/a"
			check := func(err error) {
				t.Helper()
				if err != nil {
					t.Fatal(err)
				}
			}
			if _, err := fsys.Open(path); !NotExist(err) {
				t.Fatalf("opening what is not there: %v", err)
			}
			check(Replace(fsys, folder, path, []byte("hello")))
			file, err := fsys.Append(path)
			check(err)
			_, err = file.Write([]byte(" world"))
			check(err)
			check(file.Truncate(4))
			_, err = file.Write([]byte("!"))
			check(err)
			check(file.Sync())
			check(file.Close())
			content, err := ReadFile(fsys, path)
			if check(err); string(content) != "hell!" {
				t.Fatalf("%q", content)
			}
			check(fsys.Rename(path, folder+"/b"))
			entries, err := fsys.List(folder)
			if check(err); len(entries) != 1 || entries[0] != (Entry{"b", 5}) {
				t.Fatalf("%v", entries)
			}
			check(fsys.Remove(folder + "/b"))
			if err := fsys.Remove(folder + "/b"); !NotExist(err) {
				t.Fatalf("removing what is not there: %v", err)
			}
		})
	}
}

func TestPowerCut(t *testing.T) {
	m := NewMemory()
	for _, name := range []string{"/d/durable", "/d/unsynced", "/d/nameless"} {
		if name == "/d/nameless" {
			if err := m.SyncDir("/d"); err != nil {
				t.Fatal(err)
			}
		}
		file, _ := m.Create(name)
		_, _ = file.Write([]byte("12"))
		if name != "/d/unsynced" {
			_ = file.Sync()
		}
		_, _ = file.Write([]byte("34"))
	}
	after := m.PowerCut(nil)
	for name, want := range map[string]string{"/d/durable": "12", "/d/unsynced": ""} {
		if content, err := ReadFile(after, name); err != nil || string(content) != want {
			t.Errorf("%s: %q %v", name, content, err)
		}
	}
	if _, err := after.Open("/d/nameless"); !NotExist(err) {
		t.Errorf("a name that was not synced is there: %v", err)
	}
	if content, err := ReadFile(m.Kill(), "/d/nameless"); err != nil || string(content) != "1234" {
		t.Errorf("after a kill: %q %v", content, err)
	}
}

func TestLock(t *testing.T) {
	m := NewMemory()
	held, err := m.Lock("/l")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Lock("/l"); !errors.Is(err, ErrLocked) {
		t.Fatal(err)
	}
	_ = held.Close()
	if _, err := m.Lock("/l"); err != nil {
		t.Fatal(err)
	}
}
