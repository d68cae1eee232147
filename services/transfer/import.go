package transfer

// An import from its beginning to its end: what there is, whether it is taken, sending, and the comparison.

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"
)

// Options are those of an import.
type Options struct {
	// What says what is imported and how, as text: a state belongs to it.
	What      string
	Selection *Selection
	// SkipOlder leaves out what is older than the appliance's retention; otherwise such an import does not begin.
	SkipOlder bool
	// State is the file of the state; empty: one in Folder, named by What, the appliance and the source's place.
	State, Folder string
	// Again begins anew.
	Again bool
	// Check is how many series are compared afterwards; 0: none.
	Check int
	// Patience is how long an appliance that does not answer is tried again.
	Patience time.Duration
	Screen   *Screen
}

// ErrIncomplete is wrapped by the error of an import that came to its end, but of which something is missing.
var ErrIncomplete = errors.New("not everything is on the appliance")

// Import sends the selection of a source to an appliance, and compares. The result is what became of it so far, also with an error.
func Import(ctx context.Context, source Source, a Appliance, o Options) (*Counts, error) {
	counts, err := o.run(ctx, source, a)
	if err != nil && ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		err = errors.New("it was interrupted; the same command goes on where it was")
	}
	return counts, err
}

func (o *Options) run(ctx context.Context, source Source, a Appliance) (*Counts, error) {
	if o.State == "" {
		o.State = stateName(o.Folder, o.What, a.Name())
	}
	s, err := loadState(o.State, o.What+" to "+a.Name())
	if o.Again {
		s, err = &state{Version: stateVersion, What: o.What + " to " + a.Name(), file: o.State}, nil
	}
	if err != nil {
		return nil, err
	}
	identity := source.Identity()
	if s.Identity != "" && s.Identity != identity {
		return &s.Counts, fmt.Errorf("what is imported has changed since %s, when %s samples of it were sent: nobody knows where to go on\nGive --again to begin anew; what is sent twice is stored once",
			s.Started.Format(time.RFC3339), Number(s.Counts.Sent))
	}
	if s.Identity == "" {
		s.Identity, s.Started = identity, time.Now().UTC()
	}
	keeps, err := retention(ctx, a)
	if err != nil {
		return &s.Counts, err
	}
	oldest := func() int64 { return keeps.oldest(time.Now()) }
	before := oldest()
	o.Screen.Say("Reading what there is.")
	o.Selection.Surveyed = func(samples int64) { o.Screen.Passing("%s samples so far", Number(samples)) }
	survey, err := source.Survey(ctx, o.Selection, before)
	if err != nil {
		return &s.Counts, err
	}
	o.announce(survey)
	if survey.Samples == 0 {
		if survey.Damaged > 0 {
			return &s.Counts, fmt.Errorf("nothing of it can be read: %s damaged", Counted(survey.Damaged, "part is", "parts are"))
		}
		return &s.Counts, errors.New("there is nothing to import: no sample is in the time and of the series that were asked for")
	}
	if survey.Older > 0 && !o.SkipOlder {
		return &s.Counts, o.tooOld(survey, keeps, before)
	}
	if err := o.send(ctx, source, a, s, survey, oldest); err != nil {
		return &s.Counts, err
	}
	return &s.Counts, o.compare(ctx, source, a, s, survey, oldest)
}

// announce says what there is.
func (o *Options) announce(survey *Survey) {
	for _, text := range survey.Notes {
		o.Screen.Say("%s", text)
	}
	if survey.Samples > 0 {
		o.Screen.Say("There are %s%s samples of %s in %s, from %s to %s.", about(survey), Number(survey.Samples), Counted(survey.Series, "series", "series"),
			Counted(int64(survey.Files), "file", "files"), Day(survey.MinTime), Day(survey.MaxTime))
	}
	if survey.Damaged > 0 {
		o.Screen.Say("%s damaged; the rest is imported.", Counted(survey.Damaged, "part of it is", "parts of it are"))
	}
}

func about(survey *Survey) string {
	if survey.About {
		return "about "
	}
	return ""
}

