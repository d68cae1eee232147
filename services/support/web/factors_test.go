package web

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/scrypt"
)

// What akd sealed and hashed: the same values are in appliance-kit/src/state/sealed.test.ts and access/factors/factors.test.ts.
const (
	sealedSeed   = "AQABAgMEBQYHCAkKCymz2kQoP+5xToLUrtFsWczWBI++U/Dlylrl/ToVgdt4nwGQ0g==" // for ada's fa-1
	recoveryCode = "abcd-efgh-jkmn-pqrs"
	recoverySum  = "d3768bad28257fa42390b48f6e8bc4b8a2cc635795e747c865cb27433d1dc7b2" // of ada
)

var (
	sealKey = []byte(strings.Repeat("\x07", 32))
	seed    = []byte("12345678901234567890")
)

func withFactor(t *testing.T) (*Page, http.Handler, *time.Time) {
	t.Helper()
	s, _ := webOf(t)
	dir := filepath.Dir(s.Administrators)
	salt := []byte("0123456789abcdef")
	key, err := scrypt.Key([]byte("correct horse"), salt, 16, 8, 1, 32)
	if err != nil {
		t.Fatal(err)
	}
	hash := fmt.Sprintf("scrypt$16$8$1$%s$%s", base64.StdEncoding.EncodeToString(salt), base64.StdEncoding.EncodeToString(key))
	now := time.Unix(2_000_000_000, 0)
	last := now.Unix()/stepSeconds - 2
	write(t, s.Administrators, fmt.Sprintf(`[{"name":"ada","passwordHash":%q,"factors":[{"id":"fa-1","sealedSecret":%q,"lastStep":%d}],"recoveryHashes":[%q]},
		{"name":"eve","passwordHash":%q,"factorRequiredFrom":"2033-05-18T04:00:00.000Z"}]`, hash, sealedSeed, last, recoverySum, hash))
	s.KeyFile = write(t, filepath.Join(dir, "secrets.key"), string(sealKey))
	s.UsedFile = filepath.Join(dir, "used-factors.json")
	s.Now = func() time.Time { return now }
	return s, s.Handler(), &now
}

func signInWith(t *testing.T, h http.Handler, user, password, code, from string) (int, string) {
	t.Helper()
	body, _ := json.Marshal(map[string]string{"user": user, "password": password, "code": code})
	w := call(h, "POST", "/support/session", string(body), from)
	var answer struct{ Code string }
	_ = json.Unmarshal(w.Body.Bytes(), &answer)
	if (w.Code == 200) != (len(w.Result().Cookies()) == 2) {
		t.Errorf("%d with %d cookies", w.Code, len(w.Result().Cookies()))
	}
	return w.Code, answer.Code
}

func codeAt(s *Page, later int64) string { return codeOfStep(seed, s.Now().Unix()/stepSeconds+later) }

func TestCodesOfRFC6238(t *testing.T) {
	for at, code := range map[int64]string{59: "287082", 1111111109: "081804", 1111111111: "050471", 1234567890: "005924", 2000000000: "279037", 20000000000: "353130"} {
		if got := codeOfStep(seed, at/stepSeconds); got != code {
			t.Errorf("at %d: %s, want %s", at, got, code)
		}
		for steps, taken := range map[int64]bool{-2: false, -1: true, 0: true, 1: true, 2: false} {
			if _, ok := stepOfCode(seed, code, time.Unix(at+steps*stepSeconds, 0)); at+steps*stepSeconds >= 0 && ok != taken {
				t.Errorf("the code of %d, %d steps later: %v", at, steps, ok)
			}
		}
	}
}

func TestWhatAkdSealedOpensForWhatItBelongsTo(t *testing.T) {
	got, err := unseal(sealKey, sealedSeed, "factor", "ada", "fa-1")
	if err != nil || string(got) != string(seed) {
		t.Errorf("%q %v", got, err)
	}
	for _, wrong := range [][]string{{"factor", "bob", "fa-1"}, {"factor", "ada", "fa-2"}, {"destination", "ada", "fa-1"}} {
		if _, err := unseal(sealKey, sealedSeed, wrong...); err == nil {
			t.Errorf("it opens for %v", wrong)
		}
	}
	for _, damaged := range []string{"", "AQ==", "Ag" + sealedSeed[2:], sealedSeed[:40], "%"} {
		if _, err := unseal(sealKey, damaged, "factor", "ada", "fa-1"); err == nil {
			t.Errorf("%q opens", damaged)
		}
	}
	for _, code := range []string{recoveryCode, "ABCD EFGH JKMN PQRS", "abcdefghjkmnpqrs"} {
		if got := recoveryHash("ada", code); got != recoverySum {
			t.Errorf("%s: %s", code, got)
		}
	}
}

func TestARecoveryCodeStandsForPasskeys(t *testing.T) {
	s, h, _ := withFactor(t)
	list, err := s.administrators()
	if err != nil {
		t.Fatal(err)
	}
	list[0].Factors, list[0].Passkeys = []factor{}, 1
	content, _ := json.Marshal(list)
	write(t, s.Administrators, string(content))
	if err := os.Remove(s.KeyFile); err != nil {
		t.Fatal(err)
	}
	for n, a := range []struct {
		code, problem string
		status        int
	}{{"", "second_factor_required", 401}, {"123456", "wrong_code", 401}, {recoveryCode, "", 200}, {recoveryCode, "wrong_code", 401}} {
		if status, problem := signInWith(t, h, "ada", "correct horse", a.code, fmt.Sprintf("192.0.2.%d", n)); status != a.status || problem != a.problem {
			t.Errorf("%q: %d %s, want %d %s", a.code, status, problem, a.status, a.problem)
		}
	}
}

