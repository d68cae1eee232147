// Command replicd replicates datasets to other machines, and takes in what others replicate to here; see package
// replicate and docs/INTERFACES.md. It needs no privilege but what `zfs allow` gives its user.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
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
	"cistern/services/replication"
)

var version = "development"

func main() {
	socket := flag.String("socket", "/run/cistern/replicd/http.sock", "Unix socket to listen on")
	state := flag.String("state", "/var/lib/cistern/replicd", "where its keys and the list of senders are")
	flag.Parse()
	if err := run(*socket, *state); err != nil {
		fmt.Fprintln(os.Stderr, "replicd:", err)
		os.Exit(1)
	}
}

func run(socket, state string) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	uids := []int{0, os.Getuid()}
	if account, err := user.Lookup("cistern"); err == nil {
		if uid, err := strconv.Atoi(account.Uid); err == nil {
			uids = append(uids, uid)
		}
	}
	server, err := replication.NewServer(ctx, state, version, uids, slog.New(slog.NewTextHandler(os.Stderr, nil)))
	if err != nil {
		return err
	}
	listener, err := unixsocket.Listen(socket)
	if err != nil {
		return err
	}
	web := &http.Server{Handler: server.Handler(), ConnContext: unixsocket.ConnContext, ReadHeaderTimeout: 10 * time.Second}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		<-ctx.Done()
		deadline, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		_ = web.Shutdown(deadline)
	}()
	diagnostics.Serve(filepath.Dir(socket))
	fmt.Fprintf(os.Stderr, "replicd %s listens on %s\n", version, socket)
	_ = sdnotify.Ready()
	if err := web.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	<-ended
	return nil
}
