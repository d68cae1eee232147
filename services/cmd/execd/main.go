// Command execd carries out Cistern's privileged actions; see package execd and docs/api/execd.md.
package main

import (
	"context"
	"flag"
	"log/slog"
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
	if len(os.Args) > 1 && os.Args[1] == "--load-firewall" {
		os.Exit(loadFirewall(os.Args[2:]))
	}
	if len(os.Args) > 1 && os.Args[1] == "--prepare-network" {
		os.Exit(prepareNetwork(os.Args[2:]))
	}
	if len(os.Args) > 1 && os.Args[1] == "--check-network" {
		os.Exit(checkNetwork(os.Stdin, os.Stdout))
	}
	if len(os.Args) > 1 && os.Args[1] == "--certificate" {
		os.Exit(certificateVerb(os.Args[2:]))
	}
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
	wall := execd.NewFirewall(host, state, execd.OwnNetworks, p.Log)
	// Also when they were loaded at boot: a change that was being tried when execd ended is taken back here.
	if err := wall.Load(ctx); err != nil {
		p.Log.Error("the firewall's rules cannot be loaded; it is tried again", "error", err)
	}
	p.Go(wall.Watch)
	net := execd.NewNetwork(host, state, p.Log)
	if err := net.Load(ctx); err != nil {
		p.Log.Error("the network cannot be set; it is tried again", "error", err)
	}
	p.Go(net.Watch)
	tuned := execd.NewTunables(host, state, p.Log)
	p.Go(tuned.Watch)
	clock := execd.NewTime(host, state, p.Log)
	p.Go(clock.Watch)
	s := &execd.Server{State: state, Host: host, Firewall: wall, Network: net, Tunables: tuned, Time: clock, UIDs: uids, Ending: ctx.Done(), Failed: func(err error) { p.Log.Error("what goes on by itself did not succeed", "error", err) }}
	// Not before it is ready: to start a service may take as long as the network.
	go func() {
		if err := s.Resume(ctx); err != nil {
			p.Log.Error("not everything could be left as it was", "error", err)
		}
	}()
	return p.Listen(daemon.Listener{Socket: p.Socket, Handler: s.Handler()})
}

// loadFirewall has the rules hold that are kept, and ends: at boot, before anything of Cistern listens, and before
// anybody could ask execd.
func loadFirewall(arguments []string) int {
	flags := flag.NewFlagSet("execd --load-firewall", flag.ExitOnError)
	state := flags.String("state", "/var/lib/cistern", "the appliance's state `folder`")
	_ = flags.Parse(arguments) // it ends the process when it fails
	logger := slog.New(slog.NewTextHandler(os.Stderr, nil))
	host, err := execd.NewHost()
	if err == nil {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		err = execd.NewFirewall(host, *state, execd.OwnNetworks, logger).Load(ctx)
	}
	if err != nil {
		logger.Error("the firewall's rules cannot be loaded; execd tries again", "error", err)
		return 1
	}
	return 0
}

// prepareNetwork has the document that is kept hold when the system brings its network up, and ends: at boot.
func prepareNetwork(arguments []string) int {
	flags := flag.NewFlagSet("execd --prepare-network", flag.ExitOnError)
	state := flags.String("state", "/var/lib/cistern", "the appliance's state `folder`")
	_ = flags.Parse(arguments) // it ends the process when it fails
	logger := slog.New(slog.NewTextHandler(os.Stderr, nil))
	host, err := execd.NewHost()
	if err == nil {
		err = execd.NewNetwork(host, *state, logger).Prepare()
	}
	if err != nil {
		logger.Error("the network cannot be prepared; every port asks for its addresses", "error", err)
		return 1
	}
	return 0
}