func TestACodeIsAskedForAndGoodOnce(t *testing.T) {
	s, h, now := withFactor(t)
	type attempt struct {
		password, code string
		status         int
		problem        string
	}
	for n, a := range []attempt{
		{"wrong", codeAt(s, 0), 401, "wrong_credentials"},
		{"correct horse", "", 401, "second_factor_required"},
		{"correct horse", "123456", 401, "wrong_code"},
		{"correct horse", codeAt(s, -2), 401, "wrong_code"},
		{"correct horse", codeAt(s, 0)[:3] + " " + codeAt(s, 0)[3:], 200, ""},
		{"correct horse", codeAt(s, 0), 401, "wrong_code"},
		{"correct horse", codeAt(s, -1), 401, "wrong_code"},
	} {
		if status, code := signInWith(t, h, "ada", a.password, a.code, "a"); status != a.status || code != a.problem {
			t.Errorf("attempt %d: %d %s", n, status, code)
		}
	}
	// A restart is no way around it, and neither is what akd has taken.
	again := &Page{API: s.API, Administrators: s.Administrators, LockFile: s.LockFile, KeyFile: s.KeyFile, UsedFile: s.UsedFile, Now: s.Now}
	h = again.Handler()
	if status, code := signInWith(t, h, "ada", "correct horse", codeAt(s, 0), "b"); status != 401 || code != "wrong_code" {
		t.Errorf("after a restart: %d %s", status, code)
	}
	*now = now.Add(time.Minute)
	content, _ := os.ReadFile(s.Administrators)
	step := fmt.Sprintf(`"lastStep":%d`, now.Unix()/stepSeconds)
	write(t, s.Administrators, strings.Replace(string(content), fmt.Sprintf(`"lastStep":%d`, int64(2_000_000_000)/stepSeconds-2), step, 1))
	if status, code := signInWith(t, h, "ada", "correct horse", codeAt(s, 0), "b"); status != 401 || code != "wrong_code" {
		t.Errorf("taken by akd: %d %s", status, code)
	}
	if status, _ := signInWith(t, h, "ada", "correct horse", codeAt(s, 1), "b"); status != 200 {
		t.Errorf("the next one: %d", status)
	}
}

func TestWrongCodesAreLockedOut(t *testing.T) {
	s, h, _ := withFactor(t)
	for n := range maxGuesses {
		code, want := "000000", "wrong_code"
		if n == 4 {
			code, want = "", "second_factor_required"
		}
		if status, problem := signInWith(t, h, "ada", "correct horse", code, "bad"); status != 401 || problem != want {
			t.Fatalf("guess %d: %d %s", n, status, problem)
		}
	}
	if status, problem := signInWith(t, h, "ada", "correct horse", codeAt(s, 0), "bad"); status != 429 || problem != "locked_out" {
		t.Errorf("%d %s", status, problem)
	}
}

func TestARecoveryCodeIsGoodOnceAndWrittenDown(t *testing.T) {
	s, h, _ := withFactor(t)
	// As long as it cannot be written down it is not taken, and not lost.
	file := s.UsedFile
	s.UsedFile = filepath.Join(filepath.Dir(file), "no such folder", "used")
	if status, problem := signInWith(t, h, "ada", "correct horse", recoveryCode, "a"); status != 503 || problem != "service_unavailable" {
		t.Errorf("%d %s", status, problem)
	}
	s.UsedFile = file
	if status, problem := signInWith(t, h, "ada", "correct horse", recoveryCode, "a"); status != 200 {
		t.Errorf("%d %s", status, problem)
	}
	info, err := os.Stat(file)
	if err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("%v %v", info, err)
	}
	content, _ := os.ReadFile(file)
	if want := fmt.Sprintf(`{"version":1,"steps":{},"recoveryCodes":[{"user":"ada","hash":%q,"from":"a"}]}`, recoverySum); string(content) != want {
		t.Errorf("%s, want %s", content, want)
	}
	again := &Page{API: s.API, Administrators: s.Administrators, LockFile: s.LockFile, KeyFile: s.KeyFile, UsedFile: file, Now: s.Now}
	if status, problem := signInWith(t, again.Handler(), "ada", "correct horse", recoveryCode, "b"); status != 401 || problem != "wrong_code" {
		t.Errorf("again: %d %s", status, problem)
	}
}

func TestAnAdministratorWithoutAFactorThatIsDemanded(t *testing.T) {
	_, h, now := withFactor(t)
	if status, _ := signInWith(t, h, "eve", "correct horse", "", "a"); status != 200 {
		t.Errorf("before the date: %d", status)
	}
	*now = time.Date(2033, 5, 18, 4, 0, 0, 0, time.UTC)
	if status, problem := signInWith(t, h, "eve", "correct horse", "", "a"); status != 403 || problem != "factor_addition_required" {
		t.Errorf("from the date on: %d %s", status, problem)
	}
}

func TestWithoutTheKeyRecoveryCodesAreTaken(t *testing.T) {
	s, h, _ := withFactor(t)
	if err := os.Remove(s.KeyFile); err != nil {
		t.Fatal(err)
	}
	if status, problem := signInWith(t, h, "ada", "correct horse", codeAt(s, 0), "a"); status != 503 || problem != "service_unavailable" {
		t.Errorf("%d %s", status, problem)
	}
	write(t, s.KeyFile, strings.Repeat("x", 32))
	if status, problem := signInWith(t, h, "ada", "correct horse", codeAt(s, 0), "a"); status != 503 || problem != "service_unavailable" {
		t.Errorf("another key: %d %s", status, problem)
	}
	if status, _ := signInWith(t, h, "ada", "correct horse", recoveryCode, "a"); status != 200 {
		t.Errorf("%d", status)
	}
}
