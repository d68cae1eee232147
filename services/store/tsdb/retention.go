package tsdb

// How long what is stored is kept. What the options say holds until somebody says otherwise with SetRetention; that is kept
//
// FILE "retention" in the folder of the blocks: JSON, replaced as a whole; {"rawSeconds", "minuteSeconds", "hourSeconds"}.
// A file that cannot be read is said in the log, and what the options say holds: whatever is let go too early is gone.

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"cistern/services/platform/vfs"
)

const retentionFile = "retention"

// Retention is how long samples are kept, and how long their rollups of a minute and of an hour. Rollups are kept as long
// as the samples at least, because queries over long times are answered from them.
type Retention struct {
	Raw, Minute, Hour time.Duration
}

const (
	shortestRetention = 24 * time.Hour
	longestRetention  = 200 * 365 * 24 * time.Hour
)

// RetentionError says what of a retention cannot be.
type RetentionError struct{ Detail string }

func (e *RetentionError) Error() string { return e.Detail }

func (r Retention) check() error {
	switch {
	case r.Raw < shortestRetention:
		return &RetentionError{"samples are kept for a day at least"}
	case r.Hour > longestRetention || r.Minute > longestRetention || r.Raw > longestRetention:
		return &RetentionError{"nothing can be kept for more than 200 years"}
	case r.Minute < r.Raw:
		return &RetentionError{"the values of a minute must be kept as long as the samples at least"}
	case r.Hour < r.Minute:
		return &RetentionError{"the values of an hour must be kept as long as those of a minute at least"}
	}
	return nil
}

// retention is what the options say.
func (o *Options) retention() Retention {
	minute := max(o.Retention, o.RetentionMinute)
	return Retention{o.Retention, minute, max(minute, o.RetentionHour)}
}

// Retention is what holds now.
func (s *Store) Retention() Retention { return *s.retention.Load() }

// SetRetention is from now on, and after every start. What is too old by it is let go within minutes, block by block (a block
// spans a tenth of the retention at most, eight days at most, and goes when its last sample is too old); that cannot be
// taken back. It fails with a *RetentionError when it cannot be, and changes nothing when it fails.
func (s *Store) SetRetention(r Retention) error {
	if err := r.check(); err != nil {
		return err
	}
	text, err := json.Marshal(map[string]int64{"rawSeconds": int64(r.Raw / time.Second), "minuteSeconds": int64(r.Minute / time.Second), "hourSeconds": int64(r.Hour / time.Second)})
	if err != nil {
		return err
	}
	s.flushing.Lock()
	defer s.flushing.Unlock()
	if err := vfs.Replace(s.options.FS, s.blocks, filepath.Join(s.blocks, retentionFile), text); err != nil {
		return fmt.Errorf("saving how long measurements are kept: %w", err)
	}
	s.retention.Store(&r)
	return nil
}

func (s *Store) loadRetention() {
	said := s.options.retention()
	s.retention.Store(&said)
	text, err := vfs.ReadFile(s.options.FS, filepath.Join(s.blocks, retentionFile))
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	var f struct{ RawSeconds, MinuteSeconds, HourSeconds int64 }
	if err == nil {
		err = json.Unmarshal(text, &f)
	}
	kept := Retention{time.Duration(f.RawSeconds) * time.Second, time.Duration(f.MinuteSeconds) * time.Second, time.Duration(f.HourSeconds) * time.Second}
	if err == nil {
		err = kept.check()
	}
	if err != nil {
		s.options.Log.Error("how long measurements are kept cannot be read; what the configuration says holds", "error", err)
		return
	}
	if kept != said {
		s.options.Log.Info("how long measurements are kept was set in the web page; what the configuration says does not hold", "samples", kept.Raw, "minutes", kept.Minute, "hours", kept.Hour)
	}
	s.retention.Store(&kept)
}

// keep is how long each track is kept.
func (s *Store) keep() [tracks]time.Duration {
	r := s.Retention()
	return [tracks]time.Duration{trackRaw: r.Raw, trackMinute: r.Minute, trackTen: r.Minute, trackHalf: r.Minute, trackHour: r.Hour}
}
