package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"cistern/services/journal"
)

func cistern(t *testing.T, input string, arguments ...string) (out string, err error) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	err = dispatch(streams{strings.NewReader(input), &stdout, &stderr}, arguments)
	return stdout.String(), err
}

func TestJournalCommands(t *testing.T) {
	folder := t.TempDir()
	if _, err := cistern(t, "one\ntwo\n", "journal", "write", "--dir", folder); err != nil {
		t.Fatal(err)
	}
	out, err := cistern(t, `{"id":1,"op":"subscribe","name":"mail","at":"begin"}`+"\n"+`{"id":2,"op":"append","data":"dGhyZWU="}`+"\n",
		"journal", "pipe", "--dir", folder)
	if err != nil || strings.Count(out, `"ok":true`) != 2 {
		t.Fatalf("%v %s", err, out)
	}
	out, err = cistern(t, "", "journal", "read", "--dir", folder, "--subscriber", "mail", "--max", "2")
	if err != nil || strings.Count(out, "\n") != 2 || !strings.Contains(out, `"data":"b25l"`) {
		t.Fatalf("%v %s", err, out)
	}
	out, err = cistern(t, "", "journal", "stat", "--dir", folder)
	if err != nil || !strings.Contains(out, `"mail": "0000000000000000"`) {
		t.Fatalf("%v %s", err, out)
	}
}

// A torn tail is cut, damage is reported, and both leave the rest to be read; tail shows what comes.
func TestJournalRepairAndTail(t *testing.T) {
	folder := t.TempDir()
	for _, flags := range [][]string{{"--lz4", "--pre-commit", "8192"}, {"--durability", "fsync"}} {
		if _, err := cistern(t, "one\ntwo\nthree\n", append([]string{"journal", "write", "--dir", folder}, flags...)...); err != nil {
			t.Fatal(err)
		}
	}
	segment := filepath.Join(folder, "0000000000000000.journal")
	file, err := os.OpenFile(segment, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = file.WriteString("torn")
	file.Close()
	out, err := cistern(t, "", "journal", "repair", "--dir", folder)
	if err != nil || !strings.Contains(out, "6 entries can be read; 4 bytes") {
		t.Fatalf("%v %s", err, out)
	}
	type answer struct {
		out string
		err error
	}
	tail := make(chan answer)
	go func() {
		out, err := cistern(t, "", "journal", "tail", "--dir", folder, "--max", "1", "--every", "1ms")
		tail <- answer{out, err}
	}()
	for {
		if _, err := cistern(t, "later\n", "journal", "write", "--dir", folder); err != nil {
			t.Fatal(err)
		}
		select {
		case got := <-tail:
			if got.err != nil || !strings.Contains(got.out, `"data":"bGF0ZXI="`) {
				t.Fatalf("%v %s", got.err, got.out)
			}
		case <-time.After(20 * time.Millisecond): // it was not looking yet
			continue
		}
		break
	}
	content, _ := os.ReadFile(segment)
	content[40] ^= 1
	if err := os.WriteFile(segment, content, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := cistern(t, "", "journal", "repair", "--dir", folder); err == nil || !strings.Contains(err.Error(), "damaged bytes") {
		t.Fatalf("%v", err)
	}
	// What can be read is printed, and that it is not all is no success.
	if out, err := cistern(t, "", "journal", "read", "--dir", folder); err == nil || !strings.Contains(err.Error(), "damaged bytes") || !strings.Contains(out, `"data":"bGF0ZXI="`) {
		t.Fatalf("%v %s", err, out)
	}
	if _, err := cistern(t, "", "journal", "repair", "--dir", filepath.Join(folder, "none")); err == nil {
		t.Fatal("a journal was made to be repaired")
	}
	if _, err := cistern(t, "x\n", "journal", "write", "--dir", folder, "--durability", "none"); err == nil {
		t.Fatal("a durability that does not exist was taken")
	}
}

func TestUsage(t *testing.T) {
	if out, err := cistern(t, ""); err != nil || !strings.Contains(out, "journal pipe") {
		t.Errorf("%v %s", err, out)
	}
	for _, arguments := range [][]string{{"fly"}, {"journal"}, {"journal", "stat"}, {"journal", "stat", "--dir", "/nowhere/at/all"}, {"journal", "pipe", "--dir", "x", "y"}} {
		if _, err := cistern(t, "", arguments...); err == nil {
			t.Errorf("%q was taken", arguments)
		}
	}
}

// What makes no sense is refused where it is written, and not done in another way.
func TestWrongJournalArguments(t *testing.T) {
	folder := t.TempDir()
	if _, err := cistern(t, "one\n", "journal", "write", "--dir", folder); err != nil {
		t.Fatal(err)
	}
	for want, arguments := range map[string][]string{
		"--max must not be negative":     {"read", "--max", "-1"},
		"--max must not":                 {"tail", "--max", "-1"},
		"--every must be":                {"tail", "--every", "0", "--max", "1"},
		"--segment must not be negative": {"write", "--segment", "-5"},
		"--durability must be":           {"write", "--durability", "none"},
	} {
		_, err := cistern(t, "one\n", append([]string{"journal", arguments[0], "--dir", folder}, arguments[1:]...)...)
		if !errors.Is(err, errUsage) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", arguments, err)
		}
	}
	// Not a matter of the appliance's.
	for _, arguments := range [][]string{{"journal"}, {"journal", "fly", "--dir", folder}} {
		if _, err := cistern(t, "", arguments...); !errors.Is(err, errUsage) || !strings.Contains(err.Error(), "pipe, stat, read, tail, write, repair") {
			t.Errorf("%q: %v", arguments, err)
		}
	}
	for _, more := range []int{1, 100} {
		_, err := cistern(t, "one\n"+strings.Repeat("x", journal.MaxEntry+more)+"\n", "journal", "write", "--dir", folder)
		if err == nil || !strings.Contains(err.Error(), "line 2: ") || !strings.Contains(err.Error(), fmt.Sprint(journal.MaxEntry)) {
			t.Error(err)
		}
	}
	if out, err := cistern(t, "", "journal", "read", "--dir", folder); err != nil || strings.Count(out, "\n") != 3 {
		t.Errorf("%v %s", err, out)
	}
}

// full is a file system that is.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, syscall.ENOSPC }

// An answer that did not reach its file is no success.
func TestAnswersThatAreNotWritten(t *testing.T) {
	folder := t.TempDir()
	for _, command := range []string{"write", "read", "stat", "repair"} {
		err := dispatch(streams{strings.NewReader("one\n"), full{}, io.Discard}, []string{"journal", command, "--dir", folder})
		if !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("%s: %v", command, err)
		}
	}
}

