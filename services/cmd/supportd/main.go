// Command supportd makes support bundles, keeps crash records and reads logs; see package support and docs/api/supportd.md.
package main

import (
	"context"
	"flag"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"time"

	"cistern/services/daemon"
	"cistern/services/support"
)

var version = "development"

// settings are supportd's own flags.
type settings struct {
	dir, logs       string
	group, webGroup string
	paths           support.Paths
}

func main() {
	var c settings
	os.Exit(daemon.Run(daemon.Options{
		Name: "supportd", Version: version, Socket: "/run/cistern/supportd/http.sock",
		About: "supportd makes support bundles, keeps crash records and reads logs. web.sock, access.sock and bundles in memory are beside its socket.",
		Flags: func(flags *flag.FlagSet) {
			flags.StringVar(&c.dir, "dir", "/var/lib/cistern/support", "`folder` in which bundles are kept")
			flags.StringVar(&c.logs, "logs", "", "a `folder` of NAME.log files; empty: the operating system's")
			flags.StringVar(&c.group, "group", "", "the `group` that may use the socket; empty: this process' own")
			flags.StringVar(&c.webGroup, "web-group", "", "the `group` that the web server is in; empty: this process' own")
			flags.StringVar(&c.paths.Run, "run", "/run/cistern", "`folder` of the other parts' sockets")
			flags.StringVar(&c.paths.State, "state", "/var/lib/cistern", "the appliance's state `folder`")
			flags.StringVar(&c.paths.Opt, "opt", "/opt/cistern", "`folder` of the appliance's programs")
		},
		Setup:          func(ctx context.Context, p *daemon.Process) error { return setup(ctx, p, c) },
		RequestsWithin: 10 * time.Second, StopWithin: 20 * time.Second,
	}))
}

func setup(ctx context.Context, p *daemon.Process, c settings) error {
	// What a bundle takes is bounded by its steps; this keeps the collector's laziness within the 100 MB too.
	debug.SetMemoryLimit(64 << 20)
	beside := filepath.Dir(p.Socket)
	c.paths.Temporary = beside
	steps := support.LinuxSteps(c.paths)
	if runtime.GOOS == "illumos" {
		steps = support.IllumosSteps(c.paths)
	}
	accessLog := &support.AccessLog{MaxBytes: 8 << 20}
	steps = append(steps, accessLog.Step())
	// 2 GiB and ten bundles: a bundle of a busy machine is some ten megabytes; the cap keeps a stuck script that makes
	// one a minute from filling the system pool.
	maker := &support.Maker{Dir: c.dir, MemoryDir: filepath.Join(beside, "bundles"), Steps: steps, Parallel: 3, Keep: 10, KeepSize: 2 << 30, Version: p.Version}
	server := &support.Server{Maker: maker, Crashes: support.OpenCrashes(filepath.Join(c.dir, "crashes.json"), p.Version), Access: accessLog}
	uids, _ := daemon.UIDs("cistern") // without that user root and its own may ask
	// Streams end with the process, not after a bundle that is being followed.
	adjust := func(s *http.Server) { s.BaseContext = func(net.Listener) context.Context { return ctx } }
	if err := p.Listen(daemon.Listener{Socket: p.Socket, Group: c.group, Handler: server.Handler(uids), Adjust: adjust}); err != nil {
		return err
	}
	if err := maker.Open(); err != nil {
		p.Log.Warn("bundles go where there is room", "error", err)
	}
	watch(ctx, server, c.logs)
	if err := listenAccess(ctx, p, server, filepath.Join(beside, "access.sock"), c.webGroup); err != nil {
		p.Log.Warn("the web server's log is not taken in", "error", err)
	}
	web := &support.Web{Server: server, Administrators: filepath.Join(c.paths.State, "akd/administrators.json"), LockFile: filepath.Join(c.dir, "guesses.json")}
	err := p.Listen(daemon.Listener{Socket: filepath.Join(beside, "web.sock"), Group: c.webGroup, Handler: web.Handler(), Adjust: adjust})
	// Bundles that are being made end when the stop begins: requests may wait for them.
	context.AfterFunc(ctx, maker.Stop)
	p.OnStop(func() error { maker.Stop(); return nil })
	p.Describe("bundles", c.dir)
	return err
}

// watch reads logs and notices crashes where this system keeps them.
func watch(ctx context.Context, server *support.Server, logs string) {
	if logs != "" {
		server.Logs = support.LogFiles{Dir: logs}
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
}

// listenAccess takes the web server's log in.
func listenAccess(ctx context.Context, p *daemon.Process, server *support.Server, path, group string) error {
	_ = os.Remove(path)
	socket, err := support.ListenAccess(path)
	if err != nil {
		return err
	}
	go server.Access.Listen(ctx, socket)
	if err := daemon.Share(path, group); err != nil {
		p.Log.Warn("the group may not use the socket", "group", group, "path", path, "error", err)
	}
	return nil
}
