package collect

// What a bundle of the Debian appliance holds, in the order in which it is collected.

import "path/filepath"

// LinuxSteps is what a bundle of the Debian appliance holds.
func LinuxSteps(p Paths) []Step { return append(byRoot(linuxRoot(p)), linuxOwn(p)...) }

// linuxRoot is what only root may read, and what only root is answered.
func linuxRoot(p Paths) []Step {
	state := func(path string) string { return filepath.Join(p.State, path) }
	return append(stacksOf(p),
		nodeReport("akd.json", "akd.js", filepath.Join(p.Run, "akd/report.json")),
		threads("threads.txt", "storaged", "tracerd", "execd", "replicd", "supportd", "gatherd", "akd.js", "nginx", "snmpd"),
		Files("hardware", "dmi.txt", "/sys/class/dmi/id/sys_vendor", "/sys/class/dmi/id/product_*", "/sys/class/dmi/id/board_*", "/sys/class/dmi/id/bios_*"),
		Command("hardware", "firmware-tables.txt", short, "dmidecode"),
		Command("hardware", "disks.json", short, "lsblk", "-J", "-b", "-O"),
		Command("hardware", "smart-devices.json", short, "smartctl", "--scan-open", "--json"),
		Command("kernel", "messages.txt", short, "dmesg", "--time-format", "iso"),
		Command("kernel", "sysctl.txt", short, "sysctl", "-a"),
		Command("services", "processes.txt", short, "ps", "axwwo", "pid,ppid,user,stat,lstart,time,rss,nlwp,wchan:20,args"),
		zfs("pool-status.txt", short, "zpool", "status", "-v", "-P", "-t", "-s"),
		zfs("pool-status.json", short, "zpool", "status", "-j", "--json-int"),
		zfs("pools.txt", short, "zpool", "list", "-v", "-P"),
		zfs("pool-properties.txt", short, "zpool", "get", "all"),
		zfs("pool-history.txt", short, "zpool", "history", "-il"),
		zfs("pool-events.txt", short, "zpool", "events", "-v"),
		zfs("pool-latency.txt", short, "zpool", "iostat", "-w"),
		zfs("datasets.txt", short, "zfs", "list", "-t", "all", "-o", "name,used,avail,refer,compressratio,mounted,mountpoint"),
		zfs("dataset-properties.txt", long, "zfs", "get", "all", "-t", "filesystem,volume"),
		Files("zfs", "kstats.txt", "/proc/spl/kstat/zfs/arcstats", "/proc/spl/kstat/zfs/zil", "/proc/spl/kstat/zfs/*/txgs", "/proc/spl/kstat/zfs/*/state", "/proc/spl/kstat/zfs/dbgmsg"),
		Command("network", "sockets.txt", short, "ss", "-tuanp"),
		Command("storage", "space.txt", short, "df", "-hT"),
		Ask("storage", "tracerd.json", filepath.Join(p.Run, "tracerd/http.sock"), "/v1/datasets"),
		Ask("storage", "statistics.json", filepath.Join(p.Run, "tracerd/http.sock"), "/v1/statistics"),
		Configuration(filepath.Join(p.Opt, "bin/node"), filepath.Join(p.Opt, "akd/export-configuration.js"), state("akd"), p.Temporary),
		Files("configuration", "files.txt", "/etc/nginx/cistern.conf", "/etc/nginx/cistern-store.conf", "/etc/nginx/cistern-asked.conf", "/etc/snmp/cistern-snmpd.conf", state("identity/hostname"), state("identity/timezone"), state("execd/pools")),
		Files("configuration", "privileged-actions.txt", state("execd/audit.log")),
		optional(Files("crashes", "kernel.txt", "/var/lib/systemd/pstore/*/*.txt", "/var/lib/systemd/pstore/*.txt", "/sys/fs/pstore/*")),
		Newest("cores", "newest.core", 256<<20, "/var/lib/systemd/coredump/*"),
		systemImage("/proc"),
	)
}

// linuxOwn is what supportd may read itself. The journal is open to its group.
func linuxOwn(p Paths) []Step {
	state := func(path string) string { return filepath.Join(p.State, path) }
	steps := []Step{
		dayOfStatistics(p),
		Files("identity", "versions.txt", filepath.Join(p.Opt, "version"), "/etc/os-release", "/proc/version", "/proc/cmdline", "/proc/uptime", "/etc/hostname", "/etc/machine-id"),
		imageName("/proc"),
		Command("identity", "packages.txt", long, "dpkg-query", "-W"),
		someFiles("hardware", "errors.txt", "/sys/devices/system/edac/mc/mc*/*_count", "/sys/devices/system/edac/mc/mc*/*/*_count", "/sys/devices/system/edac/mc/mc*/*/dimm_label", "/sys/bus/pci/devices/*/aer_dev_*"),
		someFiles("hardware", "watchdog.txt", "/sys/class/watchdog/*/identity", "/sys/class/watchdog/*/state", "/sys/class/watchdog/*/timeout"),
		Files("hardware", "processor-and-memory.txt", "/proc/cpuinfo", "/proc/meminfo", "/proc/interrupts"),
		Command("hardware", "pci.txt", short, "lspci", "-nn"),
		someFiles("hardware", "lockdown.txt", "/sys/kernel/security/lockdow*"),
		Files("kernel", "modules-and-mounts.txt", "/proc/modules", "/proc/1/mounts", "/proc/loadavg", "/proc/pressure/*", "/proc/vmstat"),
		Command("services", "units.txt", short, "systemctl", "list-units", "--all", "--no-pager", "--full"),
		Command("services", "failed.txt", short, "systemctl", "list-units", "--failed", "--no-pager", "--full"),
		// Not "blame": it asks for each of some four hundred units by itself; their times are in this boot's log.
		Command("services", "boot-times.txt", short, "systemd-analyze", "time"),
		Command("logs", "this-boot.txt", long, "journalctl", "-b", "-n", "20000", "--no-pager", "-o", "short-iso-precise"),
		Command("logs", "warnings.txt", long, "journalctl", "-p", "warning", "-n", "5000", "--no-pager", "-o", "short-iso-precise"),
		Command("logs", "boots.txt", short, "journalctl", "--list-boots", "--no-pager"),
		Command("network", "addresses.txt", short, "ip", "-s", "address"),
		Command("network", "routes.txt", short, "ip", "route", "show", "table", "all"),
		Command("network", "links.txt", short, "networkctl", "status", "--all", "--no-pager"),
		Command("network", "names.txt", short, "resolvectl", "status", "--no-pager"),
		Command("time", "clock.txt", short, "chronyc", "-n", "tracking"),
		Command("time", "sources.txt", short, "chronyc", "-n", "sources", "-v"),
		Ask("storage", "storaged.json", filepath.Join(p.Run, "storaged/http.sock"), "/api/v1/status/storage"),
		optional(Files("crashes", "records.json", state("support/crashes.json"))),
		Command("crashes", "cores.txt", short, "ls", "-la", "--time-style=full-iso", "/var/lib/systemd/coredump"),
	}
	for _, service := range []string{"cistern-storaged", "cistern-tracerd", "cistern-execd", "cistern-akd", "cistern-replicd", "cistern-supportd", "cistern-gatherd", "cistern-pools", "cistern-identity", "cistern-system-pool", "nginx", "snmpd", "chrony", "zfs-zed"} {
		steps = append(steps,
			Command("services", service+".txt", short, "systemctl", "show", service+".service", "--no-pager"),
			Command("logs", service+".txt", short, "journalctl", "-u", service+".service", "-n", "5000", "--no-pager", "-o", "short-iso-precise"))
	}
	return steps
}
