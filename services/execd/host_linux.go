package execd

import (
	"cistern/services/execd/host"
	"cistern/services/execd/host/linux"
)

// NewHost is the host of the Debian appliance.
func NewHost() (host.Host, error) { return linux.New() }
