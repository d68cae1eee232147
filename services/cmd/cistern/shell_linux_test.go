package main

import (
	"bytes"
	"context"
	"io"
	"slices"
	"strings"
	"testing"
)

func TestLinesOfTheShell(t *testing.T) {
	for line, want := range map[string]string{
		"zpool status":            "zpool status -v",
		"  zpool   status tank ":  "zpool status -v tank",
		"zfs list tank/home":      "zfs list tank/home",
		"journal":                 "journalctl --no-pager --output short-iso --lines 200",
		"journal 50":              "journalctl --no-pager --output short-iso --lines 50",
		"help":                    "",
		"zpool destroy tank":      "refused",
		"zpool status -x":         "refused",
		"zpool status tank other": "refused",
		"zpool status $(reboot)":  "refused",
		"zfs list tank;reboot":    "refused",
		"journal -f":              "refused",
		"journal 0":               "refused",
		"journal --file=/etc":     "refused",
		"sh":                      "refused",
		"/bin/sh":                 "refused",
		"uptime; sh":              "refused",
		"uptime `id`":             "refused",
		"scp -t /tmp":             "refused",
		"df /etc":                 "refused",
		"date -s 2000-01-01":      "refused",
	} {
		arguments, err := chosen(line, "linux")
		got := strings.Join(arguments, " ")
		if err != nil {
			got = "refused"
		}
		if got != want {
			t.Errorf("%q: %q (%v), not %q", line, got, err, want)
		}
	}
	if _, err := chosen("journal", "illumos"); err == nil {
		t.Error("illumos has no journal")
	}
}

// No option can be smuggled in as a word, and no fixed list begins with anything but a plain name.
func TestWhatIsAddedIsNoOption(t *testing.T) {
	for _, d := range diagnoses {
		for _, word := range []string{"-v", "--x", "a b", "a\nb", "", "../x", "$x", "'x'"} {
			if d.extra != nil && d.extra.MatchString(word) {
				t.Errorf("%s takes %q", d.words, word)
			}
		}
		if strings.ContainsAny(d.run[0], "/ ") {
			t.Errorf("%s: %s", d.words, d.run[0])
		}
	}
}

func TestShellRecordsAndRuns(t *testing.T) {
	var log []string
	var out, errs bytes.Buffer
	var ran []string
	v := visitor{user: "ada", key: "SHA256:x", from: "192.0.2.9", out: &out, err: &errs, system: "linux", log: func(line string) { log = append(log, line) },
		start: func(_ context.Context, out, _ io.Writer, arguments []string) error {
			ran = append(ran, strings.Join(arguments, " "))
			_, err := io.WriteString(out, "said\n")
			return err
		}}
	if status := v.talk(strings.NewReader("uptime\n\nreboot\nexit\nzpool status\n"), false); status != 2 {
		t.Errorf("%d", status)
	}
	if !slices.Equal(ran, []string{"uptime"}) || out.String() != "said\n" || !strings.Contains(errs.String(), `no "reboot"`) {
		t.Errorf("%q %q %q", ran, out.String(), errs.String())
	}
	want := []string{"ssh.sign-in", "ssh.run", "ssh.refuse", "ssh.sign-out"}
	if len(log) != len(want) {
		t.Fatalf("%q", log)
	}
	for i, line := range log {
		if !strings.Contains(line, `"what":"`+want[i]+`"`) || !strings.Contains(line, `"user":"ada"`) || !strings.Contains(line, `"from":"192.0.2.9"`) {
			t.Errorf("%s", line)
		}
	}
	if !strings.Contains(log[2], `"command":"reboot"`) {
		t.Errorf("what is refused is recorded: %s", log[2])
	}
}

func TestShellWantsAUser(t *testing.T) {
	for _, arguments := range [][]string{nil, {"-c"}, {"-c", "sh"}, {"-c", "user "}, {"-c", "user a b"}, {"-c", "user ada"}, {"-c", "user ada SHA256:short"}, {"-c", "user $(id)"}, {"-l"}, {"-c", "user ada", "x"}} {
		if status := runShell(arguments, func(string) string { return "" }); status != 1 {
			t.Errorf("%q was taken", arguments)
		}
	}
}
