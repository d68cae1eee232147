//go:build linux

package hoststats

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func write(t *testing.T, root string, files map[string]string) {
	t.Helper()
	for name, content := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func lines(c *Collector) []string {
	var all []string
	for _, r := range c.Read() {
		text := r.Kind.String() + " " + r.Name
		for _, l := range r.Labels {
			text += " " + l.Value
		}
		all = append(all, fmt.Sprintf("%s %g", text, r.Value))
	}
	slices.Sort(all)
	return all
}

func TestReadings(t *testing.T) {
	root := t.TempDir()
	write(t, root, map[string]string{
		"stat":    "cpu  100 0 100 800 0 0 0 0 0 0\ncpu0 100 0 100 800 0 0 0 0 0 0\n",
		"meminfo": "MemTotal:  1000 kB\nMemFree: 100 kB\nMemAvailable: 400 kB\nBuffers: 1 kB\nCached: 2 kB\n",
		"net/dev": "Inter-|\n face |\n    lo: 1 1 0 0 0 0 0 0 1 1 0 0 0 0 0 0\n  eth0: 10 2 0 1 0 0 0 0 30 4 5 6 0 0 0 0\n",
		"diskstats": " 254 0 vda 5 0 16 7 8 0 32 10 0 500 17\n 254 1 vda1 5 0 16 7 8 0 32 10 0 11 17\n" +
			" 259 0 nvme0n1 1 0 8 0 0 0 0 0 0 0 0\n 259 1 nvme0n1p1 1 0 8 0 0 0 0 0 0 0 0\n 7 0 loop0 1 0 2 0 0 0 0 0 0 0 0\n",
		"loadavg": "0.5 1.5 2.5 1/100 1\n", "uptime": "12.5 20\n",
	})
	c := New()
	c.root = root
	first := lines(c)
	for _, line := range first {
		if strings.Contains(line, "cpu") {
			t.Errorf("a share of time out of a single reading: %s", line)
		}
	}
	write(t, root, map[string]string{"stat": "cpu  150 0 125 825 0 0 0 0 0 0\n"})
	got := lines(c)
	for _, want := range []string{
		"gauge cistern_host_cpu_ratio user 0.5", "gauge cistern_host_cpu_ratio idle 0.25",
		"gauge cistern_host_memory_bytes used 614400", "counter cistern_host_network_bytes_total eth0 receive 10",
		"counter cistern_host_network_errors_total eth0 transmit 5", "counter cistern_host_disk_bytes_total vda write 16384",
		"counter cistern_host_disk_bytes_total nvme0n1 read 4096", "counter cistern_host_disk_busy_seconds_total vda 0.5",
		"gauge cistern_host_load 15 2.5", "gauge cistern_host_uptime_seconds 12.5",
	} {
		if !slices.Contains(got, want) {
			t.Errorf("%s is missing in\n%s", want, strings.Join(got, "\n"))
		}
	}
	for _, line := range got {
		if strings.Contains(line, " lo ") || strings.Contains(line, "vda1") || strings.Contains(line, "p1") || strings.Contains(line, "loop") {
			t.Errorf("should be left out: %s", line)
		}
	}
}

// On a machine whose /proc is not there, or strange, nothing breaks.
func TestStrange(t *testing.T) {
	c := New()
	c.root = t.TempDir()
	if got := c.Read(); len(got) != 0 {
		t.Errorf("%v", got)
	}
	write(t, c.root, map[string]string{"stat": "cpu x\n", "meminfo": "\n:\n", "net/dev": "a:b\n", "diskstats": "1 2\n", "loadavg": "", "uptime": ""})
	c.Read()
}
