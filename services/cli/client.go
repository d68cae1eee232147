package cli

// How the appliance is reached, and as whom: over its own socket on the appliance, over HTTPS from elsewhere; with an API
// token, or with the session that `cistern sign-in` keeps.

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// Socket is where the management service listens on the appliance itself.
const Socket = runFolder + "/cistern/akd/http.sock"

// sessionCookie is what the session's cookie is called; over HTTPS the appliance puts __Host- before it.
const sessionCookie = "cistern_session"

// session is what sign-in keeps, in a file that only its owner can read.
type session struct {
	URL         string `json:"url,omitempty"` // empty: the socket
	Fingerprint string `json:"fingerprint,omitempty"`
	Cookie      string `json:"cookie,omitempty"` // NAME=VALUE
}

// Options say which appliance, and as whom.
type Options struct {
	URL         string   // https://host; empty: what sign-in kept, or the socket
	Token       string   // an API token
	Fingerprint string   // SHA-256 of the certificate, as the console shows it; empty: it must be one the system trusts
	Config      string   // the folder in which sessions are kept (Folders)
	Cache       string   // the folder for what is faster kept (Folders)
	Appliance   string   // the name under which sign-in has kept an appliance; empty: the one without a name
	Own         []string // commands of the program itself, for completion
	Socket      string   // Socket, unless a test has another one
}

func (o Options) sessionFile() string {
	if o.Appliance != "" {
		return filepath.Join(o.appliances(), o.Appliance)
	}
	return filepath.Join(o.Config, "session")
}

func (o Options) load() session {
	var s session
	if content, err := os.ReadFile(o.sessionFile()); err == nil {
		_ = json.Unmarshal(content, &s) // one that cannot be read is as good as none
	}
	if o.URL != "" && strings.TrimSuffix(o.URL, "/") != s.URL {
		s = session{URL: strings.TrimSuffix(o.URL, "/")} // another appliance's session is not shown to this one
	}
	if o.Fingerprint != "" {
		s.Fingerprint = o.Fingerprint
	}
	return s
}

func (o Options) save(s session) error {
	content, err := json.Marshal(s)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(o.sessionFile()), 0o700); err != nil {
		return err
	}
	next := o.sessionFile() + ".new"
	if err := os.WriteFile(next, content, 0o600); err != nil {
		return err
	}
	return os.Rename(next, o.sessionFile())
}

// Problem is the appliance's own word on what went wrong (RFC 9457).
type Problem struct {
	Status int    `json:"status"`
	Code   string `json:"code"`
	Detail string `json:"detail"`
	Action string `json:"action"`
	Errors []struct {
		Path    string `json:"path"`
		Message string `json:"message"`
	} `json:"errors"`
}

func (p *Problem) Error() string {
	var b strings.Builder
	b.WriteString(p.Detail)
	for _, e := range p.Errors {
		if e.Message != p.Detail {
			fmt.Fprintf(&b, "\n  --%s: %s", kebab(strings.ReplaceAll(strings.Trim(e.Path, "/"), "/", ".")), e.Message)
		}
	}
	if p.Action != "" {
		b.WriteString("\n" + p.Action)
	}
	if p.Code == "confirmation_required" {
		b.WriteString("\nIt was given more than five minutes ago: “cistern sign-in” again, or use an API token, which needs no confirmation.")
	}
	if p.Code == "second_factor_required" {
		b.WriteString("\nAt a terminal “cistern sign-in” asks for it, and --code gives it. A script uses an API token, in CISTERN_TOKEN.")
	}
	if p.Code == "unauthenticated" {
		b.WriteString("\nSign in with “cistern sign-in”, or give an API token in CISTERN_TOKEN.")
	}
	return b.String()
}

type client struct {
	http    *http.Client
	base    string
	session session
	token   string
}

func (o Options) client() *client {
	if o.Socket == "" {
		o.Socket = Socket
	}
	return o.clientAt(o.Socket)
}

