package tsdb

// Who sent a batch: who is charged for the series that it makes, which names only the appliance's own parts may use, and
// whether it is history.

import (
	"context"
	"fmt"
	"sort"
	"strings"
	"sync"
	"time"
	"unsafe"

	"github.com/cespare/xxhash/v2"
)

// Sender is who sent a batch.
type Sender interface {
	// Create says whether the sender of the batch's i-th sample may make one more series: "" if so, else the reason and what
	// to do about it. It is called while nobody else can write, so it must not wait.
	Create(i int) (reason Reason, detail string)
	// Refused counts a sample of the batch that the store refused.
	Refused(i int, reason Reason)
	// Sent counts the n samples of a batch that was dealt with, those that were refused too.
	Sent(n int)
}

// Admitter is a Sender that is asked before a batch is looked at: a batch is taken as a whole or refused as a whole, so that who is
// refused can send all of it again.
type Admitter interface {
	// Admit says whether the sender may send so many samples now: "" if so, else the reason and what to do about it.
	Admit(samples int) (reason Reason, detail string)
}

// Repeater is a Sender whose batch may say again what was sent before: that is no sign that somebody sends.
type Repeater interface {
	Repeats() bool
}

type senderKey struct{}

// WithSender names the sender of what is ingested under the context. Without one a batch is the appliance's own: it may
// use every name and make as many series as the store takes.
func WithSender(ctx context.Context, sender Sender) context.Context {
	return context.WithValue(ctx, senderKey{}, sender)
}

func senderOf(ctx context.Context) Sender {
	sender, _ := ctx.Value(senderKey{}).(Sender)
	return sender
}

type historyKey struct{}

// WithHistory says that what is ingested under the context is history: it may be however far behind its series' latest
// sample. Everything else holds as it does for all samples, the retention too.
func WithHistory(ctx context.Context) context.Context {
	return context.WithValue(ctx, historyKey{}, true)
}

func isHistory(ctx context.Context) bool { return ctx.Value(historyKey{}) != nil }

// OwnPrefix begins the names of the appliance's own series, which nobody else may write to.
const OwnPrefix = "cistern_"

// ReservedDetail is what a sender is told who uses such a name.
const ReservedDetail = "names that begin with " + OwnPrefix + " are those of the appliance's own series: send it under another name"

// Reserved says whether a key has a name that only the appliance itself may use.
func Reserved(key []byte) bool {
	return strings.HasPrefix(LabelOf(unsafe.String(unsafe.SliceData(key), len(key)), NameLabel), OwnPrefix)
}

// Known says whether a series is in memory, or was before the last block was written. With stored it is looked for in the
// blocks of the last day too, which takes a fraction of a millisecond and is done a limited number of times a second;
// beyond that the answer is no.
func (s *Store) Known(key []byte, stored bool) bool {
	hash := xxhash.Sum64(key)
	s.mu.RLock()
	live := s.live
	_, known := s.recent[hash]
	s.mu.RUnlock()
	if !known {
		live.mu.RLock()
		known = live.find(key, hash) != nil
		live.mu.RUnlock()
	}
	return known || stored && s.stored(key)
}

// Lookups of series in blocks: so many a second, and at once after a start, when all senders come back.
const (
	lookupsPerSecond = 200
	lookupsAtOnce    = 2000
	lookupBlocks     = 24 * time.Hour
)

type lookups struct {
	mu     sync.Mutex
	bucket bucket
}

func (l *lookups) take(now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.bucket.refill(now)
	return l.bucket.take()
}

// stored says whether a block of the last day has a series: one that goes on after a restart is no new one.
func (s *Store) stored(key []byte) bool {
	now := s.options.Now()
	if !s.lookups.take(now) {
		return false
	}
	v, release, err := s.view(context.Background(), now.Add(-lookupBlocks).UnixMilli(), 1<<62)
	if err != nil {
		return false
	}
	defer release()
	for i := len(v.blocks) - 1; i >= 0; i-- {
		x, err := v.blocks[i].index()
		if err != nil {
			continue // the next query reports the damage
		}
		if found, err := x.has(string(key)); err == nil && found {
			return true
		}
	}
	return false
}

// has says whether the block has a series of this key: its series are in the order of their keys.
func (x *blockIndex) has(key string) (found bool, err error) {
	at := sort.Search(x.block.Series, func(i int) bool {
		one, failed := x.seriesAt(i)
		if failed != nil {
			err = failed
			return true
		}
		return one.key >= key
	})
	if err != nil || at == x.block.Series {
		return false, err
	}
	one, err := x.seriesAt(at)
	return err == nil && one.key == key, err
}

// daysOf writes a retention as the settings do.
func daysOf(d time.Duration) string {
	if d >= 24*time.Hour && d%(24*time.Hour) == 0 {
		return fmt.Sprintf("%dd", d/(24*time.Hour))
	}
	return d.String()
}
