package chrony

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"cistern/services/platform/command"
)

// Tracking is how well the clock is kept.
type Tracking struct {
	Synchronised bool `json:"synchronised"`
	// Source is the address of the server that is followed; empty when none is.
	Source  string `json:"source"`
	Stratum int    `json:"stratum"` // 0: not known
	// OffsetSeconds is how far the clock is ahead of what chrony takes for the time.
	OffsetSeconds float64 `json:"offsetSeconds"`
	// JitterSeconds is how far the measurements lie apart (RMS).
	JitterSeconds float64 `json:"jitterSeconds"`
	// Leap is "none", "insert", "delete", or "unknown" while the clock is not synchronised.
	Leap string `json:"leap"`
	// AnsweredMs is when the clock was last compared, in ms since 1970; 0 is never.
	AnsweredMs int64 `json:"answeredMs"`
}

// What chrony does with a source.
const (
	Followed   = "followed"   // the clock is set by it
	Combined   = "combined"   // it is of those that are followed together
	Spare      = "spare"      // it is good, and others are better
	Silent     = "silent"     // it does not answer, or not yet often enough
	Lies       = "lies"       // its time contradicts that of the others
	Unsteady   = "unsteady"   // its answers vary too much
	Unresolved = "unresolved" // its name has no address yet
)

// Source is one that is asked.
type Source struct {
	// Name is as it was named; Address is empty as long as the name has none.
	Name    string `json:"name"`
	Address string `json:"address"`
	State   string `json:"state"`
	Stratum int    `json:"stratum"` // 0: not known
	// Reach are the answers to the last eight questions, a bit each.
	Reach       int `json:"reach"`
	PollSeconds int `json:"pollSeconds"`
	// AgeSeconds is how long ago it answered; nil is never.
	AgeSeconds *int64 `json:"ageSeconds"`
	// Offset is how far the clock is ahead of it, JitterSeconds how far its answers lie apart; nil as long as it has not answered.
	OffsetSeconds *float64 `json:"offsetSeconds"`
	JitterSeconds *float64 `json:"jitterSeconds"`
	// Authenticated is whether its answers are (NTS).
	Authenticated bool `json:"authenticated"`
	// NTS is whether they have to be.
	NTS bool `json:"nts"`
}

// Status is what chrony says.
type Status struct {
	Running  bool     `json:"running"`
	Tracking Tracking `json:"tracking"`
	Sources  []Source `json:"sources"`
}

// never is chronyc's word for an age that there is none of.
const never = math.MaxUint32

// NobodyAnswers is how chronyc begins when chronyd does not run.
const NobodyAnswers = "506 "

// row is a line of `chronyc -c`.
type row struct {
	fields []string
	failed error
}

func (r *row) number(at int) float64 {
	value, err := strconv.ParseFloat(r.fields[at], 64)
	if err != nil && r.failed == nil {
		r.failed = err
	}
	return value
}

func (r *row) integer(at, base int) int64 {
	value, err := strconv.ParseInt(r.fields[at], base, 64)
	if err != nil && r.failed == nil {
		r.failed = err
	}
	return value
}

// rows are the lines of an answer, with at least so many fields each.
func rows(text string, least int) ([]*row, error) {
	var found []*row
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		fields := strings.Split(line, ",")
		if len(fields) < least {
			return nil, fmt.Errorf("what chronyc says cannot be read: %.200q", line)
		}
		found = append(found, &row{fields: fields})
	}
	return found, nil
}

func unreadable(r *row) error {
	return fmt.Errorf("what chronyc says cannot be read: %.200q: %w", strings.Join(r.fields, ","), r.failed)
}

// ParseTracking reads what `chronyc -c -n tracking` prints.
func ParseTracking(text string) (Tracking, error) {
	found, err := rows(text, 14)
	if err != nil {
		return Tracking{}, err
	}
	if len(found) != 1 {
		return Tracking{}, fmt.Errorf("what chronyc says cannot be read: %d lines of tracking", len(found))
	}
	r := found[0]
	leap, synchronised := map[string]string{"Normal": "none", "Insert second": "insert", "Delete second": "delete"}[r.fields[13]]
	t := Tracking{Synchronised: synchronised, Leap: leap, Stratum: int(r.integer(2, 10)), AnsweredMs: int64(r.number(3) * 1000), OffsetSeconds: r.number(4), JitterSeconds: r.number(6)}
	if !synchronised {
		t.Leap = "unknown"
	} else {
		t.Source = r.fields[1]
	}
	if r.failed != nil {
		return Tracking{}, unreadable(r)
	}
	return t, nil
}

