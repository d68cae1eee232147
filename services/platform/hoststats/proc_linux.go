package hoststats

// /proc/stat, meminfo, net/dev, diskstats, loadavg, uptime; formats after proc(5) and Documentation/admin-guide/iostats.

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Read reads everything; what cannot be read is left out.
func (c *Collector) Read() []Reading {
	var all []Reading
	for _, part := range []struct {
		file string
		read func(string) []Reading
	}{
		{"stat", c.processors}, {"meminfo", memory}, {"net/dev", network}, {"diskstats", disks}, {"loadavg", load}, {"uptime", uptime},
	} {
		if text, err := os.ReadFile(filepath.Join(c.root, part.file)); err == nil {
			all = append(all, part.read(string(text))...)
		}
	}
	return all
}

func number(text string) float64 {
	v, _ := strconv.ParseFloat(text, 64)
	return v
}

// processors is the share of all processors' time since the last reading, by what it went to; together 1.
func (c *Collector) processors(text string) []Reading {
	line, _, _ := strings.Cut(text, "\n")
	fields := strings.Fields(line)
	if len(fields) < 9 || fields[0] != "cpu" {
		return nil
	}
	// guest time is in user already.
	modes := []string{"user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal"}
	ticks, total := map[string]float64{}, 0.0
	for i, mode := range modes {
		now := number(fields[i+1])
		before, known := c.last[mode]
		c.last[mode] = now
		if !known {
			continue
		}
		ticks[mode] = max(0, now-before) // iowait can go back
		total += ticks[mode]
	}
	if total == 0 {
		return nil
	}
	var all []Reading
	for _, mode := range modes {
		all = append(all, gauge("cistern_host_cpu_ratio", ticks[mode]/total, Label{Name: "mode", Value: mode}))
	}
	return all
}

func memory(text string) []Reading {
	values := map[string]float64{}
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) >= 2 {
			values[strings.TrimSuffix(fields[0], ":")] = number(fields[1]) * 1024
		}
	}
	kinds := map[string]float64{
		"total": values["MemTotal"], "free": values["MemFree"], "available": values["MemAvailable"],
		"buffers": values["Buffers"], "cached": values["Cached"],
		"used": values["MemTotal"] - values["MemAvailable"],
	}
	var all []Reading
	for kind, value := range kinds {
		all = append(all, gauge("cistern_host_memory_bytes", value, Label{Name: "kind", Value: kind}))
	}
	return all
}

func network(text string) []Reading {
	var all []Reading
	for line := range strings.Lines(text) {
		device, rest, ok := strings.Cut(line, ":")
		fields := strings.Fields(rest)
		if device = strings.TrimSpace(device); !ok || len(fields) < 16 || device == "lo" {
			continue
		}
		for direction, at := range map[string]int{"receive": 0, "transmit": 8} {
			labels := []Label{{Name: "device", Value: device}, {Name: "direction", Value: direction}}
			all = append(all,
				counter("cistern_host_network_bytes_total", number(fields[at]), labels...),
				counter("cistern_host_network_packets_total", number(fields[at+1]), labels...),
				counter("cistern_host_network_errors_total", number(fields[at+2]), labels...),
				counter("cistern_host_network_drops_total", number(fields[at+3]), labels...))
		}
	}
	return all
}

func disks(text string) []Reading {
	var all []Reading
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) < 14 || !wholeDisk(fields[2]) {
			continue
		}
		disk := Label{Name: "disk", Value: fields[2]}
		for kind, at := range map[string]int{"read": 3, "write": 7} {
			labels := []Label{disk, {Name: "type", Value: kind}}
			all = append(all,
				counter("cistern_host_disk_operations_total", number(fields[at]), labels...),
				counter("cistern_host_disk_bytes_total", number(fields[at+2])*512, labels...), // sectors of 512 bytes, whatever the disk's
				counter("cistern_host_disk_seconds_total", number(fields[at+3])/1000, labels...))
		}
		all = append(all, counter("cistern_host_disk_busy_seconds_total", number(fields[12])/1000, disk))
	}
	return all
}

// wholeDisk leaves out partitions and what is no disk.
func wholeDisk(name string) bool {
	for _, prefix := range []string{"loop", "ram", "zram", "zd", "sr", "fd", "dm-", "md", "nbd"} {
		if strings.HasPrefix(name, prefix) {
			return false
		}
	}
	last := name[len(name)-1]
	if strings.HasPrefix(name, "nvme") || strings.HasPrefix(name, "mmcblk") {
		return !strings.Contains(name[4:], "p")
	}
	return last < '0' || last > '9'
}

func load(text string) []Reading {
	fields := strings.Fields(text)
	var all []Reading
	for i, minutes := range []string{"1", "5", "15"} {
		if i < len(fields) {
			all = append(all, gauge("cistern_host_load", number(fields[i]), Label{Name: "minutes", Value: minutes}))
		}
	}
	return all
}

func uptime(text string) []Reading {
	first, _, _ := strings.Cut(text, " ")
	return []Reading{gauge("cistern_host_uptime_seconds", number(first))}
}