// What only the process knows that writes the journal is not told by one that looks on: it would be zero, and wrong.
func TestStatTellsWhatItKnows(t *testing.T) {
	folder := t.TempDir()
	if _, err := cistern(t, "one\ntwo\n", "journal", "write", "--dir", folder, "--lz4"); err != nil {
		t.Fatal(err)
	}
	out, err := cistern(t, "", "journal", "stat", "--dir", folder)
	var stat map[string]any
	if err != nil || json.Unmarshal([]byte(out), &stat) != nil {
		t.Fatal(err, out)
	}
	for _, name := range []string{"entries", "syncs", "synced", "cut", "damaged", "pending", "flushes", "compressed"} {
		if value, told := stat[name]; told {
			t.Errorf("%s is reported as %v", name, value)
		}
	}
	if stat["segments"] != 1.0 || stat["begin"] != "0000000000000000" || stat["bytes"] == 0.0 {
		t.Error(out)
	}
}

func TestVersionAsJSON(t *testing.T) {
	for _, arguments := range [][]string{{"version", "--json"}, {"version", "--output", "json"}, {"version", "--output=json"}} {
		out, err := cistern(t, "", arguments...)
		var said map[string]string
		if err != nil || json.Unmarshal([]byte(out), &said) != nil || said["version"] != version {
			t.Errorf("%v: %v %s", arguments, err, out)
		}
	}
	if _, err := cistern(t, "", "version", "--output", "xml"); !errors.Is(err, errUsage) {
		t.Error(err)
	}
}