var states = map[string]string{"*": Followed, "+": Combined, "-": Spare, "?": Silent, "x": Lies, "~": Unsteady}

// ParseSources reads what `chronyc -c -n sources`, `sourcestats` and `authdata` print.
func ParseSources(sources, statistics, authentication string) ([]Source, error) {
	found, err := rows(sources, 10)
	if err != nil {
		return nil, err
	}
	list := make([]Source, 0, len(found))
	at := map[string]int{}
	for _, r := range found {
		one := Source{Name: r.fields[2], Address: r.fields[2], State: states[r.fields[1]], Stratum: int(r.integer(3, 10)), Reach: int(r.integer(5, 8))}
		if one.State == "" {
			r.failed = fmt.Errorf("the state %q is not known", r.fields[1])
		}
		one.PollSeconds = 1 << max(0, min(r.integer(4, 10), 24))
		if age := r.integer(6, 10); age != never {
			offset := r.number(7)
			one.AgeSeconds, one.OffsetSeconds = &age, &offset
		}
		// chronyc gives a name without an address a number.
		if strings.HasPrefix(one.Address, "ID#") {
			one.Address, one.State = "", Unresolved
		}
		if r.failed != nil {
			return nil, unreadable(r)
		}
		at[one.Name] = len(list)
		list = append(list, one)
	}
	of := func(text string, least int, use func(*Source, *row)) error {
		lines, err := rows(text, least)
		if err != nil {
			return err
		}
		for _, r := range lines {
			// One that came or went between two questions is in one of the answers only.
			if i, ok := at[r.fields[0]]; ok {
				use(&list[i], r)
			}
			if r.failed != nil {
				return unreadable(r)
			}
		}
		return nil
	}
	if err := of(statistics, 8, func(one *Source, r *row) {
		if deviation := r.number(7); r.integer(1, 10) > 0 && one.AgeSeconds != nil {
			one.JitterSeconds = &deviation
		}
	}); err != nil {
		return nil, err
	}
	return list, of(authentication, 10, func(one *Source, r *row) {
		one.NTS = r.fields[1] == "NTS"
		// A key was agreed on; what is not authenticated by it is not taken.
		one.Authenticated = one.NTS && r.integer(4, 10) > 0
	})
}

// within is how long chronyc may take.
const within = 5 * time.Second

func ask(ctx context.Context, arguments ...string) (string, error) {
	said, err := command.Run(ctx, within, 256<<10, append([]string{"chronyc"}, arguments...)...)
	return string(said.Stdout), err
}

// ReadStatus asks chrony. One that does not run, or does not answer, is no error.
func ReadStatus(ctx context.Context) (Status, error) {
	status := Status{Sources: []Source{}}
	tracking, err := ask(ctx, "-c", "-n", "tracking")
	if err != nil {
		// The only failure of a command without operands: 506 Cannot talk to daemon.
		if strings.HasPrefix(tracking, NobodyAnswers) {
			return status, nil
		}
		return status, err
	}
	status.Running = true
	if status.Tracking, err = ParseTracking(tracking); err != nil {
		return status, err
	}
	sources, err := ask(ctx, "-c", "-n", "sources")
	if err != nil {
		return status, err
	}
	statistics, err := ask(ctx, "-c", "-n", "sourcestats")
	if err != nil {
		return status, err
	}
	authentication, err := ask(ctx, "-c", "-n", "authdata")
	if err != nil {
		return status, err
	}
	if status.Sources, err = ParseSources(sources, statistics, authentication); err != nil {
		return status, err
	}
	names, err := ask(ctx, "-c", "-N", "sources")
	if err != nil {
		return status, err
	}
	return status, withNames(status.Sources, names)
}

// withNames gives sources the names that they were named by: the same list in the same order, unless one came or went meanwhile.
func withNames(sources []Source, text string) error {
	named, err := rows(text, 10)
	if err != nil || len(named) != len(sources) {
		return err
	}
	for i, r := range named {
		sources[i].Name = r.fields[2]
	}
	return nil
}
