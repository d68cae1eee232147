// Command replicd replicates datasets to other machines, and takes in what others replicate to here; see package
// replication and docs/api/replicd.md. It needs no privilege but what `zfs allow` gives its user.
package main

import (
	"context"
	"flag"
	"os"

	"cistern/services/daemon"
	"cistern/services/replication"
)

var version = "development"

func main() {
	var state string
	os.Exit(daemon.Run(daemon.Options{
		Name: "replicd", Version: version, Socket: "/run/cistern/replicd/http.sock",
		About: "replicd replicates datasets to other machines, and takes in what others replicate to here.",
		Flags: func(flags *flag.FlagSet) {
			flags.StringVar(&state, "state", "/var/lib/cistern/replicd", "`folder` of its keys and of the list of senders")
		},
		Setup: func(ctx context.Context, p *daemon.Process) error {
			uids, _ := daemon.UIDs("cistern") // without that user root and its own may ask
			server, err := replication.NewServer(ctx, state, p.Version, uids, p.Log)
			if err != nil {
				return err
			}
			return p.Listen(daemon.Listener{Socket: p.Socket, Handler: server.Handler()})
		},
	}))
}
