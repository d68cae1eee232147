package command

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"
)

func TestOutputIsLimited(t *testing.T) {
	r, err := Run(context.Background(), 10*time.Second, 10, "head", "-c", "100000", "/dev/zero")
	if err != nil || len(r.Stdout) != 10 || !r.Cut {
		t.Fatalf("kept %d bytes, cut=%v, err=%v; want 10, true, nil", len(r.Stdout), r.Cut, err)
	}
}

func TestDeadlineKillsTheWholeGroup(t *testing.T) {
	start := time.Now()
	// The shell's child holds the pipe open: without killing the group, Run would wait for it.
	_, err := Run(context.Background(), 200*time.Millisecond, 1000, "sh", "-c", "sleep 60 & wait")
	var e *Error
	if !errors.As(err, &e) || !e.Timeout {
		t.Fatalf("got %v, want a timeout", err)
	}
	if took := time.Since(start); took > 10*time.Second {
		t.Fatalf("took %v", took)
	}
}

func TestFailureSaysWhatTheCommandSaid(t *testing.T) {
	_, err := Run(context.Background(), 10*time.Second, 1000, "sh", "-c", "echo 'no such pool' >&2; exit 3")
	var e *Error
	if !errors.As(err, &e) || e.Code != 3 || !strings.Contains(err.Error(), "no such pool") {
		t.Fatalf("got %v", err)
	}
	if _, err = Run(context.Background(), time.Second, 1, "/no/such/program"); !errors.As(err, &e) || e.Code != -1 {
		t.Fatalf("got %v, want code -1", err)
	}
}

func TestArgumentsAreNotExpanded(t *testing.T) {
	var out bytes.Buffer
	if _, _, err := Stream(context.Background(), 10*time.Second, 1000, &out, "printf", "%s", "$(id); `id` *"); err != nil || out.String() != "$(id); `id` *" {
		t.Fatalf("got %q, %v", out.String(), err)
	}
}
