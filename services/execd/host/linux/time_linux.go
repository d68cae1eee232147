package linux

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"time"

	"cistern/services/execd/host/chrony"
	"cistern/services/platform/command"
)

// Where the system has what is about the time; folders of their own for the tests.
type timePlaces struct {
	// sources is the folder that chrony's sourcedir names.
	sources string
	// network is systemd-networkd's state, as sd_network_get_ntp reads it.
	network string
}

var times = timePlaces{sources: "/run/cistern-time", network: "/run/systemd/netif/state"}

// NetworkTimeServers implements Host.
func (l *Host) NetworkTimeServers() []string {
	text, err := os.ReadFile(times.network)
	if err != nil {
		return nil // there is no network yet
	}
	return chrony.OfNetwork(string(text))
}

// LoadTimeServers implements Host: chrony reads its sources again without a restart, so that it loses nothing of what it knows of the others.
func (l *Host) LoadTimeServers(ctx context.Context, asked []chrony.Asked) error {
	file := filepath.Join(times.sources, "cistern.sources")
	next := filepath.Join(times.sources, "next") // chrony reads what ends with .sources only
	if err := errors.Join(os.WriteFile(next, []byte(chrony.Sources(asked)), 0o644), os.Chmod(next, 0o644)); err != nil {
		return err
	}
	if err := os.Rename(next, file); err != nil {
		return err
	}
	said, err := command.Run(ctx, 10*time.Second, 4<<10, "chronyc", "reload", "sources")
	if err != nil && strings.HasPrefix(string(said.Stdout), chrony.NobodyAnswers) {
		return nil // it reads the file when it starts
	}
	return err
}
