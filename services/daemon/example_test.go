package daemon_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"

	"cistern/services/daemon"
)

// A new daemon is a page of code. This one is interrupted as soon as it runs.
func ExampleRun() {
	folder, err := os.MkdirTemp("", "example")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(folder)
	os.Args = []string{"exampled", "--log-level", "error"}
	code := daemon.Run(daemon.Options{
		Name: "exampled", Version: "1.0", Socket: filepath.Join(folder, "http.sock"),
		About: "exampled says hello.",
		Setup: func(ctx context.Context, p *daemon.Process) error {
			mux := http.NewServeMux()
			mux.HandleFunc("GET /hello", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "hello") })
			p.Go(func(ctx context.Context) {
				// What runs beside requests, until ctx ends.
				fmt.Println("running")
				interrupt()
				<-ctx.Done()
			})
			p.OnStop(func() error { fmt.Println("stopped"); return nil })
			return p.Listen(daemon.Listener{Socket: p.Socket, Handler: mux})
		},
	})
	fmt.Println("exit code", code)
	// Output:
	// running
	// stopped
	// exit code 0
}

// interrupt is what the service manager does to end a daemon.
func interrupt() {
	if process, err := os.FindProcess(os.Getpid()); err == nil {
		_ = process.Signal(os.Interrupt)
	}
}
