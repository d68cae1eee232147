package supportd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"time"

	"cistern/services/command"
)

// Step is one thing that a bundle collects. Collect writes at most limit bytes' worth to w; what it wrote before an
// error is kept.
type Step struct {
	Name     string // the file's path in the bundle, without the category
	Category string
	Deadline time.Duration
	Limit    int64
	Collect  func(ctx context.Context, limit int64, w io.Writer) error
}

// errCut says that there was more than the step's limit.
var errCut = errors.New("longer than the limit of this step; the beginning was kept")

// run is a step that keeps what a command prints, and what it says on standard error at the end.
func run(category, name string, deadline time.Duration, argv ...string) Step {
	return Step{Name: name, Category: category, Deadline: deadline, Limit: 8 << 20, Collect: func(ctx context.Context, limit int64, w io.Writer) error {
		path, err := exec.LookPath(argv[0])
		if err != nil {
			return fmt.Errorf("'%s' is not on this machine", argv[0])
		}
		cut, stderr, err := command.Stream(ctx, deadline, limit, w, append([]string{path}, argv[1:]...)...)
		if len(stderr) > 0 {
			fmt.Fprintf(w, "\n--- standard error ---\n%s", stderr)
		}
		if err == nil && cut {
			err = errCut
		}
		return err
	}}
}

// files is a step that keeps the files that match, the newest bytes of each when it is too long.
func files(category, name string, patterns ...string) Step {
	return Step{Name: name, Category: category, Deadline: 20 * time.Second, Limit: 8 << 20, Collect: func(ctx context.Context, limit int64, w io.Writer) error {
		var paths []string
		for _, p := range patterns {
			found, err := filepath.Glob(p)
			if err != nil {
				return err
			}
			paths = append(paths, found...)
		}
		sort.Strings(paths)
		if len(paths) == 0 {
			return fmt.Errorf("there is no %s", patterns[0])
		}
		var failed error
		for _, path := range paths {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if len(paths) > 1 {
				fmt.Fprintf(w, "==> %s <==\n", path)
			}
			failed = errors.Join(failed, tail(w, path, limit/int64(len(paths))))
			fmt.Fprintln(w)
		}
		return failed
	}}
}

// tail copies the last limit bytes of a file, from the beginning of a line. Files of /proc say a size of 0; they are
// read from the beginning.
func tail(w io.Writer, path string, limit int64) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || info.IsDir() {
		return err
	}
	if skip := info.Size() - limit; skip > 0 {
		if _, err := f.Seek(skip, io.SeekStart); err != nil {
			return err
		}
		fmt.Fprintf(w, "[the first %d bytes were left out]\n", skip)
	}
	_, err = io.Copy(w, io.LimitReader(f, limit))
	return err
}

// ask is a step that keeps the answer of one of our daemons on its Unix socket.
func ask(category, name, socket, path string) Step {
	return Step{Name: name, Category: category, Deadline: 10 * time.Second, Limit: 8 << 20, Collect: func(ctx context.Context, limit int64, w io.Writer) error {
		client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, "unix", socket)
		}}}
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://unix"+path, nil)
		if err != nil {
			return err
		}
		response, err := client.Do(request)
		if err != nil {
			return err
		}
		defer response.Body.Close()
		_, err = io.Copy(w, io.LimitReader(response.Body, limit))
		if response.StatusCode != http.StatusOK {
			err = errors.Join(err, fmt.Errorf("it answered %s", response.Status))
		}
		return err
	}}
}

