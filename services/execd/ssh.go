package execd

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"unicode"

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

// Resume has what was switched on go on until its end, and takes back what was cut off, when the process starts.
func (s *Server) Resume(ctx context.Context) error {
	var broken error
	if err := s.certificates().Recover(ctx); err != nil {
		broken = fmt.Errorf("the certificate of the web page, whose change was cut off: %w", err)
	}
	return errors.Join(broken, s.ssh().Resume(ctx))
}

// sshConfigure decides who may come in by ssh, from where, and until when. It answers by what key clients know this machine again.
func (s *Server) sshConfigure(r *http.Request, a sshaccess.Access) (any, error) {
	err := s.ssh().Configure(context.WithoutCancel(r.Context()), a)
	if errors.Is(err, sshaccess.ErrAccess) {
		return nil, host.Invalid("", err.Error())
	}
	if err != nil {
		return nil, err
	}
	key, err := s.ssh().HostKey()
	return map[string]*sshaccess.PublicKey{"hostKey": key}, err
}

// sentence is what an error says, as a page shows it.
func sentence(err error) string {
	text := []rune(err.Error())
	return string(unicode.ToUpper(text[0])) + string(text[1:]) + "."
}

// sshKey is what somebody pasted: it may be a private key.
type sshKey struct {
	Key secret `json:"key"`
}

// sshCheckKey says what is wrong with a key when it is pasted; of a good one, what it is.
func (s *Server) sshCheckKey(_ *http.Request, a sshKey) (any, error) {
	key, err := sshaccess.ParseKey(string(a.Key))
	if err != nil {
		return nil, host.Invalid("/key", sentence(err))
	}
	return key, nil
}