// clientAt is a client of the appliance over HTTPS, or, on the appliance itself, of the service that has a socket.
func (o Options) clientAt(socket string) *client {
	s := o.load()
	c := &client{session: s, token: o.Token, base: s.URL}
	transport := &http.Transport{TLSHandshakeTimeout: 20 * time.Second}
	if s.URL == "" {
		c.base = "http://localhost"
		transport.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{Timeout: 10 * time.Second}).DialContext(ctx, "unix", socket)
		}
	}
	if s.Fingerprint != "" {
		// The certificate is the very one that the console shows: that is more than any authority could say.
		transport.TLSClientConfig = &tls.Config{InsecureSkipVerify: true, VerifyPeerCertificate: func(raw [][]byte, _ [][]*x509.Certificate) error {
			if len(raw) == 0 || fingerprintOf(raw[0]) != normalised(s.Fingerprint) {
				return errors.New("the certificate is not the one with the fingerprint given")
			}
			return nil
		}}
	}
	c.http = &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return c
}

func fingerprintOf(certificate []byte) string {
	sum := sha256.Sum256(certificate)
	return hex.EncodeToString(sum[:])
}

func normalised(fingerprint string) string {
	return strings.ToLower(strings.ReplaceAll(strings.TrimPrefix(fingerprint, "SHA256:"), ":", ""))
}

// unreachable says what to do about an appliance that does not answer.
func (c *client) unreachable(err error) error {
	var authority x509.UnknownAuthorityError
	var host x509.HostnameError
	var refused *net.OpError
	switch {
	case errors.As(err, &authority) || errors.As(err, &host):
		return fmt.Errorf("the certificate of %s is not one that this system trusts\nCompare the SHA-256 fingerprint that the appliance's console shows, and give it with --fingerprint", c.base)
	case c.session.URL == "" && !appliances(runtime.GOOS):
		return errors.New("no appliance was named: --url https://HOST does, or “cistern sign-in --url https://HOST”, which keeps it")
	case c.session.URL == "" && errors.As(err, &refused):
		return fmt.Errorf("the management service does not answer on its socket: %v\nOn another machine name the appliance with --url https://HOST; on the appliance itself see “"+aboutAkd+"”", refused.Err)
	}
	return err
}

// do sends a request. A problem document is an error of type *Problem. The caller closes the body.
func (c *client) do(ctx context.Context, method, path string, query url.Values, header http.Header, body any) (*http.Response, error) {
	var content io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		content = bytes.NewReader(text)
	}
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	if body != nil {
		header = header.Clone()
		if header == nil {
			header = http.Header{}
		}
		header.Set("Content-Type", "application/json")
	}
	response, err := c.send(ctx, method, path, header, content)
	if err != nil {
		return nil, c.unreachable(err)
	}
	if response.StatusCode < 300 {
		return response, nil
	}
	defer response.Body.Close()
	text, _ := io.ReadAll(io.LimitReader(response.Body, 1<<20))
	problem := &Problem{}
	if json.Unmarshal(text, problem) != nil || problem.Detail == "" {
		return nil, fmt.Errorf("%s %s: the answer is %s", method, path, response.Status)
	}
	problem.Status = response.StatusCode
	return nil, problem
}

// send sends a request with whatever says who asks, and returns the answer whatever it is.
func (c *client) send(ctx context.Context, method, path string, header http.Header, content io.Reader) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, method, c.base+path, content)
	if err != nil {
		return nil, err
	}
	for name, values := range header {
		request.Header[name] = values
	}
	request.Header.Set("User-Agent", "cistern")
	switch {
	case c.token != "":
		request.Header.Set("Authorization", "Bearer "+c.token)
	case c.session.Cookie != "":
		request.Header.Set("Cookie", c.session.Cookie)
		request.Header.Set("Origin", c.base) // we are no page of somebody else's
	}
	return c.http.Do(request)
}

// get reads a JSON answer into value.
func (c *client) get(ctx context.Context, path string, value any) error {
	response, err := c.do(ctx, http.MethodGet, path, nil, nil, nil)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	return json.NewDecoder(io.LimitReader(response.Body, 64<<20)).Decode(value)
}
