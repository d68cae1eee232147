package web

// The page that nginx serves from here below /support/, whether the management plane is alive or not. Somebody signs in with an
// administrator's password, which is compared with the hashes that akd keeps in a file of their own for this purpose. Nothing
// is shared with akd's sessions.

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"embed"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"cistern/services/daemon/problem"

	"golang.org/x/crypto/argon2"
	"golang.org/x/crypto/scrypt"
	"golang.org/x/text/unicode/norm"
)

//go:embed page
var pages embed.FS

const (
	webCookie  = "__Secure-cistern_support"
	webSession = 30 * time.Minute // without a request
	// By it a browser in which somebody has signed in is known from those that guess.
	browserCookie = "__Secure-cistern_support_browser"
	knownFor      = 90 * 24 * time.Hour
	// Guesses of strangers at the same time. Each waits for its turn of a few hundredths of a second.
	maxWaiting = 200
	// Signed in at a time. The oldest ends when there are more.
	maxSessions = 50
)

// Page is the page and its API. The zero value with API and Administrators set is ready.
type Page struct {
	API *API
	// Administrators is the file that akd writes: [{"name", "passwordHash", …}].
	Administrators string
	// LockFile keeps over a restart who has used up the guesses, and which browsers are known.
	LockFile string
	// KeyFile is akd's, of what it has sealed.
	KeyFile string
	// UsedFile keeps which codes were used here, for akd too, whose group is Group; empty: this process' own.
	UsedFile, Group string
	Now             func() time.Time

	mu       sync.Mutex
	sessions map[string]session // by the SHA-256 of the cookie
	throttle *throttle
	used     usedFactors
	// Of strangers, and of browsers that are known: one at a time each, because each takes up to 19 MiB.
	hashing, hashingKnown sync.Mutex
	waiting               int
}

type session struct {
	user    string
	expires time.Time
	// Of the password that it was begun with: with another one it ends.
	passwordHash string
}

// Handler answers what nginx sends to the socket web.sock: only the path prefix /support/.
func (p *Page) Handler() http.Handler {
	if p.Now == nil {
		p.Now = time.Now
	}
	p.sessions, p.throttle = map[string]session{}, openThrottle(p.LockFile)
	p.loadUsed()
	public := http.NewServeMux()
	for path, file := range map[string]string{"/support/{$}": "index.html", "/support/page.js": "page.js", "/support/page.css": "page.css"} {
		public.HandleFunc("GET "+path, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Cache-Control", "no-cache")
			http.ServeFileFS(w, r, pages, "page/"+file)
		})
	}
	public.HandleFunc("GET /support/session", func(w http.ResponseWriter, r *http.Request) {
		user, _ := p.user(r)
		answer(w, http.StatusOK, map[string]any{"user": user})
	})
	public.HandleFunc("POST /support/session", p.signIn)
	public.HandleFunc("DELETE /support/session", p.signOut)
	inside := http.NewServeMux()
	p.API.bundleRoutes(inside, "/support")
	public.Handle("/support/", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, ok := p.user(r)
		if !ok {
			problem.Write(w, http.StatusUnauthorized, "unauthenticated", "You are not signed in here.", "Sign in with an administrator's password.")
			return
		}
		if r.Method != http.MethodGet || strings.HasSuffix(r.URL.Path, "/content") {
			p.record(r, user, "support.request", r.Method+" "+r.URL.Path)
		}
		if r.Method != http.MethodGet {
			slog.Info("asked by the page of supportd", "user", user, "from", address(r), "method", r.Method, "path", r.URL.Path)
		}
		inside.ServeHTTP(w, r)
	}))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead && r.Header.Get("Sec-Fetch-Site") != "same-origin" && r.Header.Get("Origin") != "https://"+r.Host {
			problem.Write(w, http.StatusForbidden, "out_of_origin", "The request comes from another site.", "Use the page itself.")
			return
		}
		public.ServeHTTP(w, r)
	})
}

// address is the client's, as nginx passes it on: nobody else reaches this socket.
func address(r *http.Request) string { return r.Header.Get("X-Forwarded-For") }

