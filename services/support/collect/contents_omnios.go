package collect

// What a bundle of the OmniOS appliance holds (/usr/share/man names each program). The list is checked for its form;
// nothing of it has been run on illumos. What gatherd takes is in root_omnios.go.

import "path/filepath"

// IllumosSteps is what a bundle of the OmniOS appliance holds.
func IllumosSteps(p Paths) []Step { return append(byRoot(illumosRoot(p)), illumosOwn(p)...) }

// illumosOwn is what supportd may read itself: SMF's logs are open to everybody.
func illumosOwn(p Paths) []Step {
	state := func(path string) string { return filepath.Join(p.State, path) }
	return []Step{
		dayOfStatistics(p),
		Files("identity", "versions.txt", filepath.Join(p.Opt, "version"), "/etc/release", "/etc/nodename"),
		Command("identity", "kernel.txt", short, "uname", "-a"),
		Command("identity", "packages.txt", long, "pkg", "list", "-v"),
		Command("identity", "package-history.txt", long, "pkg", "history", "-l", "-n", "50"),
		Command("identity", "publishers.txt", short, "pkg", "publisher"),
		Command("hardware", "devices.txt", long, "prtconf", "-v"),
		Command("hardware", "smbios.txt", short, "smbios"),
		Command("hardware", "fault-log.txt", long, "fmdump", "-V"),
		Command("hardware", "error-log.txt", long, "fmdump", "-eV"),
		Command("hardware", "disk-errors.txt", short, "iostat", "-En"),
		Files("kernel", "messages.txt", "/var/adm/messages", "/var/adm/messages.0"),
		Command("kernel", "kstat.txt", long, "kstat", "-p"),
		Command("kernel", "modules.txt", short, "modinfo"),
		Command("services", "all.txt", short, "svcs", "-a", "-o", "state,nstate,stime,ctid,fmri"),
		Command("services", "explained.txt", short, "svcs", "-xv"),
		Command("services", "processes-of.txt", short, "svcs", "-p", "svc:/application/cistern/*"),
		Command("services", "configuration.xml", long, "svccfg", "export", "svc:/application/cistern/akd"),
		Command("services", "processes.txt", short, "ps", "-eo", "pid,ppid,user,s,stime,time,rss,nlwp,args"),
		Command("services", "busiest.txt", short, "prstat", "-mLc", "-n", "40", "1", "1"),
		Files("logs", "smf.txt", "/var/svc/log/application-cistern-*.log", "/var/svc/log/network-cistern-*.log", "/var/svc/log/system-cistern-*.log"),
		Files("logs", "web-server.txt", "/var/svc/log/network-cistern-nginx:default.log"),
		zfs("pool-status.txt", short, "zpool", "status", "-v"),
		zfs("pools.txt", short, "zpool", "list", "-v"),
		zfs("pool-properties.txt", short, "zpool", "get", "all"),
		zfs("datasets.txt", short, "zfs", "list", "-t", "all", "-o", "name,used,avail,refer,compressratio,mounted,mountpoint"),
		zfs("dataset-properties.txt", long, "zfs", "get", "all"),
		Command("network", "addresses.txt", short, "ipadm", "show-addr"),
		Command("network", "links.txt", short, "dladm", "show-link"),
		Command("network", "link-properties.txt", short, "dladm", "show-linkprop"),
		Command("network", "routes.txt", short, "netstat", "-rn"),
		Command("network", "sockets.txt", short, "netstat", "-an"),
		Command("network", "counters.txt", short, "netstat", "-s"),
		Command("time", "clock.txt", short, "chronyc", "-n", "tracking"),
		Command("storage", "space.txt", short, "df", "-h"),
		Ask("storage", "storaged.json", filepath.Join(p.Run, "storaged/http.sock"), "/api/v1/status/storage"),
		optional(Files("crashes", "records.json", state("support/crashes.json"))),
		Command("crashes", "core-settings.txt", short, "coreadm"),
	}
}
