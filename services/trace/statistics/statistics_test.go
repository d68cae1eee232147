package statistics

import (
	"errors"
	"regexp"
	"slices"
	"strings"
	"testing"

	"cistern/services/daemon/problem"
)

func TestCatalogue(t *testing.T) {
	for _, s := range All() {
		if Find(s.Name) != s || s.Title == "" || s.Unit == "" || s.Check == "" || s.Read == "" || s.Cost == "" {
			t.Errorf("%s is not whole", s.Name)
		}
		for _, next := range s.Next {
			if Find(next) == nil || next == s.Name && len(s.Next) == 1 {
				t.Errorf("%s leads to %s, which there is not", s.Name, next)
			}
		}
		for _, by := range s.Always {
			if by != "" && s.Breakdown(by) == nil {
				t.Errorf("%s is always on by %s, which there is not", s.Name, by)
			}
		}
		if s.Source == DTrace && s.AlwaysOn() {
			t.Errorf("%s is traced and always on", s.Name)
		}
		for _, b := range s.Breakdowns {
			if b.Distribution && b.Unit == "" || b.Type == Choice && len(b.Values) == 0 {
				t.Errorf("%s[%s] is not whole", s.Name, b.Name)
			}
		}
	}
}

func TestParse(t *testing.T) {
	for text, want := range map[string]string{
		"io.ops":                                     "io.ops",
		"io.ops[disk]":                               "io.ops[disk]",
		"io.ops[type=read][disk=sda][latency]":       "io.ops[disk=sda][type=read][latency]",
		`io.ops[disk="sda"]`:                         "io.ops[disk=sda]",
		`http.requests[uri="a]\"\\\n\x00\xff"]`:      "",
		`http.requests[uri="a]\"\\\n\xff\x01"]`:      `http.requests[uri="a]\"\\\n\xff\x01"]`,
		`http.requests[uri=/ä b[c][client]`:          "http.requests[uri=/ä b[c][client]",
		`http.requests[uri=""]`:                      `http.requests[uri=""]`,
		"http.requests[client=::FFFF:10.0.0.1]":      "http.requests[client=10.0.0.1]",
		"http.requests[client=2001:DB8:0::1][uri]":   "http.requests[client=2001:db8::1][uri]",
		"http.requests[status=0200]":                 "http.requests[status=200]",
		"syscall.calls[error=ENOENT][user=x]":        "",
		"syscall.calls[error=ENOENT][process=a'b]":   "syscall.calls[error=ENOENT][process=a'b]",
		"cpu.profile[process=storaged]":              "cpu.profile[process=storaged]",
		"http.requests[uri=a][uri=b]":                "",
		"http.requests[uri=a][uri]":                  "",
		"http.requests[uri][client=1.2.3.4]":         "",
		"http.requests[latency=1]":                   "",
		"cpu.profile[process]":                       "",
		"http.requests[uri=]":                        "",
		"http.requests[uri=a\nb]":                    "",
		"http.requests[uri=a\xff]":                   "",
		`http.requests[uri="a]`:                      "",
		`http.requests[uri="a" ]`:                    "",
		`http.requests[uri="\q"]`:                    "",
		`http.requests[uri="\x4"]`:                   "",
		"io.ops[type=erase]":                         "",
		"io.ops[disk=sda][":                          "",
		"io.ops[disk=sda]x":                          "",
		"io.ops[Disk]":                               "",
		"io ops":                                     "",
		"":                                           "",
		"nothing.here":                               "",
		"http.requests[status=-1]":                   "",
		"io.ops[process=" + strings.Repeat("a", 256): "",
	} {
		d, err := Parse(text)
		switch {
		case want == "" && err == nil:
			t.Errorf("%q was taken as %s", text, d)
		case want == "":
			var document problem.Document
			if !errors.As(err, &document) || document.Code == "bad_statistic" && !strings.HasPrefix(document.Detail, "Column ") {
				t.Errorf("%q: %v", text, err)
			}
		case err != nil:
			t.Errorf("%q: %v", text, err)
		case d.String() != want:
			t.Errorf("%q became %q, not %q", text, d, want)
		}
	}
}