func hashOf(cookie string) string {
	sum := sha256.Sum256([]byte(cookie))
	return hex.EncodeToString(sum[:])
}

func (p *Page) user(r *http.Request) (string, bool) {
	cookie, err := r.Cookie(webCookie)
	if err != nil {
		return "", false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	key := hashOf(cookie.Value)
	found, ok := p.sessions[key]
	if !ok || !p.Now().Before(found.expires) {
		delete(p.sessions, key)
		return "", false
	}
	// Whoever was disabled, is no administrator any more, or has another password, is out. When the file cannot be read the session
	// stays: it is for the bad day.
	if list, err := p.administrators(); err == nil && !slices.ContainsFunc(list, func(a administrator) bool {
		return a.Name == found.user && a.PasswordHash == found.passwordHash
	}) {
		delete(p.sessions, key)
		return "", false
	}
	found.expires = p.Now().Add(webSession)
	p.sessions[key] = found
	return found.user, true
}

func setWebCookie(w http.ResponseWriter, name, value string, age int) {
	http.SetCookie(w, &http.Cookie{Name: name, Value: value, Path: "/support/", MaxAge: age, HttpOnly: true, Secure: true, SameSite: http.SameSiteStrictMode})
}

// secret is a new value of a cookie.
func secret() string {
	random := make([]byte, 32)
	_, _ = rand.Read(random) // never fails
	return base64.RawURLEncoding.EncodeToString(random)
}

func (p *Page) signIn(w http.ResponseWriter, r *http.Request) {
	var body struct {
		User     string `json:"user"`
		Password string `json:"password"`
		Code     string `json:"code"`
	}
	if !problem.Decode(w, r, &body, 4<<10) {
		return
	}
	from := address(r)
	device, isKnown := "", false
	if cookie, err := r.Cookie(browserCookie); err == nil {
		device, isKnown = cookie.Value, true
	}
	g, err := p.throttle.begin(body.User, from, hashOf(device), p.Now())
	if err != nil {
		writeThrottled(w, err)
		return
	}
	who, ok, err := p.check(r, body.User, body.Password, g)
	g.compared()
	if err != nil {
		problem.Write(w, http.StatusServiceUnavailable, "service_unavailable", "The password cannot be checked: "+err.Error()+".", "Make the bundle at the appliance's console.")
		return
	}
	if !ok {
		g.wrong(p.Now())
		slog.Warn("a wrong name or password", "from", from)
		p.recordRefused(r, body.User)
		problem.Write(w, http.StatusUnauthorized, "wrong_credentials", "The name or the password is wrong, or it is not an administrator's.", "Try again.")
		return
	}
	if !p.checkSecond(w, r, who, body.Code) {
		if body.Code != "" {
			g.wrong(p.Now())
		}
		return
	}
	if !isKnown {
		device = secret()
	}
	g.right(hashOf(device), p.Now())
	cookie := secret()
	p.mu.Lock()
	for key, one := range p.sessions {
		if !p.Now().Before(one.expires) {
			delete(p.sessions, key)
		}
	}
	p.makeRoom()
	p.sessions[hashOf(cookie)] = session{body.User, p.Now().Add(webSession), who.PasswordHash}
	p.mu.Unlock()
	slog.Info("signed in", "user", body.User, "from", from)
	p.record(r, body.User, "support.sign-in", body.User)
	setWebCookie(w, webCookie, cookie, 0)
	setWebCookie(w, browserCookie, device, int(knownFor.Seconds()))
	answer(w, http.StatusOK, map[string]any{"user": body.User})
}

func writeThrottled(w http.ResponseWriter, err error) {
	var locked lockedOut
	if errors.As(err, &locked) {
		seconds := int(math.Ceil(locked.wait.Seconds()))
		w.Header().Set("Retry-After", strconv.Itoa(seconds))
		problem.Write(w, http.StatusTooManyRequests, "locked_out", locked.Error(), fmt.Sprintf("Try again in %d seconds.", seconds))
		return
	}
	problem.Write(w, http.StatusTooManyRequests, "too_many", "Too many are signing in from this address at once.", "Try again shortly.")
}

// makeRoom ends the oldest session where there are as many as there may be. p.mu is held.
func (p *Page) makeRoom() {
	for len(p.sessions) >= maxSessions {
		var oldest string
		for key, one := range p.sessions {
			if oldest == "" || one.expires.Before(p.sessions[oldest].expires) {
				oldest = key
			}
		}
		delete(p.sessions, oldest)
	}
}

// record notes what was done for the audit log.
func (p *Page) record(r *http.Request, user, action, target string) {
	p.API.Record.Add(Entry{Time: p.Now().UTC(), User: user, Address: address(r), Action: action, Target: target})
}

// recordRefused does not write down a name that is no administrator's: it may be a password in the wrong field.
func (p *Page) recordRefused(r *http.Request, name string) {
	list, _ := p.administrators()
	if slices.ContainsFunc(list, func(a administrator) bool { return a.Name == name }) {
		p.record(r, name, actionRefused, name)
		return
	}
	p.record(r, "", actionRefused, "an unknown name")
}

// checkSecond answers when there is no second factor where one is needed, or a wrong one. What was counted as a failed guess stays
// one: leaving the code out gives no fresh guesses.
func (p *Page) checkSecond(w http.ResponseWriter, r *http.Request, who administrator, code string) bool {
	from := address(r)
	if who.mustHaveFactor(p.Now()) {
		problem.Write(w, http.StatusForbidden, "factor_addition_required", "Administrators need a second factor, and you have none.", "Add one on the appliance's pages; without them, make the bundle at the appliance's console.")
		return false
	}
	if !who.hasFactor() {
		return true
	}
	if code == "" {
		action := "Give the one that your authenticator app shows, or a recovery code."
		if len(who.Factors) == 0 {
			action = "Give a recovery code: passkeys work on the appliance's pages alone."
		}
		problem.Write(w, http.StatusUnauthorized, "second_factor_required", "The password is right; a code is needed, too.", action)
		return false
	}
	result, err := p.checkCode(who, code, from)
	switch {
	case err != nil:
		problem.Write(w, http.StatusServiceUnavailable, "service_unavailable", "The code cannot be checked: "+err.Error()+".", "Give the other kind of code, or make the bundle at the appliance's console.")
	case result == codeUsed:
		p.record(r, who.Name, actionRefused, who.Name)
		problem.Write(w, http.StatusUnauthorized, "wrong_code", "This code was used before.", "Give the next one of the app, or a recovery code.")
	case result == codeWrong:
		p.record(r, who.Name, actionRefused, who.Name)
		slog.Warn("a wrong code", "user", who.Name, "from", from)
		problem.Write(w, http.StatusUnauthorized, "wrong_code", "The code is wrong.", "Give the one that the app shows now, or a recovery code.")
	}
	return err == nil && result == codeRight
}

func (p *Page) signOut(w http.ResponseWriter, r *http.Request) {
	if user, ok := p.user(r); ok {
		p.record(r, user, "support.sign-out", user)
	}
	if cookie, err := r.Cookie(webCookie); err == nil {
		p.mu.Lock()
		delete(p.sessions, hashOf(cookie.Value))
		p.mu.Unlock()
	}
	setWebCookie(w, webCookie, "", -1)
	w.WriteHeader(http.StatusNoContent)
}

// administrator is who may sign in, as akd keeps it (appliance-kit/src/access/users/administrators.ts): those who are not disabled and have
// a password of their own.
type administrator struct {
	Name         string `json:"name"`
	PasswordHash string `json:"passwordHash"`
	// Where there are second factors. Files of earlier versions have none.
	Factors        []factor `json:"factors"`
	RecoveryHashes []string `json:"recoveryHashes"` // that are left
	// How many there are: they work on the appliance's pages, and a recovery code stands for them here.
	Passkeys           int    `json:"passkeys"`
	FactorRequiredFrom string `json:"factorRequiredFrom"`
}

func (p *Page) administrators() ([]administrator, error) {
	content, err := os.ReadFile(p.Administrators)
	if err != nil {
		return nil, errNoAdministrators
	}
	// There may be none: the only one has got a one-time password, and did not replace it yet.
	var list []administrator
	if json.Unmarshal(content, &list) != nil || list == nil {
		return nil, errNoAdministrators
	}
	return list, nil
}

var (
	errNoAdministrators = errors.New("the file with the administrators is missing or damaged")
	errNobody           = errors.New("there is no administrator with a password of their own who may sign in")
)

// check compares a password with what akd keeps, after the guess has waited. It takes as long for a name that there is not.
func (p *Page) check(r *http.Request, name, password string, g *guess) (administrator, bool, error) {
	if !g.known {
		p.mu.Lock()
		if p.waiting >= maxWaiting {
			p.mu.Unlock()
			return administrator{}, false, errors.New("too many are signing in at once")
		}
		p.waiting++
		p.mu.Unlock()
		defer func() {
			p.mu.Lock()
			p.waiting--
			p.mu.Unlock()
		}()
	}
	if g.wait > 0 {
		select {
		case <-time.After(g.wait):
		case <-r.Context().Done():
			return administrator{}, false, r.Context().Err()
		}
	}
	list, err := p.administrators()
	if err != nil {
		return administrator{}, false, err
	}
	if len(list) == 0 {
		return administrator{}, false, errNobody
	}
	who, known := list[0], false
	for _, one := range list {
		if one.Name == name {
			who, known = one, true
		}
	}
	turn := &p.hashing
	if g.known {
		turn = &p.hashingKnown
	}
	turn.Lock()
	defer turn.Unlock()
	ok, err := verifyPassword(password, who.PasswordHash)
	return who, ok && known, err
}

// verifyPassword reads akd's forms (appliance-kit/src/access/users/passwords.ts): $argon2id$v=19$m=KIB,t=PASSES,p=LANES$SALT$KEY, and
// of the first versions scrypt$N$r$p$SALT$KEY.
func verifyPassword(password, stored string) (bool, error) {
	parts := strings.Split(stored, "$")
	if strings.HasPrefix(stored, "$argon2id$") {
		return verifyArgon2(password, parts)
	}
	if len(parts) != 6 || parts[0] != "scrypt" {
		return false, errNoAdministrators
	}
	var cost [3]int
	for i := range cost {
		n, err := strconv.Atoi(parts[i+1])
		if err != nil || n < 1 || n > 1<<17 {
			return false, errNoAdministrators
		}
		cost[i] = n
	}
	salt, saltErr := base64.StdEncoding.DecodeString(parts[4])
	key, keyErr := base64.StdEncoding.DecodeString(parts[5])
	if saltErr != nil || keyErr != nil || len(key) == 0 {
		return false, errNoAdministrators
	}
	actual, err := scrypt.Key(norm.NFC.Bytes([]byte(password)), salt, cost[0], cost[1], cost[2], len(key))
	if err != nil {
		return false, errNoAdministrators
	}
	return subtle.ConstantTimeCompare(actual, key) == 1, nil
}

func verifyArgon2(password string, parts []string) (bool, error) {
	var memory, passes, lanes uint32
	if len(parts) != 6 || parts[2] != "v=19" {
		return false, errNoAdministrators
	}
	if n, err := fmt.Sscanf(parts[3], "m=%d,t=%d,p=%d", &memory, &passes, &lanes); err != nil || n != 3 {
		return false, errNoAdministrators
	}
	salt, saltErr := base64.RawStdEncoding.DecodeString(parts[4])
	key, keyErr := base64.RawStdEncoding.DecodeString(parts[5])
	// What a damaged file asks for must not take the memory of the machine.
	if saltErr != nil || keyErr != nil || len(key) == 0 || memory < 8 || memory > 1<<17 || passes < 1 || passes > 10 || lanes < 1 || lanes > 4 {
		return false, errNoAdministrators
	}
	actual := argon2.IDKey(norm.NFC.Bytes([]byte(password)), salt, passes, memory, uint8(lanes), uint32(len(key)))
	return subtle.ConstantTimeCompare(actual, key) == 1, nil
}
