package web

// Who guesses waits; who knows the password does not. The rules are akd's (appliance-kit/src/access/session/throttle.ts):
//
//   - An address has ten wrong guesses, and one more each minute. Addresses of IPv6 count by their network of 64 bits.
//   - A browser in which this administrator has signed in here before brings a cookie that says so, and has ten guesses of its
//     own: it is answered while its address is used for guessing.
//   - A name at which many addresses guess makes browsers that are not known wait before the password is compared, by seconds.
//     Nobody is refused for what others do.
//
// What is counted is in memory, because a failure must not cost a write to a disk; which addresses have used up their
// guesses is written down, so that a restart is no way around it.

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/netip"
	"os"
	"sync"
	"time"
)

const (
	maxGuesses = 10
	oneMore    = time.Minute
	// A name may be guessed at so often before browsers that are not known wait.
	freeFailuresOfName  = 20
	waitPerFailure      = 25 * time.Millisecond
	longestWait         = 5 * time.Second
	forgetFailureOfName = 2 * time.Second
	// One address has so many passwords compared at the same time.
	maxAtOnce = 4
	// Beyond that the one that was not used for the longest time is forgotten.
	maxCounted  = 10_000
	maxBrowsers = 100

	guessesVersion = 2
)

// bucket holds failures that are forgotten one by one.
type bucket struct {
	failures float64
	at       time.Time
}

func (b bucket) left(now time.Time, forgetOne time.Duration) float64 {
	return max(0, b.failures-float64(now.Sub(b.at))/float64(forgetOne))
}

// counted are buckets by address, browser or name.
type counted map[string]bucket

// add counts a failure, and forgets the oldest of too many.
func (c counted) add(key string, now time.Time, forgetOne time.Duration, limit float64) {
	c[key] = bucket{min(limit, c[key].left(now, forgetOne)+1), now}
	for len(c) > maxCounted {
		oldest := ""
		for other, b := range c {
			if oldest == "" || b.at.Before(c[oldest].at) {
				oldest = other
			}
		}
		delete(c, oldest)
	}
}

// browser is one that somebody has signed in with, by the SHA-256 of its cookie.
type browser struct {
	User string    `json:"user"`
	At   time.Time `json:"at"`
}

// throttle is safe for many goroutines. The zero value counts in memory only.
type throttle struct {
	path string

	mu        sync.Mutex
	addresses counted
	devices   counted
	names     counted
	asking    map[string]int
	usedUp    map[string]time.Time
	browsers  map[string]browser
}

type guessesFile struct {
	Version int `json:"version"`
	// UsedUp are the addresses without a guess left, and when the last one was.
	UsedUp   map[string]time.Time `json:"usedUp"`
	Browsers map[string]browser   `json:"browsers"`
}

// openThrottle reads what was kept at path. A file that cannot be read keeps nobody out.
func openThrottle(path string) *throttle {
	t := &throttle{
		path: path, addresses: counted{}, devices: counted{}, names: counted{},
		asking: map[string]int{}, usedUp: map[string]time.Time{}, browsers: map[string]browser{},
	}
	content, err := os.ReadFile(path)
	if err != nil {
		return t
	}
	var file guessesFile
	if json.Unmarshal(content, &file) != nil || file.Version != guessesVersion {
		file = firstGuesses(content)
	}
	for network, at := range file.UsedUp {
		t.addresses[network] = bucket{maxGuesses, at}
		t.usedUp[network] = at
	}
	for key, one := range file.Browsers {
		t.browsers[key] = one
	}
	return t
}

// firstGuesses reads the form without a version: {ADDRESS: {count, lastAt}}.
func firstGuesses(content []byte) guessesFile {
	var old map[string]struct {
		Count  int       `json:"count"`
		LastAt time.Time `json:"lastAt"`
	}
	file := guessesFile{UsedUp: map[string]time.Time{}}
	if json.Unmarshal(content, &old) != nil {
		return file
	}
	for address, one := range old {
		if one.Count >= maxGuesses {
			file.UsedUp[networkOf(address)] = one.LastAt
		}
	}
	return file
}

