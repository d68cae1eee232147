package remotewrite

// How much memory is taken by all requests that are decoded. What one takes is bounded (maxParts, maxMessage), but by a
// hundred times its size, and nobody knows before it is decoded. So few are decoded at once, and one that has turned out to
// hold little, as all usual ones do, makes way for the next before it is stored, which may wait for a disk.

import (
	"net/http"
	"unsafe"

	"cistern/services/store/tsdb"
)

const (
	// quickBytes is the size of a request that is decoded within some milliseconds. The others wait for each other, so that
	// they hold up nobody else.
	quickBytes = 4 << 20
	// lightBytes is what a decoded request may hold without its place.
	lightBytes = 32 << 20
)

// lanes are the places in which requests are decoded.
type lanes struct{ quick, slow chan struct{} }

func newLanes() lanes { return lanes{quick: make(chan struct{}, 2), slow: make(chan struct{}, 1)} }

// place is one of them; nil is none.
type place struct{ lane chan struct{} }

// enter waits for a place for so many bytes, unpacked; nil when the client has gone.
func (l *lanes) enter(r *http.Request, bytes int) *place {
	lane := l.quick
	if bytes > quickBytes {
		lane = l.slow
	}
	select {
	case lane <- struct{}{}:
		return &place{lane}
	case <-r.Context().Done():
		return nil
	}
}

// leave gives the place back; again does nothing.
func (p *place) leave() {
	if p != nil && p.lane != nil {
		<-p.lane
		p.lane = nil
	}
}

// leaveWith gives it back if what was decoded holds little.
func (p *place) leaveWith(bytes int) {
	if bytes <= lightBytes {
		p.leave()
	}
}

// holds is what the decoded message takes in memory, nearly.
func (d *decoder) holds() int {
	return cap(d.message) + cap(d.scattered) + d.keys + len(d.samples)*int(unsafe.Sizeof(tsdb.Sample{})) + d.parts*100
}
