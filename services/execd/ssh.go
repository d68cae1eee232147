package execd

import (
	"context"
	"errors"
	"net/http"
	"path/filepath"

	"cistern/services/execd/host"
	"cistern/services/execd/sshaccess"
)

// ssh keeps who may come in by ssh; it is made when it is first asked for.
func (s *Server) ssh() *sshaccess.Manager {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sshAccess == nil {
		s.sshAccess = &sshaccess.Manager{
			Folder:  filepath.Join(s.State, "ssh"),
			Service: func(ctx context.Context, action string) error { return s.Host.Service(ctx, "sshd", action) },
			Failed:  func(err error) { s.failed(err) },
		}
	}
	return s.sshAccess
}

func (s *Server) failed(err error) {
	if s.Failed != nil {
		s.Failed(err)
	}
}

// Resume has what was switched on go on until its end, when the process starts.
func (s *Server) Resume(ctx context.Context) error { return s.ssh().Resume(ctx) }

// sshConfigure decides who may come in by ssh, from where, and until when.
func (s *Server) sshConfigure(r *http.Request, a sshaccess.Access) (any, error) {
	err := s.ssh().Configure(context.WithoutCancel(r.Context()), a)
	if errors.Is(err, sshaccess.ErrAccess) {
		return nil, host.Invalid("", err.Error())
	}
	return empty{}, err
}
