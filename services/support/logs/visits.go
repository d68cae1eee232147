package logs

// What users of the appliance did by ssh, as the shell of their account wrote it to the journal. The journal keeps it while the
// management plane is away, so nothing is kept here: who reads says where it ended.

import (
	"context"
	"encoding/json"
	"errors"
	"os/user"
	"slices"
	"strconv"
	"strings"
	"time"

	"cistern/services/platform/command"
)

// Of the account and its shell (services/execd/sshaccess, services/cmd/cistern): nothing else runs as the account, and the user id
// of a line is the kernel's word.
const (
	visitorAccount = "cistern-ssh"
	visitorShell   = "cistern-shell"
)

var visitActions = []string{"ssh.sign-in", "ssh.run", "ssh.refuse", "ssh.sign-out"}

// Visit is one thing that a user did by ssh.
type Visit struct {
	Time    time.Time `json:"time"`
	User    string    `json:"user"`
	Address string    `json:"address"`
	Action  string    `json:"action"`
	Command string    `json:"command"` // what was typed; empty at the beginning and the end
	Key     string    `json:"key"`     // the fingerprint of the key by which
}

// Visits are the oldest ones behind a cursor, or after a time as long as there is no cursor or the journal knows it no longer; at most
// limit of them, and the cursor behind the last.
func (j Journal) Visits(ctx context.Context, cursor string, since time.Time, limit int) ([]Visit, string, error) {
	account, err := user.Lookup(visitorAccount)
	var unknown user.UnknownUserError
	if errors.As(err, &unknown) {
		return []Visit{}, cursor, nil // nobody can come in by ssh here
	}
	if err != nil {
		return nil, cursor, err
	}
	return j.visitsBehind(ctx, account.Uid, cursor, since, limit)
}

func (j Journal) visitsBehind(ctx context.Context, uid, cursor string, since time.Time, limit int) ([]Visit, string, error) {
	visits, next, err := j.visits(ctx, uid, cursor, since, limit)
	if err != nil && cursor != "" && strings.Contains(err.Error(), "cursor") { // what it points at was rotated away
		return j.visits(ctx, uid, "", since, limit)
	}
	return visits, next, err
}

func (j Journal) visits(ctx context.Context, uid, cursor string, since time.Time, limit int) ([]Visit, string, error) {
	ctx, cancel := context.WithTimeout(ctx, searchTime)
	defer cancel()
	from := "--since=@" + strconv.FormatInt(since.Unix(), 10)
	if cursor != "" {
		from = "--after-cursor=" + cursor
	}
	visits, next := []Visit{}, cursor
	err := command.Follow(ctx, &lineWriter{line: func(line []byte) error {
		visit, at, ok := visitOf(line)
		if at != "" {
			next = at
		}
		if ok && (cursor != "" || visit.Time.After(since)) {
			visits = append(visits, visit)
		}
		if len(visits) >= limit {
			cancel()
			return errEnough
		}
		return nil
	}}, j.Program, "--no-pager", "-a", "-o", "json", "--output-fields=MESSAGE", from, "SYSLOG_IDENTIFIER="+visitorShell, "_UID="+uid)
	if len(visits) >= limit {
		err = nil
	}
	return visits, next, err
}

func visitOf(line []byte) (Visit, string, bool) {
	var e struct {
		Message string `json:"MESSAGE"`
		Time    string `json:"__REALTIME_TIMESTAMP"`
		Cursor  string `json:"__CURSOR"`
	}
	if json.Unmarshal(line, &e) != nil || e.Cursor == "" {
		return Visit{}, "", false
	}
	var said struct{ What, User, From, Command, Key string }
	if json.Unmarshal([]byte(e.Message), &said) != nil || !slices.Contains(visitActions, said.What) {
		return Visit{}, e.Cursor, false
	}
	micros, err := strconv.ParseInt(e.Time, 10, 64)
	return Visit{time.UnixMicro(micros).UTC(), said.User, said.From, said.What, said.Command, said.Key}, e.Cursor, err == nil
}
