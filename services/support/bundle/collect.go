package bundle

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"cistern/services/support/collect"
	"cistern/services/support/redact"

	"github.com/klauspost/compress/zstd"
)

// sink is where a step writes: counted, hashed, compressed, into a file. Once shut it takes nothing more, so that a step
// that hangs is left behind and cannot touch what others use by then.
type sink struct {
	mu   sync.Mutex
	shut bool
	sum  hash.Hash
	zip  *zstd.Encoder
	f    *os.File
	all  *atomic.Int64 // of the whole bundle, as it goes
	size int64
}

var errShut = errors.New("the step has been left behind")

func newSink(path string, all *atomic.Int64) (*sink, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	zip, err := zstd.NewWriter(f, encoderOptions...)
	if err != nil {
		f.Close()
		return nil, err
	}
	return &sink{sum: sha256.New(), zip: zip, f: f, all: all}, nil
}

func (s *sink) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.shut {
		return 0, errShut
	}
	n, err := s.zip.Write(p)
	s.sum.Write(p[:n])
	s.size += int64(n)
	s.all.Add(int64(n))
	return n, err
}

// end shuts it and makes the file whole.
func (s *sink) end() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.shut = true
	return s.zip.Close()
}

// collected is a step's outcome: its state, and its content in an open file, from the beginning; nil when there is none.
type collected struct {
	state  StepState
	f      *os.File
	length int64 // compressed
}

// deadline is how long a step may take, and why that is less than it has usually.
func (w *making) deadline(s *collect.Step) (time.Duration, string) {
	if first, hung := w.hung.Load(s.Lock); hung && s.Deadline > w.m.afterHang() {
		return w.m.afterHang(), fmt.Sprintf(", which is all that it was given after %v hung", first)
	}
	return s.Deadline, ""
}

// collect runs one step into the file path, which the caller removes.
func (w *making) collect(ctx context.Context, s *collect.Step, path string) collected {
	state := StepState{Name: s.Name, Category: s.Category, State: "done"}
	fail := func(err error) collected {
		state.State, state.Error = "failed", err.Error()
		return collected{state: state}
	}
	out, err := newSink(path, &w.bytes)
	if err != nil {
		return fail(err)
	}
	started := time.Now()
	deadline, because := w.deadline(s)
	limited, cancel := context.WithTimeout(ctx, deadline)
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		defer func() {
			if p := recover(); p != nil {
				ended <- fmt.Errorf("the step itself failed: %v", p)
			}
		}()
		if s.Binary {
			ended <- w.take(limited, s, out)
			return
		}
		clean := redact.New(out, w.names)
		err := w.take(limited, s, clean)
		ended <- errors.Join(err, clean.Close())
	}()
	grace := collect.HangGrace
	if s.Root {
		grace *= 2 // gatherd waits so long itself, and then gives what there is
	}
	select {
	case err = <-ended:
	case <-limited.Done():
		select {
		case err = <-ended:
		case <-time.After(grace):
			err = limited.Err()
		}
	}
	whole := out.end()
	state.Seconds = float64(time.Since(started).Milliseconds()) / 1000
	state.Bytes = out.size
	state.SHA256 = hex.EncodeToString(out.sum.Sum(nil))
	switch {
	case whole != nil: // what was compressed is no whole frame: none of it can be kept
		out.f.Close()
		state.Bytes, state.SHA256 = 0, ""
		return fail(errors.Join(err, whole))
	case errors.Is(err, collect.ErrNothing):
		state.Error = "" // an empty file says it
	case err == nil:
	case errors.As(err, new(*collect.AwayError)):
		state.State, state.Error = "failed", err.Error()
	case errors.Is(limited.Err(), context.DeadlineExceeded), errors.Is(err, context.DeadlineExceeded):
		state.State, state.Error = "timeout", fmt.Sprintf("did not finish in %v%s; what it had given until then was kept", deadline, because)
		if s.Lock != "" {
			w.hung.LoadOrStore(s.Lock, s.ID())
		}
	default:
		state.State, state.Error = "failed", err.Error()
	}
	length, err := out.f.Seek(0, io.SeekCurrent)
	if err == nil {
		_, err = out.f.Seek(0, io.SeekStart)
	}
	if err != nil {
		out.f.Close()
		return fail(err)
	}
	return collected{state, out.f, length}
}
