package host

import (
	"context"
	"slices"
	"strings"
	"time"

	"cistern/services/platform/command"
)

// SystemLeaves are the devices of the system pool, as ZFS names them; the guid of one that is gone.
func SystemLeaves(ctx context.Context) ([]string, error) { return PoolLeaves(ctx, SystemPool) }

// PoolLeaves are those of a pool of one disk or one mirror.
func PoolLeaves(ctx context.Context, pool string) ([]string, error) {
	listing, err := command.Run(ctx, 20*time.Second, 64<<10, "zpool", "list", "-v", "-H", "-P", "-o", "name", pool)
	if err != nil {
		return nil, err
	}
	var leaves []string
	for line := range strings.Lines(string(listing.Stdout)) {
		// A vdev is indented by a tab; a side of a mirror by two on Linux, by one on illumos, where a mirror has no number. Log, cache
		// and spares cannot be added here.
		name, _, _ := strings.Cut(strings.TrimSpace(line), "\t")
		group, _, _ := strings.Cut(name, "-")
		if !strings.HasPrefix(line, "\t") || name == "" || slices.Contains([]string{"mirror", "replacing", "spare"}, group) {
			continue
		}
		leaves = append(leaves, name)
	}
	return leaves, nil
}
