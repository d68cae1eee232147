// Command supportd makes support bundles, keeps crash records and reads logs; see services/support and docs/api/supportd.md. It has
// no privilege: what only root may read it has of gatherd.
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
	"cistern/services/support/bundle"
	"cistern/services/support/collect"
	"cistern/services/support/crash"
	"cistern/services/support/logs"
	"cistern/services/support/web"
)

var version = "development"

// settings are supportd's own flags.
type settings struct {
	dir, logs       string
	group, webGroup string
	paths           collect.Paths
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
	accessLog := &logs.AccessLog{MaxBytes: 8 << 20}
	steps := append(collect.Steps(c.paths), collect.WebRequests(accessLog.WriteJSON))
	gatherd := &collect.Client{Socket: filepath.Join(c.paths.Run, "gatherd/http.sock")}
	// 2 GiB and ten bundles: a bundle of a busy machine is some ten megabytes; the cap keeps a stuck script that makes
	// one a minute from filling the system pool.
	maker := &bundle.Maker{Dir: c.dir, MemoryDir: filepath.Join(beside, "bundles"), Steps: steps, Gatherd: gatherd, Parallel: 3, Keep: 10, KeepSize: 2 << 30, Version: p.Version}
	api := &web.API{Maker: maker, Crashes: crash.Open(filepath.Join(c.dir, "crashes.json"), p.Version), Access: accessLog, Record: &web.Record{Path: filepath.Join(c.dir, "record.json")}}
	watch(ctx, api, gatherd, c)
	uids, _ := daemon.UIDs("cistern") // without that user root and its own may ask
	// Streams end with the process, not after a bundle that is being followed.
	adjust := func(s *http.Server) { s.BaseContext = func(net.Listener) context.Context { return ctx } }
	if err := p.Listen(daemon.Listener{Socket: p.Socket, Group: c.group, Handler: api.Handler(uids), Adjust: adjust}); err != nil {
		return err
	}
	if err := maker.Open(); err != nil {
		p.Log.Warn("bundles go where there is room", "error", err)
	}
	if err := listenAccess(ctx, p, api, filepath.Join(beside, "access.sock"), c.webGroup); err != nil {
		p.Log.Warn("the web server's log is not taken in", "error", err)
	}
	page := &web.Page{
		API: api, Administrators: filepath.Join(c.paths.State, "akd/administrators.json"), LockFile: filepath.Join(c.dir, "guesses.json"),
		KeyFile: filepath.Join(c.paths.State, "akd/secrets.key"), UsedFile: filepath.Join(c.dir, "used-factors.json"), Group: c.group}
	err := p.Listen(daemon.Listener{Socket: filepath.Join(beside, "web.sock"), Group: c.webGroup, Handler: page.Handler(), Adjust: adjust})
	// Bundles that are being made end when the stop begins: requests may wait for them.
	context.AfterFunc(ctx, maker.Stop)
	p.OnStop(func() error { maker.Stop(); return nil })
	p.Describe("bundles", c.dir)
	return err
}

// watch reads logs and notices crashes where this system keeps them.
func watch(ctx context.Context, api *web.API, gatherd *collect.Client, c settings) {
	if c.logs != "" {
		api.Logs = logs.Files{Dir: c.logs}
	} else if runtime.GOOS == "illumos" {
		api.Logs = logs.Files{Dir: "/var/svc/log"}
		go api.Crashes.WatchCores(ctx, gatherd, c.dir, "/usr/bin/pstack")
		go api.Crashes.WatchDumps(ctx, gatherd, "/var/adm/messages")
	} else if program, err := exec.LookPath("journalctl"); err == nil {
		journal := logs.Journal{Program: program}
		api.Logs, api.Journal = journal, &journal
		go api.Crashes.Watch(ctx, journal)
		go api.Crashes.NoticeKernel(ctx, gatherd)
	}
}

// listenAccess takes the web server's log in.
func listenAccess(ctx context.Context, p *daemon.Process, api *web.API, path, group string) error {
	_ = os.Remove(path)
	socket, err := logs.ListenAccess(path)
	if err != nil {
		return err
	}
	go api.Access.Listen(ctx, socket)
	if err := daemon.Share(path, group); err != nil {
		p.Log.Warn("the group may not use the socket", "group", group, "path", path, "error", err)
	}
	return nil
}
