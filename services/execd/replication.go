package execd

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"cistern/services/execd/host"
	"cistern/services/platform/zfsname"
)

// replicator is the user that replicd runs as. It is not root: ZFS lets it do what is allowed to it on a dataset and
// what lies below, and nothing else.
const replicator = "cistern-replicate"

type replicationAllowArgument struct {
	Dataset string `json:"dataset"`
	Send    bool   `json:"send"`
	Receive bool   `json:"receive"`
}

func (a replicationAllowArgument) pool() string { return poolOf(a.Dataset) }

// replicationAllow says what replicd may do with a dataset and what lies below it: exactly this, whatever it could before.
//
// To receive it makes datasets below, read-only ones. zfs-allow(8) asks for mount with create, though nothing is
// mounted (-u).
func (s *Server) replicationAllow(r *http.Request, a replicationAllowArgument) (any, error) {
	if err := mustBeDataset("/dataset", a.Dataset); err != nil {
		return nil, err
	}
	if a.Receive {
		if err := mustNotBeOurs(a.Dataset); err != nil {
			return nil, err
		}
		if exists, telemetry := telemetryDataset(r.Context()); exists && zfsname.Within(a.Dataset, telemetry) {
			return nil, host.Invalid("/dataset", fmt.Sprintf("Nothing is received below '%s': the telemetry store works in it.", telemetry))
		}
	}
	ctx := context.WithoutCancel(r.Context())
	var may []string
	if a.Send {
		// hold: zfs itself holds the snapshots that it sends one after the other (-I), as long as it does.
		may = append(may, "send", "hold")
	}
	if a.Receive {
		may = append(may, "create", "mount", "receive", "readonly")
	}
	if err := run(ctx, nil, "unallow", "-u", replicator, a.Dataset); err != nil {
		return nil, zfsFailure(err, fmt.Sprintf("What the replication may do with '%s' was not changed", a.Dataset))
	}
	if len(may) > 0 {
		if err := run(ctx, nil, "allow", "-u", replicator, strings.Join(may, ","), a.Dataset); err != nil {
			return nil, zfsFailure(err, fmt.Sprintf("The replication was not allowed to work with '%s'", a.Dataset))
		}
	}
	return map[string]any{}, nil
}
