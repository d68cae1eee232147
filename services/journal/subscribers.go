package journal

// Named readers: each has a durable checkpoint, and together they decide which segments can go.

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"regexp"
	"strings"

	"cistern/services/vfs"
)

var subscriberName = regexp.MustCompile(`^[A-Za-z0-9_-][A-Za-z0-9._-]{0,63}$`)

func (j *Journal) loadSubscribers(entries []vfs.Entry) error {
	for _, entry := range entries {
		name, ok := strings.CutSuffix(entry.Name, subscriberSuffix)
		if !ok || !subscriberName.MatchString(name) {
			continue
		}
		content, err := vfs.ReadFile(j.fs, j.path(entry.Name))
		if err != nil {
			return fmt.Errorf("reading the checkpoint of %s: %w", name, err)
		}
		if len(content) != 20 || string(content[:8]) != subscriberMagic ||
			crc32.Checksum(content[:16], castagnoli) != binary.LittleEndian.Uint32(content[16:]) {
			// Reading everything again is safe, losing entries is not: the subscriber starts at the beginning.
			j.stats.damaged += uint64(len(content))
			j.subscribers[name] = 0
			continue
		}
		j.subscribers[name] = Position(binary.LittleEndian.Uint64(content[8:]))
	}
	return nil
}

func (j *Journal) saveSubscriber(name string, at Position) error {
	content := binary.LittleEndian.AppendUint64([]byte(subscriberMagic), uint64(at))
	content = binary.LittleEndian.AppendUint32(content, crc32.Checksum(content, castagnoli))
	if err := vfs.Replace(j.fs, j.folder, j.path(name+subscriberSuffix), content); err != nil {
		return fmt.Errorf("saving the checkpoint of %s: %w", name, err)
	}
	return nil
}

// Subscribe registers a name, at the beginning of what is still there or at the end, and returns where it stands. A
// name that exists already keeps its checkpoint. Durable when it returns.
func (j *Journal) Subscribe(name string, atEnd bool) (Position, error) {
	if !subscriberName.MatchString(name) {
		return 0, fmt.Errorf("%q cannot be a subscriber's name: letters, digits, -, _ and . make one, 64 at most", name)
	}
	j.checkpointing.Lock()
	defer j.checkpointing.Unlock()
	if at, ok := j.Subscriber(name); ok {
		return at, nil
	}
	at := j.Begin()
	if atEnd {
		at = j.End()
		if err := j.Sync(at); err != nil {
			return 0, err
		}
	}
	if err := j.saveSubscriber(name, at); err != nil {
		return 0, err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.subscribers[name] = at
	return at, nil
}

// Subscriber says where a subscriber stands.
func (j *Journal) Subscriber(name string) (Position, bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	at, ok := j.subscribers[name]
	return at, ok
}

// Unsubscribe forgets a name, and removes the segments that only it held. An unknown name is no error.
func (j *Journal) Unsubscribe(name string) error {
	j.checkpointing.Lock()
	defer j.checkpointing.Unlock()
	if _, ok := j.Subscriber(name); !ok {
		return nil
	}
	if err := j.fs.Remove(j.path(name + subscriberSuffix)); err != nil && !vfs.NotExist(err) {
		return fmt.Errorf("removing the subscriber %s: %w", name, err)
	}
	if err := j.fs.SyncDir(j.folder); err != nil {
		return err
	}
	j.mu.Lock()
	delete(j.subscribers, name)
	j.mu.Unlock()
	return j.removeConsumed()
}

// Checkpoint says that a subscriber has done with everything before at. Durable when it returns; what lies before is
// durable by then too, so that a power cut cannot take the journal's end back behind a checkpoint. A checkpoint never
// moves backwards: an older position is no error and changes nothing.
func (j *Journal) Checkpoint(name string, at Position) error {
	j.checkpointing.Lock()
	defer j.checkpointing.Unlock()
	now, ok := j.Subscriber(name)
	switch {
	case !ok:
		return fmt.Errorf("the journal has no subscriber %q", name)
	case at > j.End():
		return fmt.Errorf("position %s lies behind the journal's end", at)
	case at <= now:
		return nil
	}
	if err := j.Sync(at); err != nil {
		return err
	}
	if err := j.saveSubscriber(name, at); err != nil {
		return err
	}
	j.mu.Lock()
	j.subscribers[name] = at
	j.mu.Unlock()
	return j.removeConsumed()
}

// removeConsumed removes the segments that every subscriber has passed; never the one that is written to.
func (j *Journal) removeConsumed() error {
	j.mu.Lock()
	var gone []segment
	if len(j.subscribers) > 0 {
		least := j.segments[len(j.segments)-1].base
		for _, at := range j.subscribers {
			least = min(least, at)
		}
		n := 0
		for n < len(j.segments)-1 && j.segments[n].end() <= least {
			n++
		}
		gone = append(gone, j.segments[:n]...)
		j.segments = append([]segment(nil), j.segments[n:]...)
	}
	j.mu.Unlock()
	for _, s := range gone {
		// From the oldest on: whatever a crash leaves is a journal without a hole.
		if err := j.fs.Remove(j.path(segmentName(s.base))); err != nil && !vfs.NotExist(err) {
			return fmt.Errorf("removing segment %s: %w", s.base, err)
		}
	}
	if len(gone) > 0 {
		return j.fs.SyncDir(j.folder)
	}
	return nil
}
