package illumos

import (
	"context"
	"net/http"

	"cistern/services/daemon/problem"
	"cistern/services/execd/host/network"
)

func ownTools() error {
	return problem.New(http.StatusConflict, "conflict", "The network of this system is not set here.", "Use dladm and ipadm, and route -p, which keep it over a reboot.")
}

// PrepareNetwork implements Host: the system brings up what dladm and ipadm keep.
func (i *Host) PrepareNetwork(network.Document) error { return nil }

// LoadNetwork implements Host.
func (i *Host) LoadNetwork(context.Context, network.Document) error { return ownTools() }

// ReadNetwork implements Host.
func (i *Host) ReadNetwork(context.Context) (network.State, error) {
	return network.State{}, ownTools()
}

// AskGateways implements Host.
func (i *Host) AskGateways(context.Context, network.State) {}