// save needs mu. A pool that is full does not keep anybody out.
func (t *throttle) save(now time.Time) {
	if t.path == "" {
		return
	}
	for network, at := range t.usedUp {
		if now.Sub(at) > maxGuesses*oneMore {
			delete(t.usedUp, network)
		}
	}
	content, err := json.Marshal(guessesFile{guessesVersion, t.usedUp, t.browsers})
	if err == nil && os.WriteFile(t.path+".new", content, 0o600) == nil {
		_ = os.Rename(t.path+".new", t.path)
	}
}

// networkOf is what an address counts as: of IPv6 the network in which a client can choose its address.
func networkOf(address string) string {
	a, err := netip.ParseAddr(address)
	if err != nil {
		return address
	}
	if a = a.Unmap(); a.Is4() {
		return a.String()
	}
	p, _ := a.WithZone("").Prefix(64)
	return p.String()
}

// lockedOut says how long an address waits for its next guess.
type lockedOut struct {
	from string
	wait time.Duration
}

func (e lockedOut) Error() string {
	return fmt.Sprintf("There were too many failed attempts from %s.", e.from)
}

var errAtOnce = errors.New("too many are signing in from this address at once")

// guess is one that is being compared.
type guess struct {
	t       *throttle
	network string
	buckets counted
	key     string
	name    string
	known   bool
	// wait is how long it must wait before the password is compared.
	wait time.Duration
}

// begin counts a guess as failed before it is compared, so that many at the same moment are not free.
// device is the SHA-256 of the browser's cookie, or empty. The error is a lockedOut or errAtOnce.
func (t *throttle) begin(name, address, device string, now time.Time) (*guess, error) {
	network := networkOf(address)
	t.mu.Lock()
	defer t.mu.Unlock()
	g := &guess{t: t, network: network, buckets: t.addresses, key: network, name: name}
	if one, ok := t.browsers[device]; ok && one.User == name {
		g.buckets, g.key, g.known = t.devices, device, true
	}
	before := g.buckets[g.key].left(now, oneMore)
	if before > maxGuesses-1 {
		wait := time.Duration((before - maxGuesses + 1) * float64(oneMore))
		return nil, lockedOut{address, wait}
	}
	if t.asking[network] >= maxAtOnce {
		return nil, errAtOnce
	}
	if failures := t.names[name].left(now, forgetFailureOfName); !g.known && failures > freeFailuresOfName {
		g.wait = min(longestWait, time.Duration(failures-freeFailuresOfName)*waitPerFailure)
	}
	g.buckets.add(g.key, now, oneMore, maxGuesses)
	t.asking[network]++
	if !g.known && before+1 > maxGuesses-1 {
		t.usedUp[network] = now
		t.save(now)
	}
	return g, nil
}

// compared ends the time in which it counts among those of its address at the same moment.
func (g *guess) compared() {
	g.t.mu.Lock()
	defer g.t.mu.Unlock()
	if g.t.asking[g.network]--; g.t.asking[g.network] <= 0 {
		delete(g.t.asking, g.network)
	}
}

// wrong makes strangers who guess at the same name wait.
func (g *guess) wrong(now time.Time) {
	g.t.mu.Lock()
	defer g.t.mu.Unlock()
	g.t.names.add(g.name, now, forgetFailureOfName, freeFailuresOfName+math.Ceil(float64(longestWait/waitPerFailure)))
}

// right forgets the failures, and knows the browser from now on, by the SHA-256 of its cookie.
func (g *guess) right(device string, now time.Time) {
	t := g.t
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(g.buckets, g.key)
	if !g.known {
		delete(t.usedUp, g.network)
	}
	// One that is known already takes no place from another.
	delete(t.browsers, device)
	for len(t.browsers) >= maxBrowsers {
		oldest := ""
		for key, one := range t.browsers {
			if oldest == "" || one.At.Before(t.browsers[oldest].At) {
				oldest = key
			}
		}
		delete(t.browsers, oldest)
	}
	t.browsers[device] = browser{g.name, now}
	t.save(now)
}
