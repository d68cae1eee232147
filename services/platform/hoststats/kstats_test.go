package hoststats

import (
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"cistern/services/platform/kstat"
)

func TestKstats(t *testing.T) {
	c := New()
	at := time.Unix(2000, 500_000_000)
	read := func(user, kernel, idle int) map[string]float64 {
		t.Helper()
		stats, err := kstat.Parse(fmt.Sprintf("cpu:0:sys:cpu_nsec_user\t%d\ncpu:0:sys:cpu_nsec_kernel\t%d\ncpu:0:sys:cpu_nsec_idle\t%d\ncpu:12:sys:cpu_nsec_idle\t%d\n", user, kernel, idle, idle) +
			"unix:0:system_pages:physmem\t1000\nunix:0:system_pages:freemem\t100\nzfs:0:arcstats:size\t8192\nzfs:0:arcstats:c_min\t4096\n" +
			"unix:0:system_misc:avenrun_1min\t128\nunix:0:system_misc:avenrun_5min\t256\nunix:0:system_misc:avenrun_15min\t384\nunix:0:system_misc:boot_time\t1000\n" +
			"sd:0:sd0:class\tdisk\nsd:0:sd0:nread\t4096\nsd:0:sd0:reads\t2\nsd:0:sd0:rtime\t1.500000000\n" +
			"link:0:net0:class\tnet\nlink:0:net0:obytes64\t70\nlink:0:net0:ierrors\t3\nlink:0:net0:noxmtbuf\t1\n")
		if err != nil {
			t.Fatal(err)
		}
		values := map[string]float64{}
		for _, r := range c.ofKstats(&kstat.Snapshot{At: at, Stats: stats}) {
			name := r.Name
			for _, l := range r.Labels {
				name += " " + l.Value
			}
			values[fmt.Sprintf("%s %s", r.Kind, name)] = r.Value
		}
		return values
	}
	for name := range read(0, 0, 0) {
		if slices.Contains([]string{"gauge cistern_host_cpu_ratio user"}, name) {
			t.Errorf("%s out of a single reading", name)
		}
	}
	page := float64(os.Getpagesize())
	got := read(10, 30, 80)
	for name, want := range map[string]float64{
		"gauge cistern_host_cpu_ratio user": 0.05, "gauge cistern_host_cpu_ratio system": 0.15, "gauge cistern_host_cpu_ratio idle": 0.8,
		"gauge cistern_host_memory_bytes total": 1000 * page, "gauge cistern_host_memory_bytes available": 100*page + 4096,
		"gauge cistern_host_memory_bytes used": 900*page - 4096, "gauge cistern_host_load 1": 0.5, "gauge cistern_host_load 15": 1.5,
		"gauge cistern_host_uptime_seconds": 1000.5, "counter cistern_host_disk_bytes_total sd0 read": 4096,
		"counter cistern_host_disk_operations_total sd0 read": 2, "counter cistern_host_disk_busy_seconds_total sd0": 1.5,
		"counter cistern_host_network_bytes_total net0 transmit": 70, "counter cistern_host_network_errors_total net0 receive": 3,
		"counter cistern_host_network_drops_total net0 transmit": 1,
	} {
		if value, there := got[name]; !there || value != want {
			t.Errorf("%s: %v (%v), not %v", name, value, there, want)
		}
	}
	if t.Failed() {
		t.Log(got)
	}
	if len(c.ofKstats(&kstat.Snapshot{At: at})) != 0 {
		t.Error("readings out of nothing")
	}
}
