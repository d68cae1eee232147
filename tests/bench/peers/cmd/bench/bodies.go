package main

// Requests that were encoded beforehand and are played to a server: the same bytes to every peer that takes them, and no
// encoding while the clock runs.

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"sync"
	"time"
)

type body struct {
	offset  int64
	bytes   int32
	samples int32
}

// bodies are requests in a file. Each lane is sent by one connection in order, so that no series meets its samples out
// of order.
type bodies struct {
	path    string
	headers map[string]string

	mu    sync.Mutex
	file  *os.File
	size  int64
	lanes [][]body
	// samples is their number in all requests.
	samples int64
}

func newBodies(folder string, lanes int, path string, headers map[string]string) (*bodies, error) {
	file, err := os.CreateTemp(folder, "bodies-")
	if err != nil {
		return nil, err
	}
	// Without a name it goes away with the process, however that ends.
	_ = os.Remove(file.Name())
	return &bodies{file: file, path: path, headers: headers, lanes: make([][]body, lanes)}, nil
}

func (b *bodies) close() { b.file.Close() }

func (b *bodies) add(lane int, request []byte, samples int) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, err := b.file.WriteAt(request, b.size); err != nil {
		return err
	}
	b.lanes[lane] = append(b.lanes[lane], body{b.size, int32(len(request)), int32(samples)})
	b.size += int64(len(request))
	b.samples += int64(samples)
	return nil
}

// part is a view of the requests from one position of every lane up to another.
func (b *bodies) part(from, to func(lane int) int) *bodies {
	view := &bodies{file: b.file, path: b.path, headers: b.headers, lanes: make([][]body, len(b.lanes))}
	for i, lane := range b.lanes {
		view.lanes[i] = lane[from(i):to(i)]
		for _, one := range view.lanes[i] {
			view.samples += int64(one.samples)
			view.size += int64(one.bytes)
		}
	}
	return view
}

// played is what came of playing requests to a server.
type played struct {
	wall     time.Duration
	cpu      float64
	requests int
	retries  int
	refused  int    // requests that were answered with 4xx
	example  string // of such an answer
}

// maxRetries bounds how often one request is sent again after "later, please".
const maxRetries = 600

// play sends every request and waits for the answers. Requests that are refused for their content are counted, like a
// remote writer does it; anything else that is no success ends it.
func (b *bodies) play(ctx context.Context, s *server) (played, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var p played
	var mu sync.Mutex
	var group sync.WaitGroup
	before, began := s.cpu(), time.Now()
	for _, lane := range b.lanes {
		group.Go(func() {
			// A client for each lane: one connection each.
			client := *s
			client.client = &http.Client{Timeout: 2 * time.Minute, Transport: &http.Transport{MaxConnsPerHost: 1, DisableCompression: true}}
			defer client.client.CloseIdleConnections()
			var buffer []byte
			for _, one := range lane {
				if cap(buffer) < int(one.bytes) {
					buffer = make([]byte, one.bytes*5/4)
				}
				request := buffer[:one.bytes]
				if _, err := b.file.ReadAt(request, one.offset); err != nil {
					cancel(err)
					return
				}
				retries, err := client.send(ctx, b, request)
				var refused *httpError
				mu.Lock()
				p.requests++
				p.retries += retries
				if errors.As(err, &refused) && refused.status == http.StatusBadRequest {
					if p.refused++; p.example == "" {
						p.example = refused.Error()
					}
					err = nil
				}
				mu.Unlock()
				if err != nil {
					cancel(err)
					return
				}
			}
		})
	}
	group.Wait()
	p.wall, p.cpu = time.Since(began), s.cpu()-before
	if ctx.Err() != nil {
		err := context.Cause(ctx)
		select {
		case <-s.exited:
			err = fmt.Errorf("%w; it ended: %w\n%s", err, s.err, s.tail())
		default:
		}
		return p, fmt.Errorf("sending to %s: %w", s.system, err)
	}
	return p, nil
}

// send sends one request, again and again while the server says that it is too busy.
func (s *server) send(ctx context.Context, b *bodies, request []byte) (retries int, err error) {
	for {
		var answer []byte
		// Of a reader that net/http knows, so that the request says how long it is, as remote writers' do.
		answer, err = s.do(ctx, http.MethodPost, b.path, bytes.NewReader(request), b.headers)
		if err == nil && b.path == cisternPath {
			// The import answers 200 and says in its answer what it refused.
			var said struct{ RejectedCount int }
			if err := json.Unmarshal(answer, &said); err != nil || said.RejectedCount > 0 {
				return retries, &httpError{http.StatusBadRequest, string(answer)}
			}
		}
		var refused *httpError
		if !errors.As(err, &refused) || refused.status != http.StatusServiceUnavailable && refused.status != http.StatusTooManyRequests || retries == maxRetries {
			return retries, err
		}
		retries++
		select {
		case <-ctx.Done():
			return retries, ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
	}
}
