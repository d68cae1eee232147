package cli

// The certificate of the web page: `cistern certificate show|request|install|self-signed|restore`. Keys are read from files, so that they
// are never seen in the list of processes.

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"text/tabwriter"
	"time"
)

const certificateHelp = `cistern certificate COMMAND
  show                                      the certificate in use, the one before, and the signing request that is waited for
  request --name NAME … [--address IP …]    make a key, which stays in the appliance, and print a signing request of it
          [--organization NAME] [--country CC] [--kind ecdsa-p256|ecdsa-p384|rsa-2048|rsa-4096]
  install FILE [--key FILE]                 install a certificate with its chain (PEM, in any order); without a key that of the
                                            signing request, or the one in use
  install FILE.p12 [--password-file FILE]   the same of PKCS #12; without the option the terminal asks for its password
  self-signed --name NAME … [--address IP …]  have the appliance make one of its own, and install it
  restore                                   put back the one before

install takes --accept name (the page is open under another name) and --accept chain (nothing is known of its authority), and
--check, which changes nothing. FILE may be -, standard input. --output json, or --json, prints the appliance's answer.
`

// pageCertificate is as much of the API's answer as is shown.
type pageCertificate struct {
	Subject, Issuer, Fingerprint, Key string
	Names, Addresses                  []string
	ValidFrom, ValidTo                time.Time
	SelfSigned                        bool
}

type certificateState struct {
	Current, Previous *pageCertificate
	Problem           string
	Request           *struct {
		Subject, Key, PEM string
		Names, Addresses  []string
	}
}

type certificateOptions struct {
	names, addresses, accept                         []string
	organization, country, kind, keyFile, secretFile string
	check                                            bool
	rest                                             []string
}

func certificateArguments(arguments []string) (o certificateOptions, err error) {
	o.kind = "ecdsa-p256"
	texts := map[string]*string{"--organization": &o.organization, "--country": &o.country, "--kind": &o.kind, "--key": &o.keyFile, "--password-file": &o.secretFile}
	lists := map[string]*[]string{"--name": &o.names, "--address": &o.addresses, "--accept": &o.accept}
	for i := 0; i < len(arguments); i++ {
		name, value, hasValue := strings.Cut(arguments[i], "=")
		text, list := texts[name], lists[name]
		switch {
		case arguments[i] == "--check":
			o.check = true
			continue
		case text == nil && list == nil && strings.HasPrefix(name, "-") && name != "-":
			return o, usage("there is no option %s; see cistern certificate --help", name)
		case text == nil && list == nil:
			o.rest = append(o.rest, arguments[i])
			continue
		}
		if !hasValue {
			if i++; i >= len(arguments) {
				return o, usage("%s needs a value", name)
			}
			value = arguments[i]
		}
		if text != nil {
			*text = value
		} else {
			*list = append(*list, value)
		}
	}
	return o, nil
}

// certificate carries out `cistern certificate …`.
func certificate(ctx context.Context, s Streams, o Options, f own) error {
	if len(f.rest) < 2 || f.help || f.rest[1] == "help" {
		fmt.Fprint(s.Out, certificateHelp)
		return nil
	}
	options, err := certificateArguments(f.rest[2:])
	if err != nil {
		return err
	}
	takes := map[string]int{"show": 0, "request": 0, "install": 1, "self-signed": 0, "restore": 0}
	count, ok := takes[f.rest[1]]
	if !ok {
		return usage("there is no command “certificate %s”; see cistern certificate --help", f.rest[1])
	}
	if len(options.rest) != count {
		return usage("certificate %s takes %d arguments beside its options; see cistern certificate --help", f.rest[1], count)
	}
	r := certificateRun{s, o.client(), options, f.json || f.output == asJSON}
	names := map[string]any{"names": orEmpty(options.names), "addresses": orEmpty(options.addresses)}
	switch f.rest[1] {
	case "show":
		return r.state(ctx, http.MethodGet, "", nil)
	case "request":
		names["organization"], names["country"], names["key"] = options.organization, options.country, options.kind
		return r.request(ctx, names)
	case "install":
		return r.install(ctx, options.rest[0])
	case "self-signed":
		return r.state(ctx, http.MethodPost, "/self-sign", names)
	}
	return r.state(ctx, http.MethodPost, "/restore", nil)
}

func orEmpty(all []string) []string { return append([]string{}, all...) }

type certificateRun struct {
	s Streams
	c *client
	certificateOptions
	asJSON bool
}

// ask sends a request; the password is asked for where the appliance wants it again.
func (r *certificateRun) ask(ctx context.Context, method, path string, body any) (json.RawMessage, error) {
	response, err := r.c.confirmed(ctx, r.s, method, "/api/certificate"+path, nil, nil, body)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	return io.ReadAll(io.LimitReader(response.Body, 4<<20))
}

