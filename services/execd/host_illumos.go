package execd

import (
	"cistern/services/execd/host"
	"cistern/services/execd/host/illumos"
)

// NewHost is the host of the OmniOS appliance.
func NewHost() (host.Host, error) { return &illumos.Host{}, nil }
