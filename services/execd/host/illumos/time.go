package illumos

import (
	"context"
	"os"
	"path/filepath"

	"cistern/services/execd/host/chrony"
)

// chronyFile is what OmniOS' chronyd reads; its package keeps what others write there (build/chrony of omnios-build).
const chronyFile = "/etc/inet/chrony.conf"

// settings are those of the file that the package comes with, and a clock that is set where it is wrong by more than a second, as on Debian.
const settings = `driftfile /var/lib/chrony/drift
ntsdumpdir /var/lib/chrony
pidfile /var/run/chrony/chronyd.pid
makestep 1 -1
`

// NetworkTimeServers implements Host: what the network names is not asked for here.
func (i *Host) NetworkTimeServers() []string { return nil }

// LoadTimeServers implements Host. A file that says the same is left alone, and so is chrony.
func (i *Host) LoadTimeServers(ctx context.Context, asked []chrony.Asked) error {
	file := filepath.Join(i.Root, chronyFile)
	text := chrony.Sources(asked) + settings
	if now, err := os.ReadFile(file); err == nil && string(now) == text {
		return nil
	}
	next := file + ".new"
	if err := os.WriteFile(next, []byte(text), 0o644); err != nil {
		return err
	}
	if err := os.Rename(next, file); err != nil {
		return err
	}
	return i.Service(ctx, "chrony", "restart")
}
