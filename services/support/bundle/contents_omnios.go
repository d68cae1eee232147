package bundle

// What a bundle of the OmniOS appliance will hold (/usr/share/man names each program). The list is checked for its form;
// nothing of it has been run on illumos.

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"time"
)

// faults are what the fault manager has diagnosed. It answers nobody without PRIV_SYS_ADMIN, which supportd has not: so
// execd, which has it, is asked for them with its verb faults.list.
func faults(p Paths) Step {
	return Step{Category: "hardware", Name: "faults.txt", Deadline: time.Minute, Limit: usualLimit, Collect: func(ctx context.Context, limit int64, w io.Writer) error {
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://unix/v1/faults.list", strings.NewReader("{}"))
		if err != nil {
			return err
		}
		request.Header.Set("Content-Type", "application/json")
		var said bytes.Buffer
		err = answer(request, filepath.Join(p.Run, "execd/http.sock"), limit, &said)
		var listed struct{ Text string }
		if parsed := json.Unmarshal(said.Bytes(), &listed); err != nil || parsed != nil {
			_, _ = w.Write(said.Bytes()) // a problem document, or the beginning of a text beyond the limit
			if err == nil {
				err = parsed
			}
			return fmt.Errorf("execd, which asks the fault manager, did not: %w", err)
		}
		_, err = io.WriteString(w, listed.Text)
		return err
	}}
}

// IllumosSteps is what a bundle of the OmniOS appliance holds.
func IllumosSteps(p Paths) []Step {
	state := func(path string) string { return filepath.Join(p.State, path) }
	var steps []Step
	for _, name := range goServices {
		steps = append(steps, ask("stacks", name+".txt", filepath.Join(p.Run, name, "debug.sock"), "/goroutines"),
			ask("stacks", name+"-memory.json", filepath.Join(p.Run, name, "debug.sock"), "/memory"))
	}
	return append(steps,
		// Of those, the system does not let supportd examine execd, tracerd, nginx and snmpd (each has a privilege that it lacks).
		each("stacks", "pstack.txt", long, []string{"pgrep", "-d", " ", "-f", "/opt/cistern/|nginx|snmpd"}, "pstack"),
		each("stacks", "files.txt", long, []string{"pgrep", "-d", " ", "-f", "/opt/cistern/|nginx|snmpd"}, "pfiles"),
		dayOfStatistics(p),
		files("identity", "versions.txt", filepath.Join(p.Opt, "version"), "/etc/release", "/etc/nodename"),
		run("identity", "kernel.txt", short, "uname", "-a"),
		run("identity", "packages.txt", long, "pkg", "list", "-v"),
		run("identity", "package-history.txt", long, "pkg", "history", "-l", "-n", "50"),
		run("identity", "publishers.txt", short, "pkg", "publisher"),
		run("identity", "boot-environments.txt", short, "beadm", "list", "-H"),
		run("hardware", "devices.txt", long, "prtconf", "-v"),
		run("hardware", "smbios.txt", short, "smbios"),
		run("hardware", "disks.txt", long, "diskinfo", "-p"),
		run("hardware", "disk-errors.txt", short, "iostat", "-En"),
		faults(p),
		run("hardware", "fault-log.txt", long, "fmdump", "-V"),
		run("hardware", "error-log.txt", long, "fmdump", "-eV"),
		files("kernel", "messages.txt", "/var/adm/messages", "/var/adm/messages.0"),
		run("kernel", "kstat.txt", long, "kstat", "-p"),
		run("kernel", "modules.txt", short, "modinfo"),
		run("kernel", "memory.txt", long, "mdb", "-ke", "::memstat"),
		run("services", "all.txt", short, "svcs", "-a", "-o", "state,nstate,stime,ctid,fmri"),
		run("services", "explained.txt", short, "svcs", "-xv"),
		run("services", "processes-of.txt", short, "svcs", "-p", "svc:/application/cistern/*"),
		run("services", "configuration.xml", long, "svccfg", "export", "svc:/application/cistern/akd"),
		run("services", "processes.txt", short, "ps", "-eo", "pid,ppid,user,s,stime,time,rss,nlwp,args"),
		run("services", "busiest.txt", short, "prstat", "-mLc", "-n", "40", "1", "1"),
		files("logs", "smf.txt", "/var/svc/log/application-cistern-*.log", "/var/svc/log/network-cistern-*.log", "/var/svc/log/system-cistern-*.log"),
		files("logs", "web-server.txt", "/var/svc/log/network-cistern-nginx:default.log"),
		run("zfs", "pool-status.txt", short, "zpool", "status", "-v"),
		run("zfs", "pools.txt", short, "zpool", "list", "-v"),
		run("zfs", "pool-properties.txt", short, "zpool", "get", "all"),
		run("zfs", "pool-history.txt", short, "zpool", "history", "-il"),
		run("zfs", "datasets.txt", short, "zfs", "list", "-t", "all", "-o", "name,used,avail,refer,compressratio,mounted,mountpoint"),
		run("zfs", "dataset-properties.txt", long, "zfs", "get", "all"),
		run("network", "addresses.txt", short, "ipadm", "show-addr"),
		run("network", "links.txt", short, "dladm", "show-link"),
		run("network", "link-properties.txt", short, "dladm", "show-linkprop"),
		run("network", "routes.txt", short, "netstat", "-rn"),
		run("network", "sockets.txt", short, "netstat", "-an"),
		run("network", "counters.txt", short, "netstat", "-s"),
		run("time", "clock.txt", short, "chronyc", "-n", "tracking"),
		run("storage", "space.txt", short, "df", "-h"),
		ask("storage", "tracerd.json", filepath.Join(p.Run, "tracerd/http.sock"), "/v1/datasets"),
		ask("storage", "statistics.json", filepath.Join(p.Run, "tracerd/http.sock"), "/v1/statistics"),
		ask("storage", "storaged.json", filepath.Join(p.Run, "storaged/http.sock"), "/api/v1/status/storage"),
		configuration("/opt/ooce/node-24/bin/node", filepath.Join(p.Opt, "akd/export-configuration.js"), state("akd"), p.Temporary),
		files("configuration", "files.txt", "/etc/opt/cistern/nginx.conf", "/etc/opt/cistern/cistern-store.conf", "/etc/opt/cistern/cistern-asked.conf", "/etc/opt/cistern/snmpd.conf", state("identity/hostname"), state("identity/timezone"), state("execd/pools")),
		files("configuration", "privileged-actions.txt", state("execd/audit.log")),
		optional(files("crashes", "records.json", state("support/crashes.json"))),
		run("crashes", "core-settings.txt", short, "coreadm"),
		run("crashes", "dump-settings.txt", short, "dumpadm"),
		run("crashes", "cores.txt", short, "ls", "-la", "/var/cores"),
		run("crashes", "kernel-dumps.txt", short, "ls", "-laR", "/var/crash"),
		newest("cores", "newest.core", 256<<20, "/var/cores/core.*"),
	)
}
