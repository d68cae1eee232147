package main

import (
	"bytes"
	"strings"
	"testing"
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
