package snmp

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const file = `cistern-objects 1 1000
.1.3.9.10.0 gauge 4294967295
.1.3.9.2.0 string a b  c
.1.3.9.2.1.2.3 counter64 1234567890123
.1.3.9.2.4.0 string ` + `
`

func ask(t *testing.T, content string, now int64, questions string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "objects")
	if content != "" {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var out, log bytes.Buffer
	a := &Agent{File: path, Now: func() time.Time { return time.Unix(now, 0) }, Log: &log}
	if err := a.Serve(strings.NewReader(questions), &out); err != nil {
		t.Fatal(err)
	}
	return strings.TrimSuffix(out.String(), "\n")
}

func TestAnswers(t *testing.T) {
	for questions, want := range map[string]string{
		"PING\n":                                   "PONG",
		"get\n.1.3.9.2.0\n":                        ".1.3.9.2.0\nstring\na b  c",
		"get\n1.3.9.2.0\n":                         ".1.3.9.2.0\nstring\na b  c",
		"get\n.1.3.9.2.4.0\n":                      ".1.3.9.2.4.0\nstring\n",
		"get\n.1.3.9.2\n":                          "NONE",
		"getnext\n.1.3.9\n":                        ".1.3.9.2.0\nstring\na b  c",
		"getnext\n.1.3.9.2.0\n":                    ".1.3.9.2.1.2.3\ncounter64\n1234567890123",
		"getnext\n.1.3.9.2.4.0\n":                  ".1.3.9.10.0\ngauge\n4294967295", // by number, not as text
		"getnext\n.1.3.9.10.0\n":                   "NONE",
		"set\n.1.3.9.2.0\nstring x\n":              "not-writable",
		"get\nnonsense\nPING\n":                    "NONE\nPONG",
		"get\n.1.99999999999\n":                    "NONE",
		"what\nPING\n":                             "NONE\nPONG",
		"get\n" + strings.Repeat(".1", 200) + "\n": "NONE",
	} {
		if got := ask(t, file, 999, questions); got != want {
			t.Errorf("%q: %q, not %q", questions, got, want)
		}
	}
}

func TestNothingIsAnsweredThatNobodyVouchesFor(t *testing.T) {
	const questions = "get\n.1.3.9.2.0\ngetnext\n.1\nPING\n"
	for name, content := range map[string]string{
		"late": file, "missing": "", "of another kind": "cistern-objects 2 5000\n", "without a heading": ".1.3 gauge 1\n",
		"cut": strings.Replace(strings.TrimSuffix(file, " \n"), "1000", "5000", 1), "of an unknown type": "cistern-objects 1 5000\n.1.3 float 1\n",
		"with a bad OID": "cistern-objects 1 5000\n.1.x gauge 1\n",
	} {
		if got := ask(t, content, 1000, questions); got != "NONE\nNONE\nPONG" {
			t.Errorf("a file that is %s: %q", name, got)
		}
	}
}

func TestANewFileIsSeen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "objects")
	write := func(text string) {
		if err := os.WriteFile(path+".new", []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(path+".new", path); err != nil {
			t.Fatal(err)
		}
	}
	a := &Agent{File: path, Now: func() time.Time { return time.Unix(0, 0) }, Log: &bytes.Buffer{}}
	for _, value := range []string{"1", "2", "3"} {
		write("cistern-objects 1 9\n.1.3 gauge " + value + "\n")
		if got := a.get(".1.3", false); got != ".1.3\ngauge\n"+value {
			t.Errorf("%q", got)
		}
	}
	os.Remove(path)
	if got := a.get(".1.3", false); got != "NONE" {
		t.Errorf("%q", got)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(file, ".1.3")
	f.Fuzz(func(t *testing.T, text, name string) {
		if read, err := parse(text); err == nil {
			for _, o := range read.objects {
				if strings.ContainsAny(o.value, "\n") {
					t.Errorf("%q", o.value)
				}
			}
		}
		if o, err := parseOID(name); err == nil {
			if again, err := parseOID(o.String()); err != nil || again.String() != o.String() {
				t.Errorf("%q", name)
			}
		}
	})
}
