// Command supportd makes support bundles; see package supportd and docs/INTERFACES.md.
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
	"strconv"
	"syscall"
	"time"

	"cistern/services/sdnotify"
	"cistern/services/supportd"
	"cistern/services/unixlisten"
)

var version = "development"

func main() {
	socket := flag.String("socket", "/run/cistern/supportd/http.sock", "Unix socket to listen on")
	dir := flag.String("dir", "/var/lib/cistern/support", "where bundles are kept")
	paths := supportd.Paths{}
	flag.StringVar(&paths.Run, "run", "/run/cistern", "directory of the other parts' sockets")
	flag.StringVar(&paths.State, "state", "/var/lib/cistern", "the appliance's state directory")
	flag.StringVar(&paths.Opt, "opt", "/opt/cistern", "where the appliance's programs are")
	flag.Parse()
	if err := run(*socket, *dir, paths); err != nil {
		fmt.Fprintln(os.Stderr, "supportd:", err)
		os.Exit(1)
	}
}

func run(socket, dir string, paths supportd.Paths) error {
	// 2 GiB and ten bundles: a bundle of a busy machine is some ten megabytes; the cap keeps a stuck script that makes
	// one a minute from filling the system pool.
	maker := &supportd.Maker{Dir: dir, Steps: supportd.LinuxSteps(paths), Parallel: 3, Keep: 10, KeepSize: 2 << 30, Version: version}
	if err := maker.Open(); err != nil {
		return err
	}
	uids := []int{0, os.Getuid()}
	if account, err := user.Lookup("cistern"); err == nil {
		if uid, err := strconv.Atoi(account.Uid); err == nil {
			uids = append(uids, uid)
		}
	}
	listener, err := unixlisten.Listen(socket)
	if err != nil {
		return err
	}
	server := &http.Server{Handler: supportd.Handler(maker, uids), ConnContext: unixlisten.ConnContext, ReadHeaderTimeout: 10 * time.Second}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		<-ctx.Done()
		maker.Stop()
		deadline, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		_ = server.Shutdown(deadline)
	}()
	fmt.Fprintf(os.Stderr, "supportd %s listens on %s, keeps bundles in %s\n", version, socket, dir)
	_ = sdnotify.Ready()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	<-ended
	return nil
}
