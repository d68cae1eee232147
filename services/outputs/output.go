package outputs

// One output at work: reading, filtering, sending, and what it does when the receiver does not take it.

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"sync"
	"time"

	"cistern/services/outputs/receiver"
	"cistern/services/platform/aligned"
	"cistern/services/store/tsdb"
)

// State is how an output does.
type State string

const (
	Off        State = "off"
	Delivering State = "delivering"
	// CatchingUp: it delivers, and more waits than a few seconds bring.
	CatchingUp State = "catching-up"
	// Failing: the receiver does not take what is sent; it is tried again.
	Failing State = "failing"
	// Invalid: it cannot run with its settings.
	Invalid State = "invalid"
)

// Status is an output's.
type Status struct {
	ID    string `json:"id"`
	Name  string `json:"name"`
	Kind  string `json:"kind"`
	State State  `json:"state"`
	// Error is why it fails, or is invalid, and Since when that began; Since is 0 otherwise. Times are seconds since 1970.
	Error string  `json:"error,omitempty"`
	Since float64 `json:"since,omitempty"`
	// What waits: bytes of the journal, and how long ago the oldest of it was accepted.
	LagBytes   int64   `json:"lagBytes"`
	LagSeconds float64 `json:"lagSeconds"`
	counts
	LastDelivered float64 `json:"lastDelivered,omitempty"`
}

// counts are since storaged started.
type counts struct {
	Sent int64 `json:"sent"`
	// Refused is what the receiver will never take, and its words.
	Refused      int64   `json:"refused"`
	RefusedWords string  `json:"refusedWords,omitempty"`
	RefusedAt    float64 `json:"refusedAt,omitempty"`
	// LeftOut is what the kind of output has no form for.
	LeftOut int64 `json:"leftOut"`
	// Skipped is what was not sent because more waited than the bound; of what times, and when that happened last.
	Skipped     int64   `json:"skipped"`
	SkippedFrom float64 `json:"skippedFrom,omitempty"`
	SkippedTo   float64 `json:"skippedTo,omitempty"`
	SkippedAt   float64 `json:"skippedAt,omitempty"`
	// Damaged is entries of the journal that could not be read.
	Damaged int64 `json:"damaged"`
	Retries int64 `json:"retries"`
}

// saveEvery is how often it is made durable how far an output came: what lies between is sent again after a crash.
const saveEvery = 5 * time.Second

// Between tries: from the first wait, doubled, to the longest; and how often it is looked whether there is more to send. Tests
// do not wait that long.
var (
	firstWait   = time.Second
	longestWait = 30 * time.Second
	lookEvery   = time.Second
)

// longestAsked is the most that a receiver's Retry-After is obeyed.
const longestAsked = 10 * time.Minute

// behind is how many bytes of the journal wait when batches get larger: some tens of the usual ones.
const behind = 4 << 20

// catchingUp is from what age on what waits is more than the usual batch.
const catchingUp = 15 * time.Second

type output struct {
	manager    *Manager
	definition Definition
	stop       context.CancelFunc
	done       chan struct{}
	// begun is closed when the output has its place in the journal, or cannot have one.
	begun     chan struct{}
	beginning sync.Once

	mu      sync.Mutex
	counts  counts
	stream  *tsdb.Stream
	failure string
	invalid bool
	since   time.Time
	last    time.Time

	saved time.Time
	lost  int64 // entries of the stream that were counted as damaged
	// Of what waits in the receiver.
	pending          int
	minTime, maxTime int64
}

func newOutput(m *Manager, d Definition) *output {
	return &output{manager: m, definition: d, done: make(chan struct{}), begun: make(chan struct{})}
}

func (o *output) snapshot() counts {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.counts
}

func (o *output) status() Status {
	o.mu.Lock()
	defer o.mu.Unlock()
	d := &o.definition
	s := Status{ID: d.ID, Name: d.Name, Kind: d.Kind, State: Delivering, counts: o.counts, Error: o.failure}
	if !o.since.IsZero() {
		s.Since = seconds(o.since)
	}
	if !o.last.IsZero() {
		s.LastDelivered = seconds(o.last)
	}
	if o.stream != nil {
		now := time.Now()
		s.LagBytes = o.stream.Lag()
		if s.LagBytes > 0 {
			s.LagSeconds = o.manager.ends.age(now, o.stream.Acknowledged()).Seconds()
		}
	}
	switch {
	case o.invalid:
		s.State = Invalid
	case o.failure != "":
		s.State = Failing
	case s.LagSeconds > catchingUp.Seconds():
		s.State = CatchingUp
	}
	return s
}

