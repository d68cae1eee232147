// Command tracerd measures what the machine does: counters, the web server's log, and DTrace; see package tracer and
// docs/api/tracerd.md.
package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"cistern/services/daemon"
	"cistern/services/trace/statistics"
	"cistern/services/trace/tracer"
)

var version = "development"

func main() {
	if tracer.IsLauncher(os.Args) {
		if err := tracer.RunLauncher(os.Args); err != nil {
			fmt.Fprintf(os.Stderr, "tracerd: %v\n", err)
			os.Exit(1)
		}
		return
	}
	if len(os.Args) == 3 && os.Args[1] == "--print-programs" {
		os.Exit(printPrograms(os.Args[2]))
	}
	run := cmp.Or(os.Getenv("CISTERN_RUN"), "/run/cistern")
	c := tracer.Config{}
	uid := -1
	os.Exit(daemon.Run(daemon.Options{
		Name: "tracerd", Version: version,
		About: "tracerd measures what the machine does: counters, the web server's log, and DTrace. Its socket is http.sock in the folder of --run.",
		Flags: func(flags *flag.FlagSet) {
			flags.StringVar(&c.Run, "run", filepath.Join(run, "tracerd"), "`folder` of the sockets and of D programs that run")
			flags.StringVar(&c.State, "dir", "/var/lib/cistern/tracerd", "`folder` in which it is kept what is recorded")
			flags.StringVar(&c.Storaged, "storaged", filepath.Join(run, "storaged/http.sock"), "storaged's `socket`")
			flags.StringVar(&c.DTrace, "dtrace", "/usr/sbin/dtrace", "the `program` that traces; empty: nothing is traced")
			flags.IntVar(&uid, "dtrace-uid", -1, "the `user id` that it runs as, started by a second process that alone keeps capabilities (Linux); -1: this process'")
			flags.StringVar(&c.ZPool, "zpool", "/usr/sbin/zpool", "the `program` that tells of pools")
			flags.Float64Var(&c.Budget, "budget", 0.25, "how much of a processor a tracer may take over a minute")
		},
		Setup: func(ctx context.Context, p *daemon.Process) error {
			p.Socket = cmp.Or(p.Socket, filepath.Join(c.Run, "http.sock"))
			c.Log = p.Log
			return setup(ctx, p, c, uid)
		},
		// What was measured is sent to storaged before the end: 8 s at most.
		RequestsWithin: 2 * time.Second, StopWithin: 12 * time.Second,
	}))
}

// printPrograms writes the D programs of this system into a folder: the self-test has dtrace compile each.
func printPrograms(folder string) int {
	system := statistics.Linux
	if runtime.GOOS == "illumos" {
		system = statistics.Illumos
	}
	n, err := statistics.Print(system, folder)
	if err != nil {
		fmt.Fprintf(os.Stderr, "tracerd: the programs could not be written to %s: %v\n", folder, err)
		return 1
	}
	fmt.Printf("%d programs\n", n)
	return 0
}

func setup(ctx context.Context, p *daemon.Process, c tracer.Config, uid int) error {
	if uid >= 0 {
		var err error
		if c.Launcher, err = tracer.StartLauncher(c.DTrace, uid, p.Log); err != nil {
			return err
		}
		p.OnStop(func() error {
			c.Launcher.Close()
			return nil
		})
		go func() {
			<-c.Launcher.Lost
			if ctx.Err() == nil {
				p.Log.Error("the process that starts dtrace has ended; starting anew")
				os.Exit(1)
			}
		}()
	}
	t, err := tracer.New(c)
	if err != nil {
		return err
	}
	uids, _ := daemon.UIDs("cistern") // without that user root and its own may ask
	// The listener first: it makes the folder, and refuses when another tracerd answers.
	if err := p.Listen(daemon.Listener{Socket: p.Socket, Handler: t.Handler(uids)}); err != nil {
		return err
	}
	if err := t.Listen(ctx, filepath.Join(c.Run, "access.sock")); err != nil {
		return err
	}
	p.Go(t.Run)
	return nil
}