// tooOld says what is older than the retention, and what to do.
func (o *Options) tooOld(survey *Survey, keeps kept, before int64) error {
	const second, perDay = 1000, 86_400
	// The oldest sample must still be kept some days after the import has begun.
	days := (time.Now().UnixMilli()-survey.MinTime)/second/perDay + 8
	raw := days * perDay
	return fmt.Errorf(`%s%s of %s samples are older than the appliance keeps measurements, which is %s: those from %s to %s.
Nothing was sent. To import everything, keep measurements for %d days:
  cistern retention set --raw-seconds %d --minute-seconds %d --hour-seconds %d
or on the page Analytics, Recorded statistics, Retention. To leave the older ones out, give --skip-older`,
		about(survey), Number(survey.Older), Number(survey.Samples), days64(keeps.Raw), Day(survey.MinTime), Day(min(before-1, survey.MaxTime)),
		days, raw, max(raw, keeps.Minute), max(raw, keeps.Hour))
}

func days64(seconds int64) string {
	if seconds%86_400 == 0 {
		return Counted(seconds/86_400, "day", "days")
	}
	return (time.Duration(seconds) * time.Second).String()
}

// send sends what was not sent yet, and says what became of everything.
func (o *Options) send(ctx context.Context, source Source, a Appliance, s *state, survey *Survey, oldest func() int64) error {
	switch {
	case !s.Finished.IsZero():
		o.Screen.Say("All of it was sent until %s. Give --again to send it anew.", s.Finished.Format(time.RFC3339))
		return nil
	case s.Counts.Read > 0:
		o.Screen.Say("The import of %s goes on: %s samples were sent. Give --again to begin anew.", s.Started.Format(time.RFC3339), Number(s.Counts.Sent))
	}
	m := &meter{began: time.Now(), at: s.Counts.Read, of: survey.Samples}
	sending := &sender{appliance: a, state: s, patient: o.Patience,
		waiting: func(why error, pause time.Duration) {
			first, _, _ := strings.Cut(why.Error(), "\n")
			o.Screen.passing(func() string { return fmt.Sprintf("waiting %s: %s", pause, first) })
		},
		progress: func() {
			o.Screen.passing(func() string {
				more := ", " + Counted(s.Counts.Series, "series", "series")
				if n := total(s.Counts.Refused); n > 0 {
					more += ", " + Number(n) + " refused"
				}
				return m.line(s.Counts.Read, more)
			})
		}}
	err := sending.run(ctx, source, o.Selection, oldest, o.SkipOlder)
	if err != nil {
		if ctx.Err() != nil {
			return fmt.Errorf("it was interrupted after %s samples; the same command goes on from there", Number(s.Counts.Sent))
		}
		return fmt.Errorf("after %s samples: %w\nThe same command goes on from there", Number(s.Counts.Sent), err)
	}
	s.Finished = time.Now().UTC()
	if err := s.save(true); err != nil {
		return err
	}
	o.Screen.Say("Sent and stored: %s samples.", Number(s.Counts.Sent))
	return nil
}

// compare says what is missing, and asks the appliance for what it should have.
func (o *Options) compare(ctx context.Context, source Source, a Appliance, s *state, survey *Survey, oldest func() int64) error {
	missing := o.missing(&s.Counts)
	if o.Check > 0 {
		from := int64(math.MinInt64 / 2)
		if survey.Older > 0 {
			from = oldest()
		}
		result, err := check(ctx, source, a, o.Selection, o.Check, survey, from, o.Screen)
		if err != nil {
			return fmt.Errorf("everything was sent, and the comparison failed: %w\nThe same command compares again", err)
		}
		if result.differing > 0 || result.unknown > 0 {
			missing = true
		}
	}
	if missing {
		return ErrIncomplete
	}
	return nil
}

// missing says what was refused, left out or damaged, and whether something is missing by that.
func (o *Options) missing(c *Counts) bool {
	list := func(title string, m map[string]Amount) {
		for _, reason := range slices.Sorted(maps.Keys(m)) {
			o.Screen.Say("%s: %s samples, %s. The first: %s", title, Number(m[reason].Samples), reason, m[reason].First)
		}
	}
	list("Refused by the appliance", c.Refused)
	list("Left out", c.LeftOut)
	if c.Damaged > 0 {
		o.Screen.Say("Damaged and not imported: %s, %s samples as far as that is known.", Counted(c.Damaged, "place", "places"), Number(c.DamagedSamples))
		for _, one := range c.DamagedFirst {
			o.Screen.Say("  %s", one)
		}
	}
	return len(c.Refused) > 0 || c.Damaged > 0 || c.LeftOut[tooLong].Samples > 0
}
