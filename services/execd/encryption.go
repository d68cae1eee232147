package execd

// Encryption: keys that this machine keeps, and passphrases that it does not.

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"cistern/services/daemon/problem"
	"cistern/services/execd/host"
)

type encryptionArgument struct {
	Format     string `json:"format"`
	Passphrase secret `json:"passphrase,omitempty"`
}

// passphraseProblem keeps to ZFS' own limits (MIN_PASSPHRASE_LEN, MAX_PASSPHRASE_LEN); zfs reads one line.
func passphraseProblem(p secret) string {
	switch {
	case len(p) < 8 || len(p) > 512:
		return "A passphrase has 8 to 512 characters."
	case strings.ContainsAny(string(p), "\r\n\x00"):
		return "A passphrase is one line."
	}
	return ""
}

// encryption are the options of 'zfs create' and 'zfs change-key', the key's file if there is to be one, and what zfs
// is told on its standard input.
func (s *Server) encryption(a encryptionArgument) (options []string, keyFile string, input *strings.Reader, err error) {
	switch a.Format {
	case "passphrase":
		if wrong := passphraseProblem(a.Passphrase); wrong != "" {
			return nil, "", nil, host.Invalid("/encryption/passphrase", wrong)
		}
		return []string{"-o", "encryption=on", "-o", "keyformat=passphrase", "-o", "keylocation=prompt"}, "", strings.NewReader(string(a.Passphrase) + "\n"), nil
	case "keyFile":
		if a.Passphrase != "" {
			return nil, "", nil, host.Invalid("/encryption/passphrase", "With a key file there is no passphrase.")
		}
		keyFile, err := s.newKeyFile()
		return []string{"-o", "encryption=on", "-o", "keyformat=hex", "-o", "keylocation=file://" + keyFile}, keyFile, nil, err
	}
	return nil, "", nil, host.Invalid("/encryption/format", "The key is a passphrase or a keyFile.")
}

// newKeyFile writes 256 random bits as hexadecimal digits, for root only. Its name says nothing of the dataset, which
// may be renamed.
func (s *Server) newKeyFile() (string, error) {
	dir := filepath.Join(s.State, "keys")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	var bits [48]byte
	if _, err := rand.Read(bits[:]); err != nil {
		return "", err
	}
	file := filepath.Join(dir, hex.EncodeToString(bits[32:])+".key")
	return file, replaceFile(file, []byte(hex.EncodeToString(bits[:32])+"\n"), 0o400)
}

type datasetKeyArgument struct {
	Name       string              `json:"name"`
	Action     string              `json:"action"`
	Passphrase secret              `json:"passphrase,omitempty"`
	Encryption *encryptionArgument `json:"encryption,omitempty"`
}

// datasetKey loads, unloads or changes the key of an encrypted dataset.
func (s *Server) datasetKey(r *http.Request, a datasetKeyArgument) (any, error) {
	if err := mustBeDataset("/name", a.Name); err != nil {
		return nil, err
	}
	if err := mustNotBeOurs(a.Name); err != nil {
		return nil, err
	}
	ctx := context.WithoutCancel(r.Context())
	is, err := facts(ctx, a.Name, "encryption", "encryptionroot", "keystatus", "keylocation")
	if err != nil {
		return nil, err
	}
	switch root := is["encryptionroot"]; {
	case is["encryption"] == "off" || root == "-" || root == "":
		return nil, problem.New(http.StatusConflict, "conflict", fmt.Sprintf("'%s' is not encrypted; that is decided when a dataset is made.", a.Name), "Make an encrypted dataset and copy what is in this one.")
	case root != a.Name:
		return nil, problem.New(http.StatusConflict, "conflict", fmt.Sprintf("'%s' has the key of '%s'.", a.Name, root), "Do it there.")
	}
	answer := map[string]string{"dataset": a.Name}
	switch a.Action {
	case "load":
		if is["keystatus"] == "available" {
			return answer, nil
		}
		var input *strings.Reader
		if is["keylocation"] == "prompt" {
			if wrong := passphraseProblem(a.Passphrase); wrong != "" {
				return nil, host.Invalid("/passphrase", wrong)
			}
			input = strings.NewReader(string(a.Passphrase) + "\n")
		}
		if err := run(ctx, input, "load-key", a.Name); err != nil {
			return nil, zfsFailure(err, fmt.Sprintf("The key of '%s' was not loaded", a.Name))
		}
		// What it covers comes back as far as it is meant to be mounted.
		out, err := zfs(ctx, longDeadline, "list", "-Hp", "-r", "-t", "filesystem", "-o", "name", a.Name)
		if err != nil {
			return nil, err
		}
		for _, row := range rows(out, 1) {
			if err := s.mountIfMeant(ctx, row[0]); err != nil {
				return nil, err
			}
		}
		return answer, nil
	case "unload":
		if err := mustNotHoldTelemetry(ctx, a.Name, "locked"); err != nil {
			return nil, err
		}
		unmounted, err := s.away(ctx, a.Name)
		if err != nil {
			return nil, err
		}
		if err := run(ctx, nil, "unload-key", a.Name); err != nil {
			return nil, errors.Join(zfsFailure(err, fmt.Sprintf("The key of '%s' was not unloaded", a.Name)), s.back(ctx, unmounted))
		}
		return answer, nil
	case "change":
		if is["keystatus"] != "available" {
			return nil, problem.New(http.StatusConflict, "conflict", fmt.Sprintf("The key of '%s' is not loaded.", a.Name), "Load the present key first.")
		}
		if a.Encryption == nil {
			return nil, host.Invalid("/encryption", "Say what the new key is.")
		}
		options, keyFile, input, err := s.encryption(*a.Encryption)
		if err != nil {
			return nil, err
		}
		// Whether there is encryption is not for change-key to say.
		argv := append([]string{"change-key"}, options[2:]...)
		if err := run(ctx, input, append(argv, a.Name)...); err != nil {
			if keyFile != "" {
				_ = os.Remove(keyFile)
			}
			return nil, zfsFailure(err, fmt.Sprintf("The key of '%s' was not changed", a.Name))
		}
		if old, was := strings.CutPrefix(is["keylocation"], "file://"); was && filepath.Dir(old) == filepath.Join(s.State, "keys") {
			_ = os.Remove(old)
		}
		return answer, nil
	}
	return nil, host.Invalid("/action", "The action is load, unload or change.")
}
