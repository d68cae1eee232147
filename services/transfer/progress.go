package transfer

// What a user sees while it runs: one line that is written over on a terminal, a line now and then elsewhere.

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
)

// Screen is where progress is shown.
type Screen struct {
	Out      io.Writer
	Terminal bool
	shown    time.Time
	width    int
}

// Say prints a line.
func (s *Screen) Say(format string, values ...any) {
	s.clear()
	fmt.Fprintf(s.Out, format+"\n", values...)
}

func (s *Screen) clear() {
	if s.width > 0 {
		fmt.Fprint(s.Out, "\r"+strings.Repeat(" ", s.width)+"\r")
		s.width = 0
	}
}

// passing shows how far it is, when that is due.
func (s *Screen) passing(line func() string) {
	every := 10 * time.Second
	if s.Terminal {
		every = 500 * time.Millisecond
	}
	now := time.Now()
	if s.shown.IsZero() {
		s.shown = now // nothing is known of the rate yet
		return
	}
	if now.Sub(s.shown) < every {
		return
	}
	s.shown = now
	text := line()
	if !s.Terminal {
		fmt.Fprintln(s.Out, text)
		return
	}
	s.clear()
	fmt.Fprint(s.Out, text)
	s.width = len(text)
}

// meter knows the rate and the time that is left.
type meter struct {
	began time.Time
	at    int64 // how much was done when it began
	of    int64
}

func (m *meter) line(done int64, more string) string {
	elapsed := time.Since(m.began).Seconds()
	rate := 0.0
	if elapsed > 0 {
		rate = float64(done-m.at) / elapsed
	}
	text := Number(done) + " samples"
	if m.of > 0 {
		text += fmt.Sprintf(", %.1f %%", min(100, 100*float64(done)/float64(m.of)))
	}
	text += more + ", " + Number(int64(rate)) + " a second"
	if left := m.of - done; left > 0 && rate > 0 {
		text += ", " + (time.Duration(float64(left)/rate) * time.Second).String() + " left"
	}
	return text
}

// Number writes a count with its thousands apart.
func Number(n int64) string {
	text := strconv.FormatInt(n, 10)
	start := 0
	if n < 0 {
		start = 1
	}
	for at := len(text) - 3; at > start; at -= 3 {
		text = text[:at] + "," + text[at:]
	}
	return text
}

// Counted is a count with its word: 1 file, 2 files.
func Counted(n int64, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return Number(n) + " " + more
}

func Day(millis int64) string { return time.UnixMilli(millis).UTC().Format("2006-01-02 15:04:05 MST") }
