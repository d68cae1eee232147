// Command tracerd measures what the machine does: counters, the web server's log, and DTrace; see package tracer and
// docs/INTERFACES.md.
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
	"cistern/services/trace/tracer"
)

var version = "development"

func main() {
	run := os.Getenv("CISTERN_RUN")
	if run == "" {
		run = "/run/cistern"
	}
	config := tracer.Config{}
	flag.StringVar(&config.Run, "run", filepath.Join(run, "tracerd"), "folder of the sockets and of D programs that run")
	flag.StringVar(&config.State, "dir", "/var/lib/cistern/tracerd", "where it is kept what is recorded")
	flag.StringVar(&config.Storaged, "storaged", filepath.Join(run, "storaged/http.sock"), "storaged's socket")
	flag.StringVar(&config.DTrace, "dtrace", "/usr/sbin/dtrace", "the program that traces; empty: nothing is traced")
	flag.IntVar(&config.UID, "dtrace-uid", -1, "the user id that it runs as; -1: this process'")
	flag.StringVar(&config.ZPool, "zpool", "/usr/sbin/zpool", "the program that tells of pools")
	flag.Float64Var(&config.Budget, "budget", 0.25, "how much of a processor a tracer may take over a minute")
	flag.Parse()
	config.Log = func(format string, args ...any) { fmt.Fprintf(os.Stderr, "tracerd: "+format+"\n", args...) }
	if err := serve(config); err != nil {
		config.Log("%v", err)
		os.Exit(1)
	}
}

func serve(config tracer.Config) error {
	t, err := tracer.New(config)
	if err != nil {
		return err
	}
	uids := []int{0, os.Getuid()}
	if account, err := user.Lookup("cistern"); err == nil {
		if uid, err := strconv.Atoi(account.Uid); err == nil {
			uids = append(uids, uid)
		}
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	// The listener first: it makes the folder, and refuses when another tracerd answers.
	socket := filepath.Join(config.Run, "http.sock")
	listener, err := unixsocket.Listen(socket)
	if err != nil {
		return err
	}
	if err := t.Listen(ctx, filepath.Join(config.Run, "access.sock")); err != nil {
		return err
	}
	server := &http.Server{Handler: t.Handler(uids), ConnContext: unixsocket.ConnContext, ReadHeaderTimeout: 10 * time.Second}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		t.Run(ctx)
		deadline, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		defer cancel()
		_ = server.Shutdown(deadline)
	}()
	diagnostics.Serve(config.Run)
	config.Log("%s listens on %s", version, socket)
	_ = sdnotify.Ready()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	<-ended
	return nil
}
