package execd

// The systems that this machine can start: on Debian the two slots of the system disk, on OmniOS boot environments. Which
// one starts next time is changed here; the machine is not restarted by it.

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"cistern/services/daemon/problem"
	"cistern/services/execd/host"
)

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
	chosen := func(one host.System) bool { return one.Name == a.Name }
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
	if systems[at].Starts != host.StartsNext {
		if err := s.Host.ActivateSystem(ctx, systems, a.Name); err != nil {
			return nil, err
		}
		if systems, err = s.Host.Systems(ctx); err != nil {
			return nil, err
		}
		if at = slices.IndexFunc(systems, chosen); at < 0 || systems[at].Starts != host.StartsNext {
			return nil, fmt.Errorf("the system %s was chosen without an error, but another one still starts next time", a.Name)
		}
	}
	return map[string]any{"systems": systems}, nil
}
