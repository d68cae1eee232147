package host

import "context"

// TunableHost is what differs between operating systems in how they are tuned.
type TunableHost interface {
	// Memory is how many bytes of it the machine has.
	Memory() (int64, error)
	// LoadTunables has the values hold, and what is not named be as it was when the system started: defaults, by name.
	LoadTunables(ctx context.Context, values, defaults map[string]int64) error
	// ReadTunables is what holds now, by name; what this system does not have, or does not say, is not there.
	ReadTunables(ctx context.Context) (map[string]int64, error)
	// Tunables are the names of those that this system has, and whether it reads them only when it starts.
	Tunables() (names []string, atStart bool)
	// BootID differs after every start of the system.
	BootID() (string, error)
}