// What is refused says what there is.
func TestHelpfulErrors(t *testing.T) {
	for text, want := range map[string]string{
		"io.op":               "unknown_statistic: .*io\\.bytes, io\\.ops",
		"io.ops[client]":      "unknown_breakdown: .*There are: type, disk, process, latency, size, offset",
		"io.ops[client=a]":    "unknown_filter: .*There are: type, disk, process\\.",
		"zil.commits[pool]":   "unknown_breakdown: .*It has none",
		"io.ops[type=x]":      "bad_statistic: Column 13 .*there are read, write, discard, other",
		"io.ops[ä=x]":         "bad_statistic: Column 8 ",
		"io.ops[disk=ä\x01]":  "bad_statistic: Column 14 ",
		"io.ops[latency=0.1]": "unknown_filter: ",
	} {
		_, err := Parse(text)
		if err == nil || !regexp.MustCompile(want).MatchString(err.Error()) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// Numbers that D knows have the names that people know.
func TestNames(t *testing.T) {
	d, err := Parse("syscall.calls[call=openat][error=ENOENT][process]")
	if err != nil {
		t.Fatal(err)
	}
	text, err := Render(Linux, []*Dataset{d})
	if err != nil || !strings.Contains(text, "->orig_ax) == 257 ") || !strings.Contains(text, ": 0) == 2/") {
		t.Errorf("%v\n%s", err, text)
	}
	if text, err = Render(Illumos, []*Dataset{d}); err != nil || !strings.Contains(text, `(probefunc) == "openat"`) {
		t.Errorf("%v\n%s", err, text)
	}
	if d, err = Parse("syscall.calls[call=nothing]"); err != nil {
		t.Fatal(err)
	}
	if _, err = Render(Linux, []*Dataset{d}); err == nil {
		t.Error("a call that there is not was rendered")
	}
}

func TestLabel(t *testing.T) {
	for value, want := range map[string]string{"": "", "a b\n\"": "a b\n\"", "ä": "ä", "a\xff": `a\xff`, `\xff`: `\\xff`, "\ufffd": "\ufffd"} {
		if got := Label(value); got != want {
			t.Errorf("%q is %q in a label, not %q", value, got, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("io.ops[disk=sda][latency]")
	f.Add(`http.requests[uri="a]\"\\\n\xff\x01"][client]`)
	f.Add("syscall.calls[error=ENOENT][process=\"a\\\"b\"]")
	f.Fuzz(func(t *testing.T, text string) {
		d, err := Parse(text)
		if err != nil {
			return
		}
		again, err := Parse(d.String())
		if err != nil || again.String() != d.String() || !slices.Equal(again.Filters, d.Filters) || again.By != d.By {
			t.Fatalf("%q became %q, and that %v %v", text, d, again, err)
		}
		for _, p := range []Platform{Linux, Illumos} {
			if d.Statistic.Source == DTrace && d.Statistic.Reason(p) == "" {
				checkProgram(t, p, d)
			}
		}
	})
}

// checkProgram holds a program with filters against the same one without: all that may differ are conditions whose
// literals are numbers, or strings of letters, digits and octal escapes.
func checkProgram(t *testing.T, p Platform, d *Dataset) {
	text, err := Render(p, []*Dataset{d})
	if err != nil {
		return
	}
	plain := *d
	plain.Filters = nil
	for _, f := range d.Filters {
		other := Filter{f.Name, "a"}
		switch b := d.Statistic.Breakdown(f.Name); {
		case b.number(p):
			other.Value = "7"
		case b.Type == Choice:
			other.Value = b.Values[0]
		}
		plain.Filters = append(plain.Filters, other)
	}
	want, err := Render(p, []*Dataset{&plain})
	if err != nil {
		t.Fatal(err)
	}
	literals := regexp.MustCompile(`== ("([a-zA-Z0-9]|\\[0-7]{3})*"|[0-9]+)`)
	if got, want := literals.ReplaceAllString(text, "== X"), literals.ReplaceAllString(want, "== X"); got != want {
		t.Fatalf("%s on %s:\n%s\nnot\n%s", d, p, got, want)
	}
}

// Several datasets in one program: what prepares them stands there once, before they count.
func TestRenderTogether(t *testing.T) {
	var list []*Dataset
	for _, text := range []string{"io.ops[process]", "io.bytes[process=\"a\\\"b\"][disk]", "io.ops[latency]", "cpu.profile", "proc.starts[user]"} {
		d, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, d)
	}
	text, err := Render(Linux, list)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Count(text, "cisternAsked[arg0] = execname") != 1 || strings.Index(text, "block_io_start") > strings.Index(text, "@d0") {
		t.Error(text)
	}
	for _, want := range []string{
		`"a\042b"`, `@d0[strlen(cisternAsked[arg0]), cisternAsked[arg0]] = count();`, `= sum(arg2);`, "10, 0, 14, 100);", `printa("2 h\n%@d.\n", @d2);`,
		`printa("4 i%d=%@d\n", @d4);`, "trunc(@d0)", "trunc(@d3)", `printa("3 k%d:%s\n%kK\n%kU=%@d\n", @d3);`, `printa("3 t=%@d\n", @t3);`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%s is missing in\n%s", want, text)
		}
	}
	if strings.Contains(text, "trunc(@d2)") {
		t.Error("a distribution has no keys to cut back")
	}
}