// configuration is akd's configuration as JSON, exported by akd's own program from a *copy* of its database, so that it
// works when akd is dead and cannot disturb it when it is not. Without the just-in-time compiler: supportd's sandbox
// allows no memory that is written and then run.
func configuration(node, akd, state string) Step {
	return Step{Name: "akd.json", Category: "configuration", Deadline: 60 * time.Second, Limit: 32 << 20, Collect: func(ctx context.Context, limit int64, w io.Writer) error {
		dir, err := os.MkdirTemp("", "akd-state-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		databases, err := filepath.Glob(filepath.Join(state, "state.db*"))
		if err != nil || len(databases) == 0 {
			return fmt.Errorf("there is no database in %s", state)
		}
		for _, path := range databases {
			content, err := os.ReadFile(path)
			if err == nil {
				err = os.WriteFile(filepath.Join(dir, filepath.Base(path)), content, 0o600)
			}
			if err != nil {
				return err
			}
		}
		cut, _, err := command.Stream(ctx, time.Minute, limit, w, node, "--jitless", akd, "export-configuration", dir)
		if err == nil && cut {
			err = errCut
		}
		return err
	}}
}

// Paths says where the things that steps look at are; the defaults are the appliance's.
type Paths struct {
	Run   string // sockets, /run/cistern
	State string // /var/lib/cistern
	Opt   string // /opt/cistern
}

// LinuxSteps is what a bundle of the Debian appliance holds.
func LinuxSteps(p Paths) []Step {
	const short, long = 20 * time.Second, 60 * time.Second
	steps := []Step{
		files("identity", "versions.txt", filepath.Join(p.Opt, "version"), "/etc/os-release", "/proc/version", "/proc/cmdline", "/proc/uptime", "/etc/hostname", "/etc/machine-id"),
		run("identity", "packages.txt", long, "dpkg-query", "-W"),
		files("hardware", "dmi.txt", "/sys/class/dmi/id/sys_vendor", "/sys/class/dmi/id/product_*", "/sys/class/dmi/id/board_*", "/sys/class/dmi/id/bios_*"),
		files("hardware", "processor-and-memory.txt", "/proc/cpuinfo", "/proc/meminfo", "/proc/interrupts"),
		run("hardware", "disks.json", short, "lsblk", "-J", "-b", "-O"),
		run("hardware", "pci.txt", short, "lspci", "-nn"),
		run("hardware", "smart-devices.json", short, "smartctl", "--scan-open", "--json"),
		run("kernel", "messages.txt", short, "dmesg", "--time-format", "iso"),
		files("kernel", "modules-and-mounts.txt", "/proc/modules", "/proc/1/mounts", "/proc/loadavg", "/proc/pressure/*", "/proc/vmstat"),
		run("kernel", "sysctl.txt", short, "sysctl", "-a"),
		run("services", "units.txt", short, "systemctl", "list-units", "--all", "--no-pager", "--full"),
		run("services", "failed.txt", short, "systemctl", "list-units", "--failed", "--no-pager", "--full"),
		// Not "blame": it asks for each of some four hundred units by itself; their times are in this boot's log.
		run("services", "boot-times.txt", short, "systemd-analyze", "time"),
		run("services", "processes.txt", short, "ps", "axwwo", "pid,ppid,user,stat,lstart,time,rss,nlwp,wchan:20,args"),
		run("logs", "this-boot.txt", long, "journalctl", "-b", "-n", "20000", "--no-pager", "-o", "short-iso-precise"),
		run("logs", "warnings.txt", long, "journalctl", "-p", "warning", "-n", "5000", "--no-pager", "-o", "short-iso-precise"),
		run("logs", "boots.txt", short, "journalctl", "--list-boots", "--no-pager"),
		run("zfs", "pool-status.txt", short, "zpool", "status", "-v", "-P", "-t", "-s"),
		run("zfs", "pool-status.json", short, "zpool", "status", "-j", "--json-int"),
		run("zfs", "pools.txt", short, "zpool", "list", "-v", "-P"),
		run("zfs", "pool-properties.txt", short, "zpool", "get", "all"),
		run("zfs", "pool-history.txt", short, "zpool", "history", "-il"),
		run("zfs", "pool-events.txt", short, "zpool", "events", "-v"),
		run("zfs", "pool-latency.txt", short, "zpool", "iostat", "-w"),
		run("zfs", "datasets.txt", short, "zfs", "list", "-t", "all", "-o", "name,used,avail,refer,compressratio,mounted,mountpoint"),
		run("zfs", "dataset-properties.txt", long, "zfs", "get", "all", "-t", "filesystem,volume"),
		files("zfs", "kstats.txt", "/proc/spl/kstat/zfs/arcstats", "/proc/spl/kstat/zfs/zil", "/proc/spl/kstat/zfs/*/txgs", "/proc/spl/kstat/zfs/*/state", "/proc/spl/kstat/zfs/dbgmsg"),
		run("network", "addresses.txt", short, "ip", "-s", "address"),
		run("network", "routes.txt", short, "ip", "route", "show", "table", "all"),
		run("network", "sockets.txt", short, "ss", "-tuanp"),
		run("network", "links.txt", short, "networkctl", "status", "--all", "--no-pager"),
		run("network", "names.txt", short, "resolvectl", "status", "--no-pager"),
		run("time", "clock.txt", short, "timedatectl", "timesync-status", "--no-pager"),
		run("storage", "space.txt", short, "df", "-hT"),
		ask("storage", "tracerd.json", filepath.Join(p.Run, "tracerd/http.sock"), "/v1/datasets"),
		ask("storage", "storaged.json", filepath.Join(p.Run, "storaged/http.sock"), "/api/v1/status/storage"),
		configuration(filepath.Join(p.Opt, "bin/node"), filepath.Join(p.Opt, "akd/akd.js"), filepath.Join(p.State, "akd")),
		files("configuration", "files.txt", "/etc/nginx/cistern.conf", "/etc/snmp/cistern-snmpd.conf", filepath.Join(p.State, "identity/hostname"), filepath.Join(p.State, "identity/timezone"), filepath.Join(p.State, "execd/pools")),
		files("configuration", "privileged-actions.txt", filepath.Join(p.State, "execd/audit.log")),
	}
	for _, service := range []string{"cistern-storaged", "cistern-tracerd", "cistern-execd", "cistern-akd", "cistern-replicd", "cistern-supportd", "cistern-pools", "cistern-identity", "cistern-system-pool", "nginx", "snmpd", "zfs-zed"} {
		steps = append(steps,
			run("services", service+".txt", short, "systemctl", "show", service+".service", "--no-pager"),
			run("logs", service+".txt", 20*time.Second, "journalctl", "-u", service+".service", "-n", "5000", "--no-pager", "-o", "short-iso-precise"))
	}
	return steps
}