func seconds(t time.Time) float64 { return float64(t.UnixMilli()) / 1000 }

// run works until ctx ends.
func (o *output) run(ctx context.Context) {
	defer close(o.done)
	defer o.begin()
	for ctx.Err() == nil {
		err := o.work(ctx)
		if err == nil || ctx.Err() != nil {
			continue
		}
		var cannot *Wrong
		o.fail(err, errors.As(err, &cannot))
		if cannot != nil { // until somebody changes it; what it would never send must not fill the disk
			o.leave()
			<-ctx.Done()
			return
		}
		if o.manager.store.Pinned(subscriberPrefix+o.definition.ID) > o.definition.LagMiB<<20 {
			// The journal cannot be read, so it is not known what is skipped.
			o.mu.Lock()
			o.counts.Damaged++
			o.mu.Unlock()
			o.leave()
		}
		pause(ctx, 10*time.Second)
	}
}

// leave gives up the output's place in the journal.
func (o *output) leave() {
	if err := o.manager.store.EndStream(subscriberPrefix + o.definition.ID); err != nil {
		o.manager.log.Warn("an output's place in the journal could not be given up", "output", o.definition.Name, "error", err)
	}
}

// begin says that there is nothing to wait for any more.
func (o *output) begin() { o.beginning.Do(func() { close(o.begun) }) }

// fail notes why nothing is delivered.
func (o *output) fail(err error, invalid bool) {
	o.begin()
	o.mu.Lock()
	first := o.failure == ""
	o.failure, o.invalid = err.Error(), invalid
	if first {
		o.since = time.Now()
	}
	o.mu.Unlock()
	if first {
		o.manager.log.Warn("an output does not deliver", "output", o.definition.Name, "error", err)
	}
}

// delivered notes what became of a batch.
func (o *output) delivered(outcome receiver.Outcome) {
	now := time.Now()
	o.mu.Lock()
	defer o.mu.Unlock()
	o.counts.Sent += int64(outcome.Sent)
	o.counts.LeftOut += int64(outcome.LeftOut)
	if outcome.Refused > 0 {
		if o.counts.Refused += int64(outcome.Refused); o.counts.RefusedWords != outcome.Words {
			o.manager.log.Warn("a receiver refused samples for good", "output", o.definition.Name, "samples", outcome.Refused, "reason", outcome.Words)
		}
		o.counts.RefusedWords, o.counts.RefusedAt = outcome.Words, seconds(now)
	}
	if outcome.Sent > 0 {
		o.last = now
	}
}

// works notes that the receiver takes what is sent.
func (o *output) works() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.failure != "" {
		o.manager.log.Info("an output delivers again", "output", o.definition.Name)
	}
	o.failure, o.since, o.invalid = "", time.Time{}, false
}

// work reads and sends until ctx ends, or something breaks that is not the receiver's.
func (o *output) work(ctx context.Context) error {
	f, err := o.definition.read()
	if err != nil {
		return err
	}
	r, err := o.manager.open(&o.definition)
	if err != nil {
		return err
	}
	defer r.Close()
	stream, err := o.manager.store.Stream(subscriberPrefix+o.definition.ID, o.definition.Begin == "journal", func(key string, kind tsdb.Kind) any {
		with, ok := f.take(key)
		if !ok {
			return nil
		}
		return r.Prepare(with, kind)
	})
	if err != nil {
		return err
	}
	o.mu.Lock()
	o.stream = stream
	o.mu.Unlock()
	o.begin()
	o.forget(r)
	o.lost = 0
	defer func() {
		if err := stream.Save(); err != nil && ctx.Err() == nil {
			o.manager.log.Warn("how far an output came could not be saved: some is sent again", "output", o.definition.Name, "error", err)
		}
		o.mu.Lock()
		o.stream = nil
		o.mu.Unlock()
		stream.Close()
	}()
	for ctx.Err() == nil {
		end, err := o.gather(r, stream)
		if err != nil {
			return err
		}
		if o.pending > 0 && !o.deliver(ctx, r, stream) {
			continue
		}
		stream.Acknowledge()
		if o.pending == 0 && o.tooFar(stream) {
			if err := o.skip(r, stream); err != nil {
				return err
			}
		}
		o.pending = 0
		if err := o.save(stream, end); err != nil {
			return err
		}
		if end {
			select {
			case <-ctx.Done():
			case <-aligned.After(lookEvery, lookEvery/3):
			}
		}
	}
	return nil
}

