// Command supportd makes support bundles, keeps crash records and reads logs; see package supportd and docs/INTERFACES.md.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"os/user"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"syscall"
	"time"

	"cistern/services/daemon/diagnostics"
	"cistern/services/daemon/sdnotify"
	"cistern/services/daemon/unixsocket"
	"cistern/services/support"
)

var version = "development"

type config struct {
	socket, dir, logs string
	group, webGroup   string
	paths             support.Paths
}

func main() {
	var c config
	flag.StringVar(&c.socket, "socket", "/run/cistern/supportd/http.sock", "Unix socket to listen on; web.sock, access.sock and bundles in memory are beside it")
	flag.StringVar(&c.dir, "dir", "/var/lib/cistern/support", "where bundles are kept")
	flag.StringVar(&c.logs, "logs", "", "a folder of NAME.log files; empty: systemd's journal where there is one")
	flag.StringVar(&c.group, "group", "", "the group that may use the socket; empty: this process' own")
	flag.StringVar(&c.webGroup, "web-group", "", "the group that the web server is in; empty: this process' own")
	flag.StringVar(&c.paths.Run, "run", "/run/cistern", "directory of the other parts' sockets")
	flag.StringVar(&c.paths.State, "state", "/var/lib/cistern", "the appliance's state directory")
	flag.StringVar(&c.paths.Opt, "opt", "/opt/cistern", "where the appliance's programs are")
	flag.Parse()
	// What a bundle takes is bounded by its steps; this keeps the collector's laziness within the 100 MB too.
	debug.SetMemoryLimit(64 << 20)
	if err := run(c); err != nil {
		fmt.Fprintln(os.Stderr, "supportd:", err)
		os.Exit(1)
	}
}

func run(c config) error {
	beside := filepath.Dir(c.socket)
	memory := filepath.Join(beside, "bundles")
	c.paths.Temporary = beside
	steps := support.LinuxSteps(c.paths)
	if runtime.GOOS == "illumos" {
		steps = support.IllumosSteps(c.paths)
	}
	accessLog := &support.AccessLog{Most: 8 << 20}
	steps = append(steps, accessLog.Step())
	// 2 GiB and ten bundles: a bundle of a busy machine is some ten megabytes; the cap keeps a stuck script that makes
	// one a minute from filling the system pool.
	maker := &support.Maker{Dir: c.dir, MemoryDir: memory, Steps: steps, Parallel: 3, Keep: 10, KeepSize: 2 << 30, Version: version}
	listener, err := unixsocket.Listen(c.socket)
	if err != nil {
		return err
	}
	if err := maker.Open(); err != nil {
		fmt.Fprintln(os.Stderr, "supportd: bundles go where there is room:", err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	server := &support.Server{Maker: maker, Crashes: support.OpenCrashes(filepath.Join(c.dir, "crashes.json"), version), Access: accessLog}
	if c.logs != "" {
		server.Logs = support.LogFiles{Dir: c.logs}
	} else if runtime.GOOS == "illumos" {
		server.Logs = support.LogFiles{Dir: "/var/svc/log"}
		go server.Crashes.WatchCores(ctx, "/var/cores", "/usr/bin/pstack")
		go server.Crashes.WatchDumps(ctx, "/var/adm/messages", "/var/crash/vmdump.*", "/var/crash/*/vmdump.*")
	} else if program, err := exec.LookPath("journalctl"); err == nil {
		journal := support.Journal{Program: program}
		server.Logs = journal
		go server.Crashes.Watch(ctx, journal)
		go server.Crashes.NoticeKernel("/var/lib/systemd/pstore/*/*.txt", "/var/lib/systemd/pstore/*.txt", "/sys/fs/pstore/dmesg-*")
	}
	access := filepath.Join(beside, "access.sock")
	_ = os.Remove(access)
	if socket, err := support.ListenAccess(access); err != nil {
		fmt.Fprintln(os.Stderr, "supportd: the web server's log is not taken in:", err)
	} else {
		go server.Access.Listen(ctx, socket)
	}
	web := &support.Web{Server: server, Administrators: filepath.Join(c.paths.State, "akd/administrators.json"), LockFile: filepath.Join(c.dir, "guesses.json")}
	webListener, err := unixsocket.Listen(filepath.Join(beside, "web.sock"))
	if err != nil {
		return err
	}
	for path, group := range map[string]string{c.socket: c.group, access: c.webGroup, filepath.Join(beside, "web.sock"): c.webGroup} {
		if err := share(path, group); err != nil {
			fmt.Fprintln(os.Stderr, "supportd: the group", group, "may not reach", path, "-", err)
		}
	}
	return serve(ctx, c, maker, []serving{{server.Handler(uids()), listener}, {web.Handler(), webListener}})
}

// uids are those that may use the management plane's socket.
func uids() []int {
	allowed := []int{0, os.Getuid()}
	if account, err := user.Lookup("cistern"); err == nil {
		if uid, err := strconv.Atoi(account.Uid); err == nil {
			allowed = append(allowed, uid)
		}
	}
	return allowed
}

// share lets a group use a socket.
func share(path, group string) error {
	if err := os.Chmod(path, unixsocket.Mode); err != nil || group == "" {
		return err
	}
	found, err := user.LookupGroup(group)
	if err != nil {
		return err
	}
	gid, err := strconv.Atoi(found.Gid)
	if err != nil {
		return err
	}
	return os.Chown(path, -1, gid)
}

type serving struct {
	handler  http.Handler
	listener net.Listener
}

func serve(ctx context.Context, c config, maker *support.Maker, all []serving) error {
	failed := make(chan error, len(all))
	var servers []*http.Server
	for _, one := range all {
		// Streams end with the process, not after a bundle that is being followed.
		s := &http.Server{Handler: one.handler, ConnContext: unixsocket.ConnContext, ReadHeaderTimeout: 10 * time.Second, BaseContext: func(net.Listener) context.Context { return ctx }}
		servers = append(servers, s)
		go func() { failed <- s.Serve(one.listener) }()
	}
	diagnostics.Serve(filepath.Dir(c.socket))
	fmt.Fprintf(os.Stderr, "supportd %s listens on %s, keeps bundles in %s\n", version, c.socket, c.dir)
	_ = sdnotify.Ready()
	var err error
	select {
	case <-ctx.Done():
	case err = <-failed:
		if errors.Is(err, http.ErrServerClosed) {
			err = nil
		}
	}
	maker.Stop()
	deadline, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	for _, s := range servers {
		_ = s.Shutdown(deadline)
	}
	return err
}
