package web

// Second factors at this sign-in. akd keeps what they are checked with in the file of the administrators; what is used here is
// written down in a file of ours, which akd reads before it takes a code: no code is good in both places.

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"slices"
	"strings"
	"time"

	"cistern/services/daemon"
)

// factor is an authenticator app (appliance-kit/src/access/factors).
type factor struct {
	ID           string `json:"id"`
	SealedSecret string `json:"sealedSecret"`
	LastStep     int64  `json:"lastStep"` // of the last code that was taken by akd
}

// usedFactors is the file for akd (appliance-kit/src/access/factors/used-there.ts).
type usedFactors struct {
	Version       int              `json:"version"`
	Steps         map[string]int64 `json:"steps"` // the last that was taken here, by factor
	RecoveryCodes []usedCode       `json:"recoveryCodes"`
}

type usedCode struct {
	User string `json:"user"`
	Hash string `json:"hash"`
	From string `json:"from"`
}

const usedVersion = 1

// checked is what became of a code.
type checked int

const (
	codeWrong checked = iota
	codeRight
	codeUsed // right, and taken before
)

func (p *Page) loadUsed() {
	p.used = usedFactors{}
	content, err := os.ReadFile(p.UsedFile)
	if err == nil {
		err = json.Unmarshal(content, &p.used)
	}
	if err == nil && p.used.Version != usedVersion {
		err = fmt.Errorf("its version is %d, and not %d", p.used.Version, usedVersion)
	}
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			slog.Warn("which codes were used here before is not known", "path", p.UsedFile, "error", err)
		}
		p.used = usedFactors{}
	}
	p.used.Version = usedVersion
	if p.used.Steps == nil {
		p.used.Steps = map[string]int64{}
	}
	if p.used.RecoveryCodes == nil {
		p.used.RecoveryCodes = []usedCode{}
	}
}

// saveUsed needs mu. It is on disk when it returns.
func (p *Page) saveUsed() error {
	content, err := json.Marshal(p.used)
	if err != nil {
		return err
	}
	next := p.UsedFile + ".new"
	f, err := os.OpenFile(next, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	// akd is in the group, and reads it; nobody else of the group is to write it.
	if err := errors.Join(daemon.Share(next, p.Group), os.Chmod(next, 0o640)); err != nil {
		slog.Warn("the group may not read which codes were used here", "group", p.Group, "path", p.UsedFile, "error", err)
	}
	return os.Rename(next, p.UsedFile)
}

// checkCode takes a code of an app, or a recovery code: a right one is good for nothing afterwards, here and at akd's sign-in.
func (p *Page) checkCode(who administrator, given, from string) (checked, error) {
	code := strings.Join(strings.Fields(given), "")
	p.mu.Lock()
	defer p.mu.Unlock()
	if strings.Trim(code, "0123456789") == "" {
		return p.checkApps(who, code)
	}
	return p.checkRecovery(who, code, from)
}

func (p *Page) checkApps(who administrator, code string) (checked, error) {
	key, err := os.ReadFile(p.KeyFile)
	if err != nil && len(who.Factors) > 0 {
		return codeWrong, errors.New("the key of the appliance cannot be read")
	}
	result, opened := codeWrong, false
	for _, one := range who.Factors {
		seed, err := unseal(key, one.SealedSecret, "factor", who.Name, one.ID)
		if err != nil {
			slog.Error("the secret of an authenticator app cannot be opened", "user", who.Name, "error", err)
			continue
		}
		opened = true
		step, ok := stepOfCode(seed, code, p.Now())
		if !ok {
			continue
		}
		if step <= max(one.LastStep, p.used.Steps[one.ID]) {
			result = codeUsed
			continue
		}
		p.used.Steps[one.ID] = step
		if err := p.saveUsed(); err != nil {
			// It is good for a minute more at akd, and here it is remembered: no reason to keep anybody out.
			slog.Error("which code was used here cannot be written down", "path", p.UsedFile, "error", err)
		}
		return codeRight, nil
	}
	if !opened && len(who.Factors) > 0 {
		return codeWrong, errors.New("the secrets of the authenticator apps cannot be opened")
	}
	return result, nil
}

func (p *Page) checkRecovery(who administrator, code, from string) (checked, error) {
	hash := recoveryHash(who.Name, code)
	known := func(u usedCode) bool { return u.User == who.Name && u.Hash == hash }
	if slices.ContainsFunc(p.used.RecoveryCodes, known) {
		return codeUsed, nil
	}
	if !slices.Contains(who.RecoveryHashes, hash) {
		return codeWrong, nil
	}
	before := p.used.RecoveryCodes
	p.used.RecoveryCodes = append(slices.Clone(before), usedCode{who.Name, hash, from})
	if err := p.saveUsed(); err != nil {
		// One that could be used again is no recovery code.
		p.used.RecoveryCodes = before
		return codeWrong, fmt.Errorf("that the recovery code is used cannot be written down: %w", err)
	}
	slog.Warn("a recovery code was used", "user", who.Name, "from", from)
	return codeRight, nil
}

func (a administrator) hasFactor() bool { return len(a.Factors) > 0 || a.Passkeys > 0 }

// mustHaveFactor says whether the administrator may not sign in for want of a second factor.
func (a administrator) mustHaveFactor(now time.Time) bool {
	if a.hasFactor() || a.FactorRequiredFrom == "" {
		return false
	}
	from, err := time.Parse(time.RFC3339, a.FactorRequiredFrom)
	return err != nil || !now.Before(from)
}

// recoveryHash is akd's (appliance-kit/src/access/factors/recovery-codes.ts).
func recoveryHash(user, code string) string {
	letters := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return -1
	}, strings.ToLower(code))
	sum := sha256.Sum256([]byte(strings.Join([]string{"recovery-code", user, letters}, "\x00")))
	return hex.EncodeToString(sum[:])
}

