package execd

// The systems that this machine can start: on Debian the two slots of the system disk, on OmniOS boot environments. Which
// one starts next time is changed here; the machine is not restarted by it.

import (
	"context"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"cistern/services/daemon/problem"
)

// When a System starts.
const (
	startsNext  = "next"  // next time, and then again
	startsOnce  = "once"  // next time only
	startsLater = "later" // always, but for the next time, which is another one's
	startsNot   = "no"
)

// System is an installed operating system with Cistern in it. A nil pointer is what the system does not say.
type System struct {
	Name      string  `json:"name"`
	Running   bool    `json:"running"`
	Starts    string  `json:"starts"`
	CreatedMs *int64  `json:"createdMs"` // since the epoch
	Bytes     *int64  `json:"bytes"`
	Version   *string `json:"version"` // of Cistern
	// Obstacle says in a sentence why it cannot be chosen; empty when it can.
	Obstacle string `json:"obstacle"`
}

var versionText = regexp.MustCompile(`^[0-9A-Za-z][0-9A-Za-z.+~_-]{0,63}$`)

// versionIn is the version that a file says, nil when it says none.
func versionIn(text []byte) *string {
	if version := strings.TrimSpace(string(text)); versionText.MatchString(version) {
		return &version
	}
	return nil
}

func (s *Server) systemList(r *http.Request, _ struct{}) (any, error) {
	systems, err := s.Host.Systems(r.Context())
	return map[string]any{"systems": systems}, err
}

type systemActivateArgument struct {
	Name string `json:"name"`
}

// systemActivate has the machine start with another system next time, and from then on. What it answers was read back.
func (s *Server) systemActivate(r *http.Request, a systemActivateArgument) (any, error) {
	ctx := context.WithoutCancel(r.Context())
	systems, err := s.Host.Systems(ctx)
	if err != nil {
		return nil, err
	}
	chosen := func(one System) bool { return one.Name == a.Name }
	at := slices.IndexFunc(systems, chosen)
	if at < 0 {
		var names []string
		for _, one := range systems {
			names = append(names, one.Name)
		}
		return nil, problem.New(http.StatusNotFound, "not_found", fmt.Sprintf("There is no system '%s' on this machine.", a.Name), "The systems are "+strings.Join(names, ", ")+".")
	}
	if systems[at].Obstacle != "" {
		return nil, problem.New(http.StatusConflict, "conflict", fmt.Sprintf("The system %s cannot be started: %s", a.Name, systems[at].Obstacle), "Choose another one.")
	}
	if systems[at].Starts != startsNext {
		if err := s.Host.ActivateSystem(ctx, systems, a.Name); err != nil {
			return nil, err
		}
		if systems, err = s.Host.Systems(ctx); err != nil {
			return nil, err
		}
		if at = slices.IndexFunc(systems, chosen); at < 0 || systems[at].Starts != startsNext {
			return nil, fmt.Errorf("the system %s was chosen without an error, but another one still starts next time", a.Name)
		}
	}
	return map[string]any{"systems": systems}, nil
}
