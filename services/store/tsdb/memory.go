package tsdb

// What the heads may take of memory. Options.HeadBytes is the bound, less what others hold of it. Samples leave memory as
// blocks, so that their part is kept small by flushing early; series that are alive come back at once, so that theirs is
// bounded by refusing new ones. Above three quarters writers wait, because a flush is on its way; at the bound samples are
// refused, and the client is told: better than the kernel's out-of-memory killer, which tells nobody.

import (
	"context"
	"errors"
	"time"

	"cistern/services/journal"
)

// headBytes is what the heads may take: half of HeadBytes, whatever others hold.
func (s *Store) headBytes() int64 {
	if s.options.Held == nil {
		return s.options.HeadBytes
	}
	return max(s.options.HeadBytes/2, s.options.HeadBytes-s.options.Held())
}

// InMemory is about how many bytes the series and samples take that are in no block yet.
func (s *Store) InMemory() int64 {
	s.mu.RLock()
	defer s.mu.RUnlock()
	total := s.live.pressure.Load()
	if s.frozen != nil {
		total += s.frozen.bytes()
	}
	return total
}

// recentHeld is what one of the last generation's series takes.
const recentHeld = 20

// Working is about how many bytes the store takes beside that: for blocks that are being written, and to know series again that return.
func (s *Store) Working() int64 {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.writing.Load() + recentHeld*int64(len(s.recent))
}

// full says whether no sample can be taken. The caller holds ingesting.
func (s *Store) full(live *head) bool {
	total := live.bytes()
	s.mu.RLock()
	if s.frozen != nil {
		total += s.frozen.bytes() // nobody changes it any more
	}
	s.mu.RUnlock()
	return total > s.headBytes()
}

// seriesFull says whether there is no room for a series more. The caller holds ingesting.
func (s *Store) seriesFull(live *head) bool { return live.seriesBytes > s.headBytes()*7/10 }

// large says whether the head should become a block. The caller holds ingesting, or live.mu.
func (s *Store) large(live *head, end journal.Position) bool {
	return live.sampleBytes > s.headBytes()/4 ||
		live.bytes() > s.headBytes()*6/10 && live.sampleBytes > s.headBytes()/16 ||
		int64(end-live.since)-live.defined > s.options.JournalBytes
}

// maxWait is how long a writer is delayed; a client that is refused afterwards has not timed out yet.
const maxWait = 5 * time.Second

// pace holds a writer back while memory is nearly full and a flush is on its way.
func (s *Store) pace(ctx context.Context) error {
	// The series' part does not go away by waiting.
	tight := func() bool {
		s.mu.RLock()
		defer s.mu.RUnlock()
		return s.frozen != nil && s.frozen.bytes()+s.live.pressure.Load() > s.headBytes()*3/4
	}
	if !tight() {
		return nil
	}
	deadline := time.Now().Add(maxWait)
	for tight() && time.Now().Before(deadline) {
		select {
		case <-ctx.Done():
			return errors.Join(errors.New("the memory for new samples is nearly full, and the client did not wait"), ctx.Err())
		case <-s.stop:
			return nil
		case <-time.After(10 * time.Millisecond):
		}
	}
	return nil
}
