// Command execd carries out Cistern's privileged actions; see package execd and docs/INTERFACES.md.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"cistern/services/daemon/diagnostics"
	"cistern/services/daemon/sdnotify"
	"cistern/services/daemon/unixsocket"
	"cistern/services/execd"
)

var version = "development"

func main() {
	// zpool prints local times, and says no zone: read as UTC by whoever asked.
	_ = os.Setenv("TZ", "UTC")
	socket := flag.String("socket", "/run/cistern/execd/http.sock", "Unix socket to listen on")
	state := flag.String("state", "/var/lib/cistern", "the appliance's state directory")
	client := flag.String("user", "cistern", "user that may connect, beside root")
	flag.Parse()
	if err := run(*socket, *state, *client); err != nil {
		fmt.Fprintln(os.Stderr, "execd:", err)
		os.Exit(1)
	}
}

func run(socket, state, client string) error {
	account, err := user.Lookup(client)
	if err != nil {
		return err
	}
	uid, err := strconv.Atoi(account.Uid)
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
	listener, err := unixsocket.Listen(socket)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	s := &execd.Server{State: state, Host: host, UIDs: []int{0, uid}, Ending: ctx.Done()}
	server := &http.Server{Handler: s.Handler(), ConnContext: unixsocket.ConnContext, ReadHeaderTimeout: 10 * time.Second}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		<-ctx.Done()
		// A pool that is being made is finished before the process ends.
		deadline, cancel := context.WithTimeout(context.Background(), 25*time.Second)
		defer cancel()
		_ = server.Shutdown(deadline)
	}()
	diagnostics.Serve(filepath.Dir(socket))
	fmt.Fprintf(os.Stderr, "execd %s listens on %s\n", version, socket)
	_ = sdnotify.Ready()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	<-ended
	return nil
}
