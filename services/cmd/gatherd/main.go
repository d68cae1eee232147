// Command gatherd collects for supportd what only root may read, by the names of a fixed list, and copies finished bundles to
// plugged-in disks; see services/support/collect and docs/api/gatherd.md.
package main

import (
	"context"
	"flag"
	"os"
	"path/filepath"
	"runtime/debug"
	"time"

	"cistern/services/daemon"
	"cistern/services/support/collect"
)

var version = "development"

func main() {
	var paths collect.Paths
	os.Exit(daemon.Run(daemon.Options{
		Name: "gatherd", Version: version, Socket: "/run/cistern/gatherd/http.sock",
		About: "gatherd collects for supportd what only root may read, by the names of a fixed list. A disk that a bundle is copied to is mounted beside its socket.",
		Flags: func(flags *flag.FlagSet) {
			flags.StringVar(&paths.Run, "run", "/run/cistern", "`folder` of the other parts' sockets")
			flags.StringVar(&paths.State, "state", "/var/lib/cistern", "the appliance's state `folder`")
			flags.StringVar(&paths.Opt, "opt", "/opt/cistern", "`folder` of the appliance's programs")
		},
		Setup: func(_ context.Context, p *daemon.Process) error {
			debug.SetMemoryLimit(32 << 20)
			server := &collect.Server{Steps: collect.OfRoot(collect.Steps(paths)), Crashes: collect.CrashFilesOf(), Disks: collect.OfThisMachine(filepath.Join(filepath.Dir(p.Socket), "disk"))}
			uids, _ := daemon.UIDs("cistern-support") // without that user root and its own may ask
			return p.Listen(daemon.Listener{Socket: p.Socket, Handler: server.Handler(uids)})
		},
		RequestsWithin: 5 * time.Second, StopWithin: 10 * time.Second,
	}))
}
