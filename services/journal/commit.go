package journal

// Group commit: writers that all wait for their entries to be durable share not only the fsync, as Sync's callers do, but
// the write before it too. Who comes first writes for all that are there; those that come meanwhile are the next round.

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// together is how much of a round is written at once, so that many large entries are not in memory a second time.
const together = 4 << 20

// commits is the writers that wait. Its mutex is taken alone.
type commits struct {
	mu       sync.Mutex
	list     []*commit
	waiting  atomic.Int64  // how many list has
	busy     bool          // somebody writes for a round
	over     chan struct{} // closed when all in list are done
	expected int64         // how many may come to a round: those of the last, and those that waited when it ended
	took     time.Duration // the last fsync
}

// commit is one writer's part of a round.
type commit struct {
	entries  [][]byte
	position Position
	err      error
}

// appendTogether is AppendDurable with Fsync, where positions follow from the entries' lengths.
func (j *Journal) appendTogether(entries [][]byte) (Position, error) {
	for _, data := range entries {
		if len(data) > MaxEntry {
			return 0, tooLarge(data)
		}
	}
	one, c := &commit{entries: entries}, &j.commits
	c.mu.Lock()
	c.list = append(c.list, one)
	c.waiting.Store(int64(len(c.list)))
	over := c.over
	if !c.busy {
		c.busy = true
		c.mu.Unlock()
		j.commitRound()
	} else {
		c.mu.Unlock()
		<-over
	}
	return one.position, one.err
}

// commitRound writes for all that wait. Those that came meanwhile get somebody who writes for them.
func (j *Journal) commitRound() {
	c := &j.commits
	c.gather()
	c.mu.Lock()
	list, over := c.list, c.over
	c.list, c.over = make([]*commit, 0, cap(list)), make(chan struct{})
	c.waiting.Store(0)
	c.mu.Unlock()
	took := j.commitAll(list)
	c.mu.Lock()
	c.busy = len(c.list) > 0
	c.expected, c.took = int64(len(list)+len(c.list)), took
	more := c.busy
	c.mu.Unlock()
	close(over)
	if more {
		go j.commitRound()
	}
}

// gather gives the processor away until as many writers wait as may come, or none came for a quarter of the time that an
// fsync takes: the last round has let its writers go all at once, and each that comes too late waits for two fsyncs. Of
// few it expects nothing: they may be clients that come when they like.
func (c *commits) gather() {
	const crowd = 8
	if c.expected < crowd {
		return
	}
	patience := c.took / 4
	last, quiet := int64(0), time.Now()
	for {
		now := c.waiting.Load()
		switch {
		case now >= c.expected:
			return
		case now != last:
			last, quiet = now, time.Now()
		case time.Since(quiet) > patience:
			return
		}
		runtime.Gosched()
	}
}

// commitAll writes what all in list have and makes it durable.
func (j *Journal) commitAll(list []*commit) (took time.Duration) {
	var entries [][]byte
	var end Position
	for rest := list; len(rest) > 0; {
		n, size := 0, 0
		entries = entries[:0]
		for n < len(rest) && (n == 0 || size < together) {
			for _, data := range rest[n].entries {
				size += entryHeaderBytes + len(data)
			}
			entries = append(entries, rest[n].entries...)
			n++
		}
		part := rest[:n]
		rest = rest[n:]
		position, err := j.Append(entries...)
		if err != nil {
			// Where there is no room for all there may be for some.
			for _, one := range part {
				if one.err = err; n > 1 {
					one.position, one.err = j.Append(one.entries...)
					end = max(end, one.position)
				}
			}
			continue
		}
		end = position
		position -= Position(size)
		for _, one := range part {
			for _, data := range one.entries {
				position += Position(entryHeaderBytes + len(data))
			}
			one.position = position
		}
	}
	if end == 0 { // nothing was written
		return 0
	}
	began := time.Now()
	err := j.Sync(end)
	took = time.Since(began)
	for _, one := range list {
		if one.err == nil {
			one.err = err
		}
	}
	return took
}

func tooLarge(data []byte) error {
	return fmt.Errorf("an entry of %d bytes is too large for the journal: %d is the limit", len(data), MaxEntry)
}
