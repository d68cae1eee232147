// Command execd carries out Cistern's privileged actions; see package execd and docs/api/execd.md.
package main

import (
	"context"
	"flag"
	"os"
	"path/filepath"
	"time"

	"cistern/services/daemon"
	"cistern/services/execd"
)

var version = "development"

func main() {
	// zpool prints local times, and says no zone: read as UTC by whoever asked.
	_ = os.Setenv("TZ", "UTC")
	var state, client string
	os.Exit(daemon.Run(daemon.Options{
		Name: "execd", Version: version, Socket: "/run/cistern/execd/http.sock",
		About: "execd carries out Cistern's privileged actions for the management plane.",
		Flags: func(flags *flag.FlagSet) {
			flags.StringVar(&state, "state", "/var/lib/cistern", "the appliance's state `folder`")
			flags.StringVar(&client, "user", "cistern", "`user` that may connect, beside root")
		},
		Setup: func(ctx context.Context, p *daemon.Process) error { return setup(ctx, p, state, client) },
		// A pool that is being made is finished before the process ends.
		RequestsWithin: 25 * time.Second, StopWithin: 26 * time.Second,
	}))
}

func setup(ctx context.Context, p *daemon.Process, state, client string) error {
	uids, err := daemon.UIDs(client)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(state, "execd"), 0o750); err != nil {
		return err
	}
	host, err := execd.NewHost()
	if err != nil {
		return err
	}
	s := &execd.Server{State: state, Host: host, UIDs: uids, Ending: ctx.Done()}
	return p.Listen(daemon.Listener{Socket: p.Socket, Handler: s.Handler()})
}