var errSealed = errors.New("it was sealed with another key, for something else, or is damaged")

// unseal opens what akd has sealed (docs/FORMATS.md, "Sealed secrets").
func unseal(key []byte, sealed string, belongsTo ...string) ([]byte, error) {
	content, err := base64.StdEncoding.DecodeString(sealed)
	if err != nil || len(content) == 0 || content[0] != 1 || len(key) != 32 {
		return nil, errSealed
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, errSealed
	}
	gcm, err := cipher.NewGCM(block)
	if err != nil || len(content) < 1+gcm.NonceSize() {
		return nil, errSealed
	}
	nonce, text := content[1:1+gcm.NonceSize()], content[1+gcm.NonceSize():]
	secret, err := gcm.Open(nil, nonce, text, []byte(strings.Join(belongsTo, "\x00")))
	if err != nil {
		return nil, errSealed
	}
	return secret, nil
}

const (
	stepSeconds = 30
	codeDigits  = 6
)

// codeOfStep is RFC 4226, 5.3, with six digits.
func codeOfStep(seed []byte, step int64) string {
	mac := hmac.New(sha1.New, seed)
	_ = binary.Write(mac, binary.BigEndian, step)
	sum := mac.Sum(nil)
	offset := sum[len(sum)-1] & 0x0f
	number := binary.BigEndian.Uint32(sum[offset:]) & 0x7fffffff
	return fmt.Sprintf("%0*d", codeDigits, number%1_000_000)
}

// stepOfCode is the step of RFC 6238 whose code it is, of those that count now.
func stepOfCode(seed []byte, code string, now time.Time) (step int64, ok bool) {
	at := now.Unix() / stepSeconds
	for _, neighbour := range []int64{0, -1, 1} {
		if subtle.ConstantTimeCompare([]byte(codeOfStep(seed, at+neighbour)), []byte(code)) == 1 && !ok {
			step, ok = at+neighbour, true
		}
	}
	return step, ok
}
