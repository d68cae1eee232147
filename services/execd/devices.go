package execd

// What the arguments of pool verbs name: pools and devices that exist, named as ZFS names them.

import (
	"context"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"time"

	"cistern/services/daemon/problem"
	"cistern/services/execd/host"
	"cistern/services/platform/command"
)

var (
	// Wider than poolName: a pool that was made elsewhere may have any name that ZFS allows.
	anyPool = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_.:-]{0,254}$`)
	// A device's path, or the guid of one that is gone. Nothing that zpool could take for an option.
	anyDevice = regexp.MustCompile(`^(/dev/[A-Za-z0-9_.:+@/-]{1,240}|[0-9]{1,20})$`)
	// A vdev above the disks.
	anyGroup = regexp.MustCompile(`^(mirror|raidz[123]?|spare|indirect)-[0-9]{1,9}$`)
)

func mustBeDevice(path, device string) error {
	if !anyDevice.MatchString(device) || strings.Contains(device, "..") {
		return host.Invalid(path, fmt.Sprintf("'%s' is no device of a pool: those are a path below /dev, or a number when the device is gone.", device))
	}
	return nil
}

// mustExist refuses a pool that is not there.
func mustExist(ctx context.Context, pool string) error {
	if !anyPool.MatchString(pool) || !poolExists(ctx, pool) {
		return problem.New(http.StatusNotFound, "not_found", fmt.Sprintf("There is no pool '%s'.", pool), "")
	}
	return nil
}

// zpool runs zpool with the arguments, and gives a refusal ZFS' own words.
func zpool(ctx context.Context, what string, arguments ...string) error {
	_, err := command.Run(ctx, 2*time.Minute, 64<<10, append([]string{"zpool"}, arguments...)...)
	return host.Refused(err, what)
}
