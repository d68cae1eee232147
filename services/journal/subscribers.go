package journal

// Named readers: each has a durable checkpoint, and together with the marks they decide which segments can go.

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"regexp"
	"strings"

	"cistern/services/platform/vfs"
)

var subscriberName = regexp.MustCompile(`^[A-Za-z0-9_-][A-Za-z0-9._-]{0,63}$`)

// loadSubscribers reads all checkpoints and marks; mu is held, or nobody else is there yet.
func (j *Journal) loadSubscribers(entries []vfs.Entry) error {
	clear(j.subscribers)
	clear(j.marks)
	for _, entry := range entries {
		for suffix, list := range map[string]map[string]Position{subscriberSuffix: j.subscribers, markSuffix: j.marks} {
			name, ok := strings.CutSuffix(entry.Name, suffix)
			if !ok || !subscriberName.MatchString(name) {
				continue
			}
			content, err := vfs.ReadFile(j.fs, j.path(entry.Name))
			if err != nil {
				if vfs.NotExist(err) { // removed in the meantime
					continue
				}
				return fmt.Errorf("reading the checkpoint of %s: %w", name, err)
			}
			if len(content) != 20 || string(content[:8]) != subscriberMagic ||
				crc32.Checksum(content[:16], castagnoli) != binary.LittleEndian.Uint32(content[16:]) {
				// Reading everything again is safe, losing entries is not: the subscriber starts at the beginning.
				j.stats.damaged += uint64(len(content))
				list[name] = 0
				continue
			}
			list[name] = Position(binary.LittleEndian.Uint64(content[8:]))
		}
	}
	return nil
}

func (j *Journal) savePosition(file string, at Position) error {
	content := binary.LittleEndian.AppendUint64([]byte(subscriberMagic), uint64(at))
	content = binary.LittleEndian.AppendUint32(content, crc32.Checksum(content, castagnoli))
	if err := vfs.Replace(j.fs, j.folder, j.path(file), content); err != nil {
		return fmt.Errorf("saving the position %s: %w", file, err)
	}
	return nil
}

// positions is held while checkpoints and marks change; in a shared journal that is a turn.
func (j *Journal) positions() (release func(), err error) {
	j.checkpointing.Lock()
	if !j.options.Shared {
		return j.checkpointing.Unlock, nil
	}
	j.appending.Lock()
	if err := j.turn(); err != nil {
		j.appending.Unlock()
		j.checkpointing.Unlock()
		return nil, err
	}
	return func() { j.giveLock(); j.appending.Unlock(); j.checkpointing.Unlock() }, nil
}

func checkName(name string) error {
	if !subscriberName.MatchString(name) {
		return fmt.Errorf("%q cannot be a subscriber's name: letters, digits, -, _ and . make one, 64 at most", name)
	}
	return nil
}

// Subscribe registers a name, at the beginning of what is still there or at the end, and returns where it stands. A
// name that exists already keeps its checkpoint. Durable when it returns.
func (j *Journal) Subscribe(name string, atEnd bool) (Position, error) {
	if atEnd {
		if err := j.Flush(); err != nil {
			return 0, err
		}
	}
	release, err := j.positions()
	if err != nil {
		return 0, err
	}
	defer release()
	at := j.Begin()
	if atEnd {
		at = j.End()
	}
	return j.subscribe(name, at)
}

// SubscribeAt is Subscribe at a position: an entry's, a checkpoint or a mark. One before the beginning of what is still
// there means the beginning.
func (j *Journal) SubscribeAt(name string, at Position) (Position, error) {
	release, err := j.positions()
	if err != nil {
		return 0, err
	}
	defer release()
	if at > j.End() {
		return 0, fmt.Errorf("position %s lies behind the journal's end", at)
	}
	return j.subscribe(name, max(at, j.Begin()))
}

