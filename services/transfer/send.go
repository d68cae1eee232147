package transfer

// Sending: one goroutine reads the source and packs requests, another one sends them one after the other, so that what was
// acknowledged is always a beginning of the source.

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"
)

// Reasons for which samples are left out before they are sent.
const (
	tooOld  = "older than what the appliance keeps"
	tooLong = "labels too long"
)

// maxDamagedNamed is how many places that cannot be read are named.
const maxDamagedNamed = 20

type sender struct {
	appliance Appliance
	state     *state
	patient   time.Duration
	waiting   func(why error, pause time.Duration)
	progress  func()
}

var writeHeader = http.Header{
	"Content-Type":                      {"application/x-protobuf;proto=io.prometheus.write.v2.Request"},
	"Content-Encoding":                  {"snappy"},
	"X-Prometheus-Remote-Write-Version": {"2.0.0"},
}

// stored is what the appliance says has become of a request's samples.
type stored struct {
	Stored  int64
	Refused []struct {
		Reason  string
		Samples int64
		First   string
	}
}

// send sends a batch until it is acknowledged.
func (s *sender) send(ctx context.Context, b *batch) error {
	again := retry{patient: s.patient}
	for b.samples > 0 {
		answer, err := s.post(ctx, b.body)
		if err == nil {
			if lost := b.samples - answer.Stored - answer.refused(); lost != 0 {
				return fmt.Errorf("of %d samples the appliance says nothing about %d: update it to the version of this command", b.samples, lost)
			}
			b.counts.Sent += answer.Stored
			b.counts.Bytes += int64(len(b.body))
			for _, r := range answer.Refused {
				note(&b.counts.Refused, r.Reason, r.Samples, r.First)
			}
			break
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		pause, worth := again.wait(err, time.Now())
		if !worth {
			return err
		}
		s.waiting(err, pause)
		if err := sleep(ctx, pause); err != nil {
			return err
		}
	}
	s.state.acknowledge(b)
	return s.state.save(false)
}

func (s *stored) refused() (n int64) {
	for _, r := range s.Refused {
		n += r.Samples
	}
	return n
}

func (s *sender) post(ctx context.Context, body []byte) (*stored, error) {
	answer, err := ask(ctx, s.appliance, http.MethodPost, "/admin/write", writeHeader, body)
	if err != nil {
		return nil, err
	}
	var said stored
	if err := decode(answer, &said); err != nil {
		return nil, fmt.Errorf("the appliance's answer cannot be read: %w", err)
	}
	return &said, nil
}

// acknowledge moves the position behind a batch.
func (s *state) acknowledge(b *batch) {
	c := &s.Counts
	c.Series += b.counts.Series
	c.Read += b.counts.Read
	c.Sent += b.counts.Sent
	c.Bytes += b.counts.Bytes
	for reason, one := range b.counts.Refused {
		note(&c.Refused, reason, one.Samples, one.First)
	}
	for reason, one := range b.counts.LeftOut {
		note(&c.LeftOut, reason, one.Samples, one.First)
	}
	c.Damaged += b.counts.Damaged
	c.DamagedSamples += b.counts.DamagedSamples
	if room := maxDamagedNamed - len(c.DamagedFirst); room > 0 {
		c.DamagedFirst = append(c.DamagedFirst, b.counts.DamagedFirst[:min(room, len(b.counts.DamagedFirst))]...)
	}
	s.Position, s.unwritten = b.position, true
}

// packer cuts what a source yields into batches.
type packer struct {
	state     Position // where it begins
	oldest    func() int64
	skipOlder bool
	now       *batch
	out       func(*batch) error
	skipping  bool // over what was acknowledged before, damage included
}

// pass hands the batch on and begins another one.
func (p *packer) pass(at Position) error {
	one := p.now
	one.position = at
	if err := one.pack(); err != nil {
		return err
	}
	p.now = newBatch()
	return p.out(one)
}

func (p *packer) part(part *Part) error {
	at := Position{Part: part.Number}
	skip, begun := int64(0), false
	if part.Number == p.state.Part {
		skip = p.state.Samples
	}
	oldest, long := p.oldest(), labelBytes(part) > maxLabels
	p.skipping = skip > 0
	err := part.Each(func(s Sample) error {
		if at.Samples++; at.Samples <= skip {
			return nil
		}
		p.skipping = false
		p.now.counts.Read++
		if p.skipOlder && s.Time < oldest {
			note(&p.now.counts.LeftOut, tooOld, 1, part.Labels.String())
			return nil
		}
		if long {
			note(&p.now.counts.LeftOut, tooLong, 1, part.Labels.Get(NameLabel)+": its labels are longer than a request may be")
			return nil
		}
		if !begun {
			p.now.begin(part)
			begun = true
		}
		p.now.add(&s)
		if p.now.full() {
			begun = false
			return p.pass(at)
		}
		return nil
	})
	if err != nil {
		return err
	}
	p.skipping = false
	p.now.counts.Series++
	return nil
}

func (p *packer) damaged(where string, why error, samples int64) {
	if p.skipping {
		return
	}
	c := &p.now.counts
	c.Damaged++
	c.DamagedSamples += max(samples, 0)
	if len(c.DamagedFirst) < maxDamagedNamed {
		c.DamagedFirst = append(c.DamagedFirst, where+": "+why.Error())
	}
}

// errStopped ends the reading when the sending has ended.
var errStopped = errors.New("the sending has ended")

// run sends everything of the source behind the state's position.
func (s *sender) run(ctx context.Context, source Source, selection *Selection, oldest func() int64, skipOlder bool) error {
	reading, stop := context.WithCancel(ctx)
	defer stop()
	batches := make(chan *batch, 2)
	read := make(chan error, 1)
	go func() {
		defer close(batches)
		p := &packer{state: s.state.Position, oldest: oldest, skipOlder: skipOlder, now: newBatch(), out: func(b *batch) error {
			select {
			case batches <- b:
				return nil
			case <-reading.Done():
				return errStopped
			}
		}}
		last := s.state.Position
		err := source.Walk(reading, Walk{Selection: selection, From: s.state.Position.Part, Damaged: p.damaged, Use: func(part *Part) error {
			last = Position{Part: part.Number + 1}
			return p.part(part)
		}})
		if err == nil {
			err = p.pass(last)
		}
		read <- err
	}()
	var failed error
	for b := range batches {
		if failed != nil {
			continue
		}
		if failed = s.send(ctx, b); failed != nil {
			stop()
			continue
		}
		s.progress()
	}
	if err := <-read; failed == nil {
		failed = err
	}
	if err := s.state.save(true); failed == nil {
		failed = err
	}
	return failed
}
