package host

import (
	"context"

	"cistern/services/execd/host/network"
)

// NetworkHost is what differs between operating systems in how the machine gets its addresses.
type NetworkHost interface {
	// PrepareNetwork has a document hold from the moment at which the system brings its network up: at boot.
	PrepareNetwork(d network.Document) error
	// LoadNetwork has the network be as the document says, as far as it is not; it comes up after this has returned.
	LoadNetwork(ctx context.Context, d network.Document) error
	// ReadNetwork is how the network is, as the kernel has it.
	ReadNetwork(ctx context.Context) (network.State, error)
	// AskGateways has the kernel ask whether the gateways are there: whoever reads the network later knows.
	AskGateways(ctx context.Context, now network.State)
}