func (j *Journal) subscribe(name string, at Position) (Position, error) {
	if err := checkName(name); err != nil {
		return 0, err
	}
	if known, ok := j.Subscriber(name); ok {
		return known, nil
	}
	if err := j.Sync(at); err != nil {
		return 0, err
	}
	if err := j.savePosition(name+subscriberSuffix, at); err != nil {
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
	return j.forget(name, subscriberSuffix, j.subscribers)
}

// Unmark is Unsubscribe for a mark.
func (j *Journal) Unmark(name string) error { return j.forget(name, markSuffix, j.marks) }

func (j *Journal) forget(name, suffix string, list map[string]Position) error {
	release, err := j.positions()
	if err != nil {
		return err
	}
	defer release()
	j.mu.Lock()
	_, ok := list[name]
	j.mu.Unlock()
	if !ok {
		return nil
	}
	if err := j.fs.Remove(j.path(name + suffix)); err != nil && !vfs.NotExist(err) {
		return fmt.Errorf("removing %s: %w", name+suffix, err)
	}
	if err := j.fs.SyncDir(j.folder); err != nil {
		return err
	}
	j.mu.Lock()
	delete(list, name)
	j.mu.Unlock()
	return j.removeConsumed()
}

// Checkpoint says that a subscriber has done with everything before at. Durable when it returns; what lies before is
// durable by then too, so that a power cut cannot take the journal's end back behind a checkpoint. A checkpoint never
// moves backwards: an older position is no error and changes nothing. Rewind is for that.
func (j *Journal) Checkpoint(name string, at Position) error {
	release, err := j.positions()
	if err != nil {
		return err
	}
	defer release()
	now, ok := j.Subscriber(name)
	switch {
	case !ok:
		return fmt.Errorf("the journal has no subscriber %q", name)
	case at > j.End():
		return fmt.Errorf("position %s lies behind the journal's end", at)
	case at <= now:
		return nil
	}
	if err := j.setCheckpoint(name, at); err != nil {
		return err
	}
	return j.removeConsumed()
}

func (j *Journal) setCheckpoint(name string, at Position) error {
	if err := j.Sync(at); err != nil {
		return err
	}
	if err := j.savePosition(name+subscriberSuffix, at); err != nil {
		return err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.subscribers[name] = at
	return nil
}

// Rewind sets a subscriber back to a position it passed: a mark, or any from which everything is still there. It is an
// error when entries behind the position are gone. Durable when it returns.
func (j *Journal) Rewind(name string, at Position) error {
	release, err := j.positions()
	if err != nil {
		return err
	}
	defer release()
	now, ok := j.Subscriber(name)
	switch {
	case !ok:
		return fmt.Errorf("the journal has no subscriber %q", name)
	case at > now:
		return fmt.Errorf("position %s lies behind the checkpoint of %s: only going back is rewinding", at, name)
	case at < j.Begin():
		return fmt.Errorf("the journal begins at %s: what lies before was removed, because nothing pinned it", j.Begin())
	}
	return j.setCheckpoint(name, at)
}

// Mark names a position, which pins the journal from there on: subscribers can be rewound to it until Unmark. A mark of
// that name is moved. The position must still be there.
func (j *Journal) Mark(name string, at Position) error {
	release, err := j.positions()
	if err != nil {
		return err
	}
	defer release()
	if err := checkName(name); err != nil {
		return err
	}
	if at < j.Begin() || at > j.End() {
		return fmt.Errorf("position %s is not in the journal, which holds %s to %s", at, j.Begin(), j.End())
	}
	if err := j.Sync(at); err != nil {
		return err
	}
	if err := j.savePosition(name+markSuffix, at); err != nil {
		return err
	}
	j.mu.Lock()
	j.marks[name] = at
	j.mu.Unlock()
	return j.removeConsumed()
}

// Marked says where a mark is.
func (j *Journal) Marked(name string) (Position, bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	at, ok := j.marks[name]
	return at, ok
}

// removeConsumed removes the segments that every subscriber and mark has passed; never the one that is written to.
func (j *Journal) removeConsumed() error {
	j.mu.Lock()
	var gone []segment
	if len(j.subscribers) > 0 {
		least := j.segments[len(j.segments)-1].base
		for _, at := range j.subscribers {
			least = min(least, at)
		}
		for _, at := range j.marks {
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
