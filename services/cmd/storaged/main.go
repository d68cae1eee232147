// storaged takes metrics in, keeps them, and answers queries. One binary, sensible defaults: `storaged --data DIR`
// works on a laptop.
package main

// Flags are in flags.go, the parts in server.go and inputs.go.

import (
	"context"
	"os"
	"runtime/debug"

	"cistern/services/daemon"
)

// version is set when Cistern is built.
var version = "development"

func main() {
	if len(os.Args) > 1 {
		if command := commands[os.Args[1]]; command != nil {
			os.Exit(command(os.Args[2:], os.Stdout, os.Stderr))
		}
	}
	o, c := options(os.Stdout)
	o.Setup = func(ctx context.Context, p *daemon.Process) error {
		// Small when idle, within bounds when busy: with a small heap the collector is cheap, so it may run early.
		debug.SetMemoryLimit(c.Limits.MemoryMiB << 20)
		// What is read from the journal stays: looking for garbage in it again and again, as it grows, finds none.
		collect(400)
		return setup(ctx, p, c)
	}
	os.Exit(daemon.Run(o))
}
