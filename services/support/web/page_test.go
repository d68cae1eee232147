package web

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/scrypt"

	"cistern/services/support/collect"
)

func webOf(t *testing.T) (*Page, http.Handler) {
	t.Helper()
	salt := []byte("0123456789abcdef")
	// Cheap, and another cost than akd's: it is read from the hash.
	key, err := scrypt.Key([]byte("correct horse"), salt, 16, 8, 1, 32)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	file := write(t, filepath.Join(dir, "administrators.json"), fmt.Sprintf(`[{"name":"admin","passwordHash":"scrypt$16$8$1$%s$%s"}]`, base64.StdEncoding.EncodeToString(salt), base64.StdEncoding.EncodeToString(key)))
	s := &Page{API: &API{Maker: maker(t, collect.Step{Name: "x.txt", Category: "a", Deadline: time.Second, Limit: 1 << 10, Command: []string{"echo", "x"}})}, Administrators: file, LockFile: filepath.Join(dir, "guesses.json")}
	return s, s.Handler()
}

func call(h http.Handler, method, path, body, from string, cookies ...*http.Cookie) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, "https://box"+path, strings.NewReader(body))
	r.Host = "box"
	r.Header.Set("X-Forwarded-For", from)
	if from != "elsewhere" {
		r.Header.Set("Origin", "https://box")
	}
	for _, c := range cookies {
		r.AddCookie(c)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func TestTheFallbackPage(t *testing.T) {
	s, h := webOf(t)
	for _, path := range []string{"/support/", "/support/page.js", "/support/page.css"} {
		if w := call(h, "GET", path, "", "a"); w.Code != 200 || w.Body.Len() < 300 {
			t.Errorf("%s: %d", path, w.Code)
		}
	}
	for _, path := range []string{"/support/bundles", "/support/bundle-options", "/support/bundles/x/content", "/support/../etc/passwd", "/support/page/page.js"} {
		if w := call(h, "GET", path, "", "a"); w.Code == 200 {
			t.Errorf("%s without a session: %d", path, w.Code)
		}
	}
	right := `{"user":"admin","password":"correct horse"}`
	if w := call(h, "POST", "/support/session", right, "elsewhere"); w.Code != 403 {
		t.Errorf("from another site: %d", w.Code)
	}
	for _, wrong := range []string{`{"user":"admin","password":"x"}`, `{"user":"nobody","password":"correct horse"}`} {
		if w := call(h, "POST", "/support/session", wrong, "a"); w.Code != 401 {
			t.Errorf("%s: %d", wrong, w.Code)
		}
	}
	w := call(h, "POST", "/support/session", right, "a")
	if w.Code != 200 {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	cookie := w.Result().Cookies()[0]
	if !cookie.HttpOnly || !cookie.Secure || cookie.SameSite != http.SameSiteStrictMode || cookie.Path != "/support/" {
		t.Errorf("%+v", cookie)
	}
	if w := call(h, "POST", "/support/bundles", "{}", "a", cookie); w.Code != 202 {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	wait(t, s.API.Maker)
	id := s.API.Maker.List()[0].ID
	r := httptest.NewRequest("GET", "/support/bundles/"+id+"/content", nil)
	r.Header.Set("X-Cistern-Accel", "1")
	r.AddCookie(cookie)
	told := httptest.NewRecorder()
	h.ServeHTTP(told, r)
	if to := told.Header().Get("X-Accel-Redirect"); to != "/internal/bundles/pool/"+id+".tar.zst" && to != "/internal/bundles/memory/"+id+".tar.zst" {
		t.Errorf("nginx is sent to %q", to)
	}
	if w := call(h, "DELETE", "/support/session", "", "a", cookie); w.Code != 204 {
		t.Errorf("%d", w.Code)
	}
	if w := call(h, "GET", "/support/bundles", "", "a", cookie); w.Code != 401 {
		t.Errorf("after signing out: %d", w.Code)
	}
}

func TestASessionEnds(t *testing.T) {
	s, h := webOf(t)
	now := time.Now()
	s.Now = func() time.Time { return now }
	cookie := call(h, "POST", "/support/session", `{"user":"admin","password":"correct horse"}`, "a").Result().Cookies()[0]
	now = now.Add(webSession - time.Minute)
	if w := call(h, "GET", "/support/bundles", "", "a", cookie); w.Code != 200 {
		t.Errorf("%d", w.Code)
	}
	now = now.Add(webSession + time.Second)
	if w := call(h, "GET", "/support/bundles", "", "a", cookie); w.Code != 401 {
		t.Errorf("%d", w.Code)
	}
}

const rightPassword = `{"user":"admin","password":"correct horse"}`

// Ten guesses and that address waits for the next; a restart is no way around it, and nobody else is kept out.
func TestGuessingIsLockedOut(t *testing.T) {
	s, h := webOf(t)
	now := time.Now()
	s.Now = func() time.Time { return now }
	for i := range maxGuesses {
		if w := call(h, "POST", "/support/session", `{"user":"admin","password":"guess"}`, "192.0.2.1"); w.Code != 401 {
			t.Fatalf("guess %d: %d", i, w.Code)
		}
	}
	if w := call(h, "POST", "/support/session", rightPassword, "192.0.2.1"); w.Code != 429 || !strings.Contains(w.Body.String(), "locked_out") || !strings.Contains(w.Body.String(), "Try again in 60 seconds.") || w.Header().Get("Retry-After") != "60" {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	again := &Page{API: s.API, Administrators: s.Administrators, LockFile: s.LockFile, Now: s.Now}
	h = again.Handler()
	if w := call(h, "POST", "/support/session", rightPassword, "192.0.2.1"); w.Code != 429 {
		t.Errorf("after a restart: %d", w.Code)
	}
	if w := call(h, "POST", "/support/session", rightPassword, "192.0.2.2"); w.Code != 200 {
		t.Errorf("somebody else: %d", w.Code)
	}
	now = now.Add(oneMore)
	if w := call(h, "POST", "/support/session", rightPassword, "192.0.2.1"); w.Code != 200 {
		t.Errorf("a minute later: %d", w.Code)
	}
}

// Who may choose addresses in a network of IPv6 has the guesses of one.
func TestAddressesOfOneNetworkCountTogether(t *testing.T) {
	_, h := webOf(t)
	codes := map[int]int{}
	for i := range maxGuesses + 5 {
		codes[call(h, "POST", "/support/session", `{"user":"admin","password":"guess"}`, fmt.Sprintf("2001:db8::%x", i+1)).Code]++
	}
	if codes[401] != maxGuesses || codes[429] != 5 {
		t.Errorf("%v", codes)
	}
}

// The administrator behind the same address as somebody who guesses is answered in a browser that is known, with the right user alone.
func TestAKnownBrowserIsAnswered(t *testing.T) {
	s, h := webOf(t)
	var known *http.Cookie
	for _, cookie := range call(h, "POST", "/support/session", rightPassword, "192.0.2.1").Result().Cookies() {
		if cookie.Name == browserCookie {
			known = cookie
		}
	}
	if known == nil || !known.HttpOnly || !known.Secure || known.Path != "/support/" {
		t.Fatalf("%v", known)
	}
	for range maxGuesses {
		call(h, "POST", "/support/session", `{"user":"admin","password":"guess"}`, "192.0.2.1")
	}
	if w := call(h, "POST", "/support/session", rightPassword, "192.0.2.1"); w.Code != 429 {
		t.Errorf("a browser that is not known: %d", w.Code)
	}
	if w := call(h, "POST", "/support/session", `{"user":"other","password":"guess"}`, "192.0.2.1", known); w.Code != 429 {
		t.Errorf("another name: %d", w.Code)
	}
	h = (&Page{API: s.API, Administrators: s.Administrators, LockFile: s.LockFile}).Handler()
	if w := call(h, "POST", "/support/session", rightPassword, "192.0.2.1", known); w.Code != 200 {
		t.Errorf("after a restart: %d %s", w.Code, w.Body)
	}
	for range maxGuesses {
		call(h, "POST", "/support/session", `{"user":"admin","password":"guess"}`, "192.0.2.1", known)
	}
	if w := call(h, "POST", "/support/session", rightPassword, "192.0.2.1", known); w.Code != 429 {
		t.Errorf("guessing in it: %d", w.Code)
	}
}

func TestManyAddressesGuessAtOneName(t *testing.T) {
	now := time.Now()
	all := openThrottle("")
	for i := range 300 {
		g, err := all.begin("admin", fmt.Sprintf("2001:db8:0:%x::1", i), "", now)
		if err != nil {
			t.Fatal(err)
		}
		g.compared()
		g.wrong(now)
	}
	for name, want := range map[string]time.Duration{"admin": longestWait, "other": 0} {
		g, err := all.begin(name, "192.0.2.1", "", now)
		if err != nil || g.wait != want {
			t.Errorf("%s waits for %v, want %v (%v)", name, g.wait, want, err)
		}
	}
	if g, err := all.begin("admin", "192.0.2.2", "", now.Add(10*time.Minute)); err != nil || g.wait != 0 {
		t.Errorf("ten minutes later: %v, %v", g, err)
	}
}

// When as many browsers are known as there may be, one that signs in again pushes nobody out, and a new one the oldest.
func TestKnownBrowsersAreBounded(t *testing.T) {
	now := time.Now()
	all := openThrottle("")
	signIn := func(device string, at time.Time) {
		t.Helper()
		g, err := all.begin("admin", "192.0.2.1", device, at)
		if err != nil {
			t.Fatal(err)
		}
		g.compared()
		g.right(device, at)
	}
	for i := range maxBrowsers {
		signIn(fmt.Sprint(i), now.Add(time.Duration(i)*time.Second))
	}
	later := now.Add(time.Hour)
	signIn("50", later)
	if _, first := all.browsers["0"]; !first || len(all.browsers) != maxBrowsers {
		t.Errorf("%d browsers, the oldest among them: %v", len(all.browsers), first)
	}
	signIn("new", later)
	if _, first := all.browsers["0"]; first || len(all.browsers) != maxBrowsers {
		t.Errorf("%d browsers, the oldest among them: %v", len(all.browsers), first)
	}
}

func TestOneAddressAsksForFewAtOnce(t *testing.T) {
	now := time.Now()
	all := openThrottle("")
	first, err := all.begin("admin", "192.0.2.1", "", now)
	if err != nil {
		t.Fatal(err)
	}
	for range maxAtOnce - 1 {
		if _, err := all.begin("admin", "192.0.2.1", "", now); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := all.begin("admin", "192.0.2.1", "", now); !errors.Is(err, errAtOnce) {
		t.Errorf("%v", err)
	}
	first.compared()
	if _, err := all.begin("admin", "192.0.2.1", "", now); err != nil {
		t.Error(err)
	}
}

// Counting is bounded in memory, and a wrong guess alone writes nothing.
func TestCountingIsBounded(t *testing.T) {
	now := time.Now()
	path := filepath.Join(t.TempDir(), "guesses.json")
	all := openThrottle(path)
	for i := range maxCounted + 10 {
		g, err := all.begin("admin", fmt.Sprintf("10.%d.%d.%d", i>>16, i>>8&255, i&255), "", now.Add(time.Duration(i)))
		if err != nil {
			t.Fatal(err)
		}
		g.compared()
	}
	if len(all.addresses) != maxCounted || len(all.asking) != 0 {
		t.Errorf("%d addresses, %d asking", len(all.addresses), len(all.asking))
	}
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("something was written: %v", err)
	}
}

func TestNoAdministratorsFile(t *testing.T) {
	s, h := webOf(t)
	for _, content := range []string{"", "[]", "{garbage", `[{"name":"admin","passwordHash":"scrypt$99999999999$8$1$AA==$AA=="}]`} {
		if content == "" {
			os.Remove(s.Administrators)
		} else {
			write(t, s.Administrators, content)
		}
		w := call(h, "POST", "/support/session", `{"user":"admin","password":"x"}`, "a"+content)
		if body, _ := io.ReadAll(w.Body); w.Code != 503 || !strings.Contains(string(body), "console") {
			t.Errorf("%q: %d %s", content, w.Code, body)
		}
	}
}

func write(t *testing.T, path, content string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// What akd writes, by Node's crypto.argon2; and what a damaged file may hold.
func TestArgon2(t *testing.T) {
	const stored = "$argon2id$v=19$m=19456,t=2,p=1$mDRu0vUus4OV29bfrr0pNw$tipv27kvhvcFN7TLeS103knhbxbVixdYrhIwEySS5WU"
	for password, want := range map[string]bool{"correct hörse": true, "correct ho\u0308rse": true, "correct horse": false, "": false} {
		if got, err := verifyPassword(password, stored); got != want || err != nil {
			t.Errorf("%q: %v %v", password, got, err)
		}
	}
	for _, damaged := range []string{
		"$argon2id$", "$argon2id$v=19$m=19456,t=2,p=1$AAAA", "$argon2id$v=16$m=19456,t=2,p=1$AAAA$AAAA", "$argon2id$v=19$m=99999999,t=2,p=1$AAAA$AAAA",
		"$argon2id$v=19$m=19456,t=0,p=1$AAAA$AAAA", "$argon2id$v=19$m=19456,t=2,p=200$AAAA$AAAA", "$argon2id$v=19$m=19456,t=2,p=1$!!$AAAA", "$argon2id$v=19$m=19456,t=2,p=1$AAAA$",
	} {
		if ok, err := verifyPassword("x", damaged); ok || err == nil {
			t.Errorf("%s: %v %v", damaged, ok, err)
		}
	}
}

// Who is no administrator any more, is disabled, or has another password, is out although the session has not ended.
func TestASessionEndsWithTheAccount(t *testing.T) {
	s, h := webOf(t)
	cookie := call(h, "POST", "/support/session", `{"user":"admin","password":"correct horse"}`, "a").Result().Cookies()[0]
	if w := call(h, "GET", "/support/bundles", "", "a", cookie); w.Code != 200 {
		t.Fatal(w.Code)
	}
	before, err := os.ReadFile(s.Administrators)
	if err != nil {
		t.Fatal(err)
	}
	set := func(content string) {
		if err := os.WriteFile(s.Administrators, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const hash = "$argon2id$v=19$m=19456,t=2,p=1$mDRu0vUus4OV29bfrr0pNw$tipv27kvhvcFN7TLeS103knhbxbVixdYrhIwEySS5WU"
	for what, content := range map[string]string{
		"another one": `[{"name":"other","passwordHash":"` + hash + `"}]`, "another password": `[{"name":"admin","passwordHash":"` + hash + `"}]`, "nobody": `[]`,
	} {
		set(string(before))
		w := call(h, "POST", "/support/session", `{"user":"admin","password":"correct horse"}`, "a")
		if w.Code != 200 {
			t.Fatal(what, w.Code)
		}
		cookie := w.Result().Cookies()[0]
		set(content)
		if w := call(h, "GET", "/support/bundles", "", "a", cookie); w.Code != 401 {
			t.Error(what, w.Code)
		}
		if w := call(h, "POST", "/support/session", `{"user":"admin","password":"correct horse"}`, "a"); w.Code == 200 {
			t.Error(what, w.Code, w.Body)
		}
	}
}
