package main

// The machine that the figures are of.

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"time"
)

func readLine(path, prefix string) string {
	text, _ := os.ReadFile(path)
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, prefix) {
			_, value, _ := strings.Cut(line, ":")
			return strings.TrimSpace(value)
		}
	}
	return ""
}

func firstLine(path string) string {
	text, _ := os.ReadFile(path)
	line, _, _ := strings.Cut(string(text), "\n")
	return strings.TrimSpace(line)
}

func output(name string, arguments ...string) string {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	text, _ := exec.CommandContext(ctx, name, arguments...).CombinedOutput()
	return strings.TrimSpace(string(text))
}

// warmMemory touches free memory and gives it back to the kernel, so that every system's run finds the same. Of a virtual
// machine the host takes back what was free for some seconds (free page reporting), and the next who touches it pays: 11 µs
// of kernel time for 4 KiB instead of one (2026-11-22, Firecracker), whoever it happens to be.
func warmMemory() {
	const most = 1280 << 20 // what is left with the guest is about a gigabyte
	var available int64
	if _, err := fmt.Sscanf(readLine("/proc/meminfo", "MemAvailable"), "%d kB", &available); err != nil {
		return
	}
	if memory, err := syscall.Mmap(-1, 0, int(min(most, available<<10/4)), syscall.PROT_READ|syscall.PROT_WRITE,
		syscall.MAP_PRIVATE|syscall.MAP_ANONYMOUS|syscall.MAP_POPULATE); err == nil {
		_ = syscall.Munmap(memory)
	}
}

// fileSystem names the file system that holds a folder.
func fileSystem(folder string) string {
	var stat syscall.Statfs_t
	if syscall.Statfs(folder, &stat) != nil {
		return "unknown"
	}
	names := map[int64]string{0xef53: "ext4", 0x01021994: "tmpfs", 0x58465342: "xfs", 0x9123683e: "btrfs", 0x2fc12fc1: "zfs", 0x794c7630: "overlayfs"}
	if name, ok := names[int64(stat.Type)]; ok {
		return name
	}
	return fmt.Sprintf("type %#x", stat.Type)
}

var version = regexp.MustCompile(`v?\d+\.\d+\.\d+`)

// machine describes where and with what the bench runs.
func (b *bench) machine() string {
	var text strings.Builder
	memory := readLine("/proc/meminfo", "MemTotal")
	var kib int64
	fmt.Sscan(memory, &kib)
	fmt.Fprintf(&text, "- Machine: %s, %d cores, %.1f GiB of memory, %s (%s), Linux %s\n",
		readLine("/proc/cpuinfo", "model name"), runtime.NumCPU(), float64(kib)/(1<<20), fileSystem(b.temp), "no compression", firstLine("/proc/sys/kernel/osrelease"))
	fmt.Fprintf(&text, "- Flags that matter: %s\n", cpuFlags())
	fmt.Fprintf(&text, "- Built with %s; load average when this was written: %s\n", runtime.Version(), strings.Join(strings.Fields(firstLine("/proc/loadavg"))[:3], " "))
	fmt.Fprintf(&text, "- Cistern: commit %s\n", b.commit)
	var peers []string
	modules, _ := os.ReadFile(b.modules)
	for _, one := range []struct{ name, module string }{{victoria, "github.com/VictoriaMetrics/VictoriaMetrics"}, {prometheus, "github.com/prometheus/prometheus"},
		{"statsd_exporter", "github.com/prometheus/statsd_exporter"}, {"circonusllhist", "github.com/openhistogram/circonusllhist"}, {"tidwall/wal", "github.com/tidwall/wal"}} {
		if match := regexp.MustCompile(regexp.QuoteMeta(one.module) + ` (v[^ \n]+)`).FindSubmatch(modules); match != nil {
			peers = append(peers, one.name+" "+string(match[1]))
		}
	}
	peers = append(peers, "npm statsd "+version.FindString(readVersion(filepath.Join(b.peers, "statsd/node_modules/statsd/package.json")))+" on Node "+version.FindString(output(b.node, "--version")))
	built := firstLine(filepath.Join(b.peers, "build-seconds"))
	if built != "" {
		built = "; they took " + built + " s to build"
	}
	fmt.Fprintf(&text, "- Peers: %s%s\n", strings.Join(peers, ", "), built)
	return text.String()
}

func readVersion(path string) string {
	text, _ := os.ReadFile(path)
	return string(regexp.MustCompile(`"version": *"[^"]*"`).Find(text))
}

func cpuFlags() string {
	all := " " + readLine("/proc/cpuinfo", "flags") + " "
	var have []string
	for _, flag := range []string{"constant_tsc", "nonstop_tsc", "invariant_tsc", "rdtscp", "avx2", "avx512f", "sha_ni", "hypervisor"} {
		if strings.Contains(all, " "+flag+" ") {
			have = append(have, flag)
		}
	}
	return strings.Join(have, " ")
}
