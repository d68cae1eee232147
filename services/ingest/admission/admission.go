// Package admission decides how many HTTP requests with samples are read, held in memory and decoded at once, so that a
// bounded amount of memory is enough for however many clients, and a slow client delays nobody else.
package admission

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime"

	"cistern/services/daemon/problem"
	"cistern/services/store/tsdb"
)

// What one request may hold. A sender's usual request has some thousand samples, a few hundred kilobytes.
const (
	maxBody = 32 << 20
	// MaxUnpacked bounds what a body unpacks to.
	MaxUnpacked = 128 << 20
	// MaxParts bounds the samples and the like of a request: an empty one is two bytes long, which snappy makes a tenth of
	// one, and takes a hundred in memory.
	MaxParts = 1 << 20
	// smallBody is what a body may have without a place among the large ones. Senders' usual requests are smaller.
	smallBody = 1 << 20
	// maxHolding requests are held in memory at once, and maxLarge large bodies are read.
	maxHolding, maxLarge = 16, 16
)

// ErrTooMany is what a message is refused with that would take too much memory.
var ErrTooMany = fmt.Errorf("more than %d samples, or labels of more than %d bytes", MaxParts, MaxUnpacked)

// Gate is what requests pass, of all routes that share it.
type Gate struct {
	store  tsdb.Ingester
	bodies bodies
	// holding bounds how many requests are held in memory at once, large how many bodies of more than smallBody are read or
	// held, quick and slow how many are decoded.
	holding, large, quick, slow Slots
}

// New makes the gate of a store, which counts what is refused.
func New(store tsdb.Ingester) *Gate {
	return &Gate{store: store, bodies: make(bodies, min(4, runtime.GOMAXPROCS(0))), holding: NewSlots(maxHolding), large: NewSlots(maxLarge), quick: NewSlots(2), slow: NewSlots(1)}
}

// bodies are the memory of requests' bodies, at rest.
type bodies chan []byte

func (b bodies) take() []byte {
	select {
	case one := <-b:
		return one[:0]
	default:
		return nil
	}
}

func (b bodies) give(one []byte) {
	if cap(one) <= 4<<20 { // one huge body must not be paid for, for ever
		select {
		case b <- one:
		default:
		}
	}
}

// largeBody reads a body, and waits for a place before it goes beyond smallBody: however many clients send large ones at a
// time, and however slowly, they are delayed by their like alone, and take a bounded amount of memory.
type largeBody struct {
	io.Reader
	places Slots
	ctx    context.Context // ends when the client has gone
	read   int
	placed bool
}

func (b *largeBody) Read(into []byte) (int, error) {
	if b.read >= smallBody && !b.placed {
		if err := b.places.Enter(b.ctx); err != nil {
			return 0, err
		}
		b.placed = true
	}
	n, err := b.Reader.Read(into[:min(len(into), smallBody)])
	b.read += n
	return n, err
}

// Receive reads a request's body, and then waits for a place among those that are held: a slow client takes none from the
// others. done gives back what is held; ok is false when the request was answered.
func (g *Gate) Receive(w http.ResponseWriter, r *http.Request) (body []byte, done func(), ok bool) {
	reader := largeBody{Reader: http.MaxBytesReader(w, r.Body, maxBody), places: g.large, ctx: r.Context()}
	body, err := readAll(&reader, r.ContentLength, g.bodies.take())
	giveBack := func() {
		g.bodies.give(body)
		if reader.placed {
			g.large.Leave()
		}
	}
	if err != nil {
		giveBack()
		g.bodyProblem(w, err)
		return nil, nil, false
	}
	if err := g.holding.Enter(r.Context()); err != nil {
		giveBack()
		Unavailable(w, "samples", err)
		return nil, nil, false
	}
	return body, func() { g.holding.Leave(); giveBack() }, true
}

// Gunzip unpacks a body to at most limit bytes. done gives back what is held; ok is false when the request was answered.
func (g *Gate) Gunzip(w http.ResponseWriter, r *http.Request, packed []byte, limit int64) (content []byte, done func(), ok bool) {
	unpacked, err := gzip.NewReader(bytes.NewReader(packed))
	done = func() {}
	if err == nil {
		slot, left := g.Decode(r.Context(), len(packed)) // quickly done, whatever becomes of it
		if left != nil {
			Unavailable(w, "samples", left)
			return nil, nil, false
		}
		content, err = readAll(http.MaxBytesReader(w, io.NopCloser(unpacked), limit), 0, g.bodies.take())
		done = func() { g.bodies.give(content) }
		slot.Leave()
	}
	if err != nil {
		done()
		g.bodyProblem(w, fmt.Errorf("unpacking gzip: %w", err))
		return nil, nil, false
	}
	return content, done, true
}

// readAll is io.ReadAll into memory that is there, with the announced length in mind; it may be -1, or a lie, so that what is
// beyond a megabyte is believed when it comes.
func readAll(body io.Reader, length int64, into []byte) ([]byte, error) {
	if length = min(length, 1<<20); length > 0 && int64(cap(into)) <= length {
		into = make([]byte, 0, length+length/8+1) // the next is about as long, and should fit
	}
	for {
		if len(into) == cap(into) {
			into = append(into, 0)[:len(into)]
		}
		n, err := body.Read(into[len(into):cap(into)])
		into = into[:len(into)+n]
		if err == io.EOF {
			return into, nil
		}
		if err != nil {
			return into, err
		}
	}
}

// Unavailable answers that nothing was accepted of what, such as "samples"; clients keep such a batch and come again.
func Unavailable(w http.ResponseWriter, what string, err error) {
	w.Header().Set("Retry-After", "5")
	problem.Write(w, http.StatusServiceUnavailable, "service_unavailable",
		"The "+what+" cannot be stored now: "+err.Error()+".", "Send them again later. If it goes on, look whether the pool is full or suspended.")
}

// Malformed counts and answers a body that cannot be read at all.
func (g *Gate) Malformed(w http.ResponseWriter, err error) {
	g.store.Reject("malformed_body", 1)
	if errors.Is(err, ErrTooMany) {
		problem.Write(w, http.StatusRequestEntityTooLarge, "body_too_large", "The request holds too much: "+err.Error()+".", "Send it in smaller parts.")
		return
	}
	problem.Write(w, http.StatusBadRequest, "invalid_request", "The samples cannot be read: "+err.Error()+".", "")
}

// Unsupported counts and answers a body of a kind that is not taken.
func (g *Gate) Unsupported(w http.ResponseWriter, detail, action string) {
	g.store.Reject("malformed_body", 1)
	problem.Write(w, http.StatusUnsupportedMediaType, "invalid_request", detail, action)
}

func (g *Gate) bodyProblem(w http.ResponseWriter, err error) {
	g.store.Reject("malformed_body", 1)
	var tooLarge *http.MaxBytesError
	if errors.As(err, &tooLarge) {
		problem.Write(w, http.StatusRequestEntityTooLarge, "body_too_large",
			fmt.Sprintf("The request's body is larger than %d bytes.", tooLarge.Limit), "Send it in smaller parts.")
		return
	}
	problem.Write(w, http.StatusBadRequest, "invalid_request", "The request's body could not be read: "+err.Error()+".", "")
}
