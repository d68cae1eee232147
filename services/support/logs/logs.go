// Package logs reads and follows the logs of the services where the operating system keeps them: in systemd's journal, or
// in one file for each service (SMF, and development). It keeps no more in memory than what is answered. The web server's
// log, which no file keeps, is in access.go.
package logs

import (
	"context"
	"slices"
	"strings"
	"time"

	"cistern/services/support/redact"
)

// Line is one line of a log.
type Line struct {
	Time    time.Time `json:"time"`
	Service string    `json:"service"`
	Level   string    `json:"level"` // error warning info debug
	Text    string    `json:"text"`
	// At is where the log is to be followed from behind this line (Query.After). Read leaves it empty.
	At string `json:"-"`
}

// Query says which lines are wanted.
type Query struct {
	Service string // storaged, akd, nginx …; empty: all of the machine
	Level   string // this and worse; empty: all
	Text    string // contained, whatever its case
	Older   string // what Read gave with the lines that these are to be before; empty: the newest
	Limit   int
	After   string // what Page.Newest or Line.At was: Follow begins behind that; empty: with what comes from now on
}

// Page is what was found.
type Page struct {
	Lines []Line // newest first
	// Older is not empty when there may be more before them: also when the search ended by its deadline.
	Older string
	// Newest is where Follow goes on so that no line is missed and none comes twice; empty when older lines were asked for.
	Newest string
}

// Source is where logs are.
type Source interface {
	// Read gives the newest lines.
	Read(ctx context.Context, q Query) (Page, error)
	// Follow passes on the lines that come, until ctx ends.
	Follow(ctx context.Context, q Query, line func(Line) error) error
}

// Levels are a line's levels, worst first; a query compares their index.
var Levels = []string{"error", "warning", "info", "debug"}

const (
	longestLog = 16 << 10 // of one line that is shown
	searchTime = 8 * time.Second
)

func (q *Query) wants(l *Line) bool {
	if q.Level != "" && slices.Index(Levels, l.Level) > slices.Index(Levels, q.Level) {
		return false
	}
	return q.Text == "" || strings.Contains(strings.ToLower(l.Text), strings.ToLower(q.Text))
}

// Clean returns a line's text as it may be shown: without secrets, valid UTF-8, and not longer than longestLog.
func Clean(text string) string {
	if len(text) > longestLog {
		text = text[:longestLog] + " …"
	}
	return strings.ToValidUTF8(redact.Text(text), "\uFFFD")
}
