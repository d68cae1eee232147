package tsdb

// Deleting series' samples. What is deleted is not found from then on; the blocks that hold it are written again without
// it soon after, one after the other, and the deletion is forgotten when none is left.
//
// FILE "deletions": JSON, replaced as a whole; a list of {matchers, from, to, rank}. A deletion is about the samples
// that were there when it came: those of blocks up to its rank.

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"cistern/services/platform/vfs"

	"github.com/prometheus/prometheus/model/labels"
)

const deletionsFile = "deletions"

type deletion struct {
	Matchers []matcherText `json:"matchers"`
	From     int64         `json:"from"` // ms
	To       int64         `json:"to"`
	Rank     uint64        `json:"rank"`
	matchers []*Matcher
}

type matcherText struct {
	Name  string `json:"name"`
	Type  string `json:"type"`
	Value string `json:"value"`
}

// ErrDeletesAll refuses a deletion that names nothing.
var ErrDeletesAll = errors.New("a deletion must name what it deletes: give a matcher that the empty string does not satisfy")

// Delete deletes the samples in [minTime, maxTime] of the series that match all matchers. Durable when it returns.
func (s *Store) Delete(ctx context.Context, minTime, maxTime int64, matchers ...*Matcher) error {
	if !slices.ContainsFunc(matchers, func(m *Matcher) bool { return !m.Matches("") }) {
		return ErrDeletesAll
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	// What is in memory goes to a block first: deletions are about blocks.
	if _, err := s.Flush(); err != nil {
		return err
	}
	s.flushing.Lock()
	defer s.flushing.Unlock()
	one := deletion{From: minTime, To: maxTime, Rank: s.sequence, matchers: matchers}
	for _, m := range matchers {
		one.Matchers = append(one.Matchers, matcherText{m.Name, m.Type.String(), m.Value})
	}
	s.mu.RLock()
	list := append(slices.Clone(s.deletions), one)
	s.mu.RUnlock()
	if err := s.saveDeletions(list); err != nil {
		return err
	}
	s.forgetDeleted()
	return nil
}

func (s *Store) saveDeletions(list []deletion) error {
	text, err := json.Marshal(list)
	if err == nil {
		err = vfs.Replace(s.options.FS, s.blocks, filepath.Join(s.blocks, deletionsFile), text)
	}
	if err != nil {
		return fmt.Errorf("saving the deletions: %w", err)
	}
	s.mu.Lock()
	s.deletions = list
	s.mu.Unlock()
	return nil
}

func (s *Store) loadDeletions() error {
	text, err := vfs.ReadFile(s.options.FS, filepath.Join(s.blocks, deletionsFile))
	if vfs.NotExist(err) {
		return nil
	}
	if err != nil {
		return err
	}
	var list []deletion
	if err := json.Unmarshal(text, &list); err != nil {
		return fmt.Errorf("the list of deletions cannot be read: %w", err)
	}
	types := map[string]labels.MatchType{"=": labels.MatchEqual, "!=": labels.MatchNotEqual, "=~": labels.MatchRegexp, "!~": labels.MatchNotRegexp}
	for i := range list {
		// What comes from now on must have greater numbers, though no block has this one: a merge that was given up had
		// taken it, or the block is gone.
		s.sequence = max(s.sequence, list[i].Rank)
		for _, m := range list[i].Matchers {
			kind, ok := types[m.Type]
			if !ok {
				return fmt.Errorf("the list of deletions has a matcher of the unknown type %q", m.Type)
			}
			parsed, err := labels.NewMatcher(kind, m.Name, m.Value)
			if err != nil {
				return fmt.Errorf("the list of deletions: %w", err)
			}
			list[i].matchers = append(list[i].matchers, parsed)
		}
	}
	s.deletions = list
	return nil
}

// touches says whether a block may hold something that d deletes: whether it must be written again.
func (d *deletion) touches(b *block) bool {
	return b.rank <= d.Rank && b.sequence <= d.Rank && b.MaxTime >= d.From && b.MinTime <= d.To
}

// matches says whether a series is one of those that d is about.
func (d *deletion) matches(set []Label) bool {
	for _, m := range d.matchers {
		value := ""
		for _, l := range set {
			if l.Name == m.Name {
				value = l.Value
			}
		}
		if !m.Matches(value) {
			return false
		}
	}
	return true
}

// deletedFrom is the stretches of time that are deleted from a series in a block, those that touch as one: a record of a
// rollup is gone when all it stands for is, in however many deletions.
func deletedFrom(list []deletion, b *block, set []Label) []interval {
	var gone []interval
	for i := range list {
		if d := &list[i]; d.touches(b) && d.matches(set) {
			gone = append(gone, interval{d.From, d.To})
		}
	}
	if len(gone) < 2 {
		return gone
	}
	slices.SortFunc(gone, func(a, b interval) int { return cmp.Compare(a.from, b.from) })
	joined := gone[:1]
	for _, one := range gone[1:] {
		last := &joined[len(joined)-1]
		if one.from > last.to && one.from-1 > last.to {
			joined = append(joined, one)
		} else {
			last.to = max(last.to, one.to)
		}
	}
	return joined
}

// forgetDeletions drops those that no block is left for. The caller holds flushing.
func (s *Store) forgetDeletions() error {
	s.mu.RLock()
	var kept []deletion
	for i := range s.deletions {
		if slices.ContainsFunc(s.list, s.deletions[i].touches) {
			kept = append(kept, s.deletions[i])
		}
	}
	n := len(s.deletions)
	s.mu.RUnlock()
	if len(kept) == n {
		return nil
	}
	return s.saveDeletions(kept)
}
