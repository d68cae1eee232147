package execd

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"cistern/services/execd/certificate"
)

// certificates keeps the certificate of the web page; it is made when it is first asked for.
func (s *Server) certificates() *certificate.Keeper {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.certificate == nil {
		port := s.HTTPSPort
		if port == 0 {
			port = 443
		}
		s.certificate = &certificate.Keeper{
			Folder: filepath.Join(s.State, "tls"),
			Reload: func(ctx context.Context) error { return s.Host.Service(ctx, "nginx", "reload") },
			Probe: func(ctx context.Context, fingerprint string) error {
				return certificate.Probe(ctx, port, fingerprint)
			},
			// The console shows its fingerprint, which is written with the rest of what the machine is.
			Changed: func(ctx context.Context) {
				if err := s.Host.ApplyIdentity(ctx); err != nil {
					s.failed(fmt.Errorf("the console shows the fingerprint of the certificate before: %w", err))
				}
			},
			Names: ownNames,
		}
	}
	return s.certificate
}

// ownNames are what the machine is called where it was given no name in a directory.
func ownNames() []string {
	name, err := os.Hostname()
	if err != nil || name == "" {
		return nil
	}
	name = strings.ToLower(name)
	first, _, _ := strings.Cut(name, ".")
	return slices.Compact([]string{name, first + ".local"})
}

func (s *Server) tlsState(*http.Request, empty) (any, error) { return s.certificates().State(), nil }

func (s *Server) tlsRequest(_ *http.Request, a certificate.Wanted) (any, error) {
	state, err := s.certificates().Request(a)
	return state, certificate.Problem(err)
}

// tlsGiven may have a private key in each of its texts: somebody pastes more than was asked for.
type tlsGiven struct {
	Certificate secret   `json:"certificate"`
	Key         secret   `json:"key"`
	PKCS12      secret   `json:"pkcs12"` // base64
	Password    secret   `json:"password"`
	ReachedAs   string   `json:"reachedAs"`
	Accept      []string `json:"accept"`
}

func (a tlsGiven) given() certificate.Given {
	return certificate.Given{Certificate: string(a.Certificate), Key: string(a.Key), PKCS12: string(a.PKCS12), Password: string(a.Password), ReachedAs: a.ReachedAs, Accept: a.Accept}
}

func (s *Server) tlsCheck(_ *http.Request, a tlsGiven) (any, error) {
	checked, err := s.certificates().Check(a.given())
	return checked, certificate.Problem(err)
}

// What has begun is finished, or taken back, also when nobody waits for it any more.
func (s *Server) tlsInstall(r *http.Request, a tlsGiven) (any, error) {
	state, err := s.certificates().Install(context.WithoutCancel(r.Context()), a.given())
	return state, certificate.Problem(err)
}

func (s *Server) tlsSelfSigned(r *http.Request, a certificate.Names) (any, error) {
	state, err := s.certificates().SelfSigned(context.WithoutCancel(r.Context()), a)
	return state, certificate.Problem(err)
}

func (s *Server) tlsRestore(r *http.Request, _ empty) (any, error) {
	state, err := s.certificates().Restore(context.WithoutCancel(r.Context()))
	return state, certificate.Problem(err)
}