// state asks for something that answers the state, and prints that.
func (r *certificateRun) state(ctx context.Context, method, path string, body any) error {
	answer, err := r.ask(ctx, method, path, body)
	if err != nil {
		return err
	}
	if r.asJSON {
		return printAnswer(r.s.Out, answer)
	}
	var state certificateState
	if err := json.Unmarshal(answer, &state); err != nil {
		return fmt.Errorf("the answer cannot be read: %w", err)
	}
	if state.Problem != "" {
		fmt.Fprintln(r.s.Out, state.Problem)
	}
	r.print("In use", state.Current)
	r.print("Before", state.Previous)
	if state.Request != nil {
		fmt.Fprintf(r.s.Out, "A signing request for %s waits for its certificate.\n", strings.Join(append(state.Request.Names, state.Request.Addresses...), ", "))
	}
	if method == http.MethodPost && state.Current != nil && r.c.session.Fingerprint != "" {
		fmt.Fprintf(r.s.Err, "This command line trusts the certificate before: sign in again with --fingerprint %s\n", state.Current.Fingerprint)
	}
	return nil
}

func (r *certificateRun) print(title string, one *pageCertificate) {
	if one == nil {
		return
	}
	issuer := one.Issuer
	if one.SelfSigned {
		issuer = "itself"
	}
	table := tabwriter.NewWriter(r.s.Out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(table, "%s\tfor %s\n", title, strings.Join(append(one.Names, one.Addresses...), ", "))
	fmt.Fprintf(table, "\tissued by %s, %s\n", issuer, one.Key)
	fmt.Fprintf(table, "\tvalid %s to %s\n", one.ValidFrom.Format(time.DateOnly), one.ValidTo.Format(time.DateOnly))
	fmt.Fprintf(table, "\tSHA-256 %s\n", one.Fingerprint)
	_ = table.Flush() // who reads it has gone
}

func (r *certificateRun) request(ctx context.Context, body any) error {
	answer, err := r.ask(ctx, http.MethodPost, "/create-request", body)
	if err != nil {
		return err
	}
	if r.asJSON {
		return printAnswer(r.s.Out, answer)
	}
	var state certificateState
	if err := json.Unmarshal(answer, &state); err != nil || state.Request == nil {
		return fmt.Errorf("the answer cannot be read: %w", err)
	}
	_, err = io.WriteString(r.s.Out, state.Request.PEM)
	return err
}

func (r *certificateRun) file(name string) ([]byte, error) {
	if name == "-" {
		return io.ReadAll(io.LimitReader(r.s.In, 1<<20))
	}
	return os.ReadFile(name)
}

func (r *certificateRun) install(ctx context.Context, name string) error {
	content, err := r.file(name)
	if err != nil {
		return err
	}
	body := map[string]any{}
	if bytes.Contains(content, []byte("-----BEGIN ")) {
		body["certificate"] = string(content)
		if r.keyFile != "" {
			key, err := r.file(r.keyFile)
			if err != nil {
				return err
			}
			body["key"] = string(key)
		}
	} else {
		body["pkcs12"] = base64.StdEncoding.EncodeToString(content)
		if body["password"], err = r.password(); err != nil {
			return err
		}
	}
	checked, err := r.ask(ctx, http.MethodPost, "/preview", body)
	if err != nil {
		return err
	}
	if r.check && r.asJSON {
		return printAnswer(r.s.Out, checked)
	}
	var preview struct {
		Certificate pageCertificate
		Warnings    []struct{ Kind, Message string }
		Notes       []string
	}
	if err := json.Unmarshal(checked, &preview); err != nil {
		return fmt.Errorf("the answer cannot be read: %w", err)
	}
	for _, note := range preview.Notes {
		fmt.Fprintln(r.s.Err, note)
	}
	for _, warning := range preview.Warnings {
		fmt.Fprintf(r.s.Err, "Warning (%s): %s\n", warning.Kind, warning.Message)
	}
	if r.check {
		r.print("Would be", &preview.Certificate)
		return nil
	}
	body["accept"] = orEmpty(r.accept)
	return r.state(ctx, http.MethodPost, "/install", body)
}

// password is that of a PKCS #12 file.
func (r *certificateRun) password() (string, error) {
	if r.secretFile != "" {
		f, err := os.Open(r.secretFile)
		if err != nil {
			return "", err
		}
		defer f.Close()
		return line(f)
	}
	if !r.s.asks() {
		return "", usage("nobody can be asked for the password of the file: give --password-file FILE")
	}
	return r.s.secret("Password of the file")
}
