package bundle

// What a bundle of the Debian appliance holds. In the order in which it is collected: what changes soonest first.

import (
	"path/filepath"
	"time"
)

// Deadlines are for what hangs, not for a machine that is busy: a step of an instant may have to wait for all the others.
const short, long = 45 * time.Second, 90 * time.Second

// goServices have a debug socket that answers what they are doing (package daemon/diagnostics).
var goServices = []string{"storaged", "tracerd", "execd", "replicd", "supportd"}

// LinuxSteps is what a bundle of the Debian appliance holds.
func LinuxSteps(p Paths) []Step {
	state := func(path string) string { return filepath.Join(p.State, path) }
	var steps []Step
	for _, name := range goServices {
		steps = append(steps, ask("stacks", name+".txt", filepath.Join(p.Run, name, "debug.sock"), "/goroutines"),
			ask("stacks", name+"-memory.json", filepath.Join(p.Run, name, "debug.sock"), "/memory"))
	}
	steps = append(steps,
		nodeReport("akd.json", "akd.js", filepath.Join(p.Run, "akd/report.json")),
		threads("threads.txt", "storaged", "tracerd", "execd", "replicd", "supportd", "akd.js", "nginx", "snmpd"),
		dayOfStatistics(p),
		files("identity", "versions.txt", filepath.Join(p.Opt, "version"), "/etc/os-release", "/proc/version", "/proc/cmdline", "/proc/uptime", "/etc/hostname", "/etc/machine-id"),
		imageName("/proc"),
		systemImage("/proc"),
		run("identity", "packages.txt", long, "dpkg-query", "-W"),
		files("hardware", "dmi.txt", "/sys/class/dmi/id/sys_vendor", "/sys/class/dmi/id/product_*", "/sys/class/dmi/id/board_*", "/sys/class/dmi/id/bios_*"),
		run("hardware", "firmware-tables.txt", short, "dmidecode"),
		someFiles("hardware", "errors.txt", "/sys/devices/system/edac/mc/mc*/*_count", "/sys/devices/system/edac/mc/mc*/*/*_count", "/sys/devices/system/edac/mc/mc*/*/dimm_label", "/sys/bus/pci/devices/*/aer_dev_*"),
		someFiles("hardware", "watchdog.txt", "/sys/class/watchdog/*/identity", "/sys/class/watchdog/*/state", "/sys/class/watchdog/*/timeout"),
		files("hardware", "processor-and-memory.txt", "/proc/cpuinfo", "/proc/meminfo", "/proc/interrupts"),
		run("hardware", "disks.json", short, "lsblk", "-J", "-b", "-O"),
		run("hardware", "pci.txt", short, "lspci", "-nn"),
		run("hardware", "smart-devices.json", short, "smartctl", "--scan-open", "--json"),
		someFiles("hardware", "lockdown.txt", "/sys/kernel/security/lockdow*"),
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
		ask("storage", "statistics.json", filepath.Join(p.Run, "tracerd/http.sock"), "/v1/statistics"),
		ask("storage", "storaged.json", filepath.Join(p.Run, "storaged/http.sock"), "/api/v1/status/storage"),
		configuration(filepath.Join(p.Opt, "bin/node"), filepath.Join(p.Opt, "akd/export-configuration.js"), state("akd"), p.Temporary),
		files("configuration", "files.txt", "/etc/nginx/cistern.conf", "/etc/nginx/cistern-store.conf", "/etc/nginx/cistern-asked.conf", "/etc/snmp/cistern-snmpd.conf", state("identity/hostname"), state("identity/timezone"), state("execd/pools")),
		files("configuration", "privileged-actions.txt", state("execd/audit.log")),
		optional(files("crashes", "records.json", state("support/crashes.json"))),
		optional(files("crashes", "kernel.txt", "/var/lib/systemd/pstore/*/*.txt", "/var/lib/systemd/pstore/*.txt", "/sys/fs/pstore/*")),
		run("crashes", "cores.txt", short, "ls", "-la", "--time-style=full-iso", "/var/lib/systemd/coredump"),
		newest("cores", "newest.core", 256<<20, "/var/lib/systemd/coredump/*"),
	)
	for _, service := range []string{"cistern-storaged", "cistern-tracerd", "cistern-execd", "cistern-akd", "cistern-replicd", "cistern-supportd", "cistern-pools", "cistern-identity", "cistern-system-pool", "nginx", "snmpd", "zfs-zed"} {
		steps = append(steps,
			run("services", service+".txt", short, "systemctl", "show", service+".service", "--no-pager"),
			run("logs", service+".txt", short, "journalctl", "-u", service+".service", "-n", "5000", "--no-pager", "-o", "short-iso-precise"))
	}
	return steps
}
