// Package receiver is what every kind of output is: something that samples are encoded for and delivered to.
package receiver

import (
	"context"
	"time"

	"cistern/services/store/tsdb"
)

// Receiver delivers samples to one place. Its methods are called by one goroutine at a time.
type Receiver interface {
	// Prepare is asked once for each series and each head of the store; key has the labels that are added. What it returns
	// comes back with the series' samples; nil says that the receiver has no form for them.
	Prepare(key string, kind tsdb.Kind) any
	// Add encodes a sample of a series that was prepared, behind those that wait, and returns how many bytes wait. What has no
	// form, as a NaN in Graphite's lines, is left out and counted by Send.
	Add(series any, sample *tsdb.Streamed) (bytes int)
	// Send delivers all that waits, and forgets it when it returns no error. An error means that the same is to be tried
	// again, later; it may be a *Later.
	Send(ctx context.Context) (Outcome, error)
	// Forget drops what waits.
	Forget()
	// Check tries the receiver with nothing, or something harmless, and returns its answer in words.
	Check(ctx context.Context) (string, error)
	Close() error
}

// Outcome is what became of samples.
type Outcome struct {
	Sent int
	// Refused is how many the receiver will never take, and Words what it said.
	Refused int
	Words   string
	// LeftOut is how many had no form that the receiver could take.
	LeftOut int
}

// Plus is both.
func (o Outcome) Plus(more Outcome) Outcome {
	o.Sent, o.Refused, o.LeftOut = o.Sent+more.Sent, o.Refused+more.Refused, o.LeftOut+more.LeftOut
	if more.Words != "" {
		o.Words = more.Words
	}
	return o
}

// Later is an error of a receiver that named a time before which it is not to be tried again.
type Later struct {
	After time.Duration
	Err   error
}

func (l *Later) Error() string { return l.Err.Error() }
func (l *Later) Unwrap() error { return l.Err }

const (
	// BatchSamples and BatchBytes are how many samples, and how many bytes as they are encoded, are sent together; BehindTimes
	// as many while much waits, so that a receiver that is far away is asked less often.
	BatchSamples = 10_000
	BatchBytes   = 2 << 20
	BehindTimes  = 4
	// Timeout is how long one delivery may take.
	Timeout = 30 * time.Second
)