// save makes durable how far the output came, now and then.
func (o *output) save(stream *tsdb.Stream, end bool) error {
	now := time.Now()
	if now.Sub(o.saved) < saveEvery {
		return nil
	}
	o.saved = now
	if lost := stream.Lost(); lost > 0 {
		o.mu.Lock()
		o.counts.Damaged += lost - o.lost
		o.lost = lost
		o.mu.Unlock()
	}
	return stream.Save()
}

// gather reads a batch into the receiver; end says that there is no more for now.
func (o *output) gather(r receiver.Receiver, stream *tsdb.Stream) (end bool, err error) {
	samples, bytes := receiver.BatchSamples, receiver.BatchBytes
	if stream.Lag() > behind {
		samples, bytes = samples*receiver.BehindTimes, bytes*receiver.BehindTimes
	}
	for size := 0; o.pending < samples && size < bytes; {
		batch, _, err := stream.Next()
		if errors.Is(err, io.EOF) {
			return true, nil
		}
		if err != nil {
			return false, err
		}
		for i := range batch {
			one := &batch[i]
			size = r.Add(one.Series, one)
			if o.pending == 0 {
				o.minTime, o.maxTime = one.Time, one.Time
			}
			o.minTime, o.maxTime = min(o.minTime, one.Time), max(o.maxTime, one.Time)
			o.pending++
		}
		if o.pending == 0 && o.tooFar(stream) {
			return false, nil
		}
	}
	return false, nil
}

// forget drops what waits in the receiver.
func (o *output) forget(r receiver.Receiver) {
	r.Forget()
	o.pending = 0
}

func (o *output) tooFar(stream *tsdb.Stream) bool { return stream.Lag() > o.definition.LagMiB<<20 }

// deliver sends what waits until the receiver has it. False: it was given up, because ctx ended or too much waits behind it.
func (o *output) deliver(ctx context.Context, r receiver.Receiver, stream *tsdb.Stream) bool {
	wait := firstWait
	for {
		sending, cancel := context.WithTimeout(ctx, receiver.Timeout+5*time.Second)
		outcome, err := r.Send(sending)
		cancel()
		o.delivered(outcome)
		if err == nil {
			o.works()
			return true
		}
		if ctx.Err() != nil {
			return false
		}
		o.fail(err, false)
		o.mu.Lock()
		o.counts.Retries++
		o.mu.Unlock()
		// Not all outputs of all appliances at the same moment.
		pauseFor := wait*3/4 + rand.N(wait/2)
		var asked *receiver.Later
		if errors.As(err, &asked) {
			pauseFor = max(pauseFor, min(asked.After, longestAsked))
		}
		wait = min(2*wait, longestWait)
		for until := time.Now().Add(pauseFor); time.Now().Before(until); {
			if o.tooFar(stream) {
				if err := o.skip(r, stream); err != nil {
					o.manager.log.Warn("what waits for an output could not be read", "output", o.definition.Name, "error", err)
				}
				return false
			}
			pause(ctx, min(time.Second, time.Until(until)))
			if ctx.Err() != nil {
				return false
			}
		}
	}
}

// skip passes over the oldest of what waits, until a tenth of the bound is free again.
func (o *output) skip(r receiver.Receiver, stream *tsdb.Stream) error {
	skipped := int64(o.pending)
	from, to := o.minTime, o.maxTime
	if skipped == 0 {
		from, to = 1<<62, -1<<62
	}
	o.forget(r)
	stream.Acknowledge()
	var failed error
	for stream.Lag() > o.definition.LagMiB<<20/10*9 {
		batch, _, err := stream.Next()
		if err != nil {
			if !errors.Is(err, io.EOF) {
				failed = err
			}
			break
		}
		for i := range batch {
			from, to = min(from, batch[i].Time), max(to, batch[i].Time)
		}
		skipped += int64(len(batch))
		stream.Acknowledge()
	}
	if skipped > 0 {
		o.mu.Lock()
		o.counts.Skipped += skipped
		if o.counts.SkippedFrom == 0 || time.Since(time.UnixMilli(int64(o.counts.SkippedAt*1000))) > time.Hour {
			o.counts.SkippedFrom = float64(from) / 1000
		}
		o.counts.SkippedTo, o.counts.SkippedAt = float64(to)/1000, seconds(time.Now())
		o.mu.Unlock()
		o.manager.log.Warn("an output is too far behind: the oldest samples that wait for it were skipped", "output", o.definition.Name, "samples", skipped)
	}
	return errors.Join(failed, stream.Save())
}

// pause waits, or until ctx ends.
func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
