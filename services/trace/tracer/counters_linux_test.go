package tracer

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"cistern/services/trace/statistics"
)

func stat(pid int, name string, ticks, resident int) string {
	return fmt.Sprintf("%d (%s) S 1 1 1 0 -1 0 0 0 0 0 %d 0 0 0 20 0 1 0 %d 1000 %d 0\n", pid, name, ticks, pid, resident)
}

// Two readings a second apart, of files as Linux 6.12 and OpenZFS 2.3.9 have them.
func TestSources(t *testing.T) {
	root := t.TempDir()
	arc := func(hits int) string {
		return fmt.Sprintf("9 1 0x01 147 39984 1 2\nname type data\ndemand_data_hits 4 %d\ndemand_data_iohits 4 1\ndemand_data_misses 4 7\nsize 4 1000\ndata_size 4 600\nmetadata_size 4 300\n", hits)
	}
	// As OpenZFS 2.3 prints it (dataset_kstats.c, spl-kstat.c).
	objset := func(name string, operations, bytes int) string {
		return fmt.Sprintf("38 1 0x01 7 2160 5105066574 16424263245826\n%-31s %-4s %s\n%-31s %-4d %s\n%-31s %-4d %d\n%-31s %-4d %d\n%-31s %-4d %d\n%-31s %-4d %d\n",
			"name", "type", "data", "dataset_name", 7, name, "writes", 4, operations, "nwritten", 4, bytes, "reads", 4, 2*operations, "nread", 4, 2*bytes)
	}
	put(t, root, map[string]string{
		"proc/stat":                   "cpu  0 0 0 0 0 0 0 0 0 0\ncpu0 100 0 50 850 0 0 0 0 0 0\ncpu1 0 0 0 1000 0 0 0 0 0 0\nintr 1\n",
		"proc/meminfo":                "MemTotal: 1000 kB\nMemFree: 100 kB\nBuffers: 50 kB\nCached: 200 kB\nShmem: 10 kB\nAnonPages: 300 kB\n",
		"proc/diskstats":              " 8 0 sda 10 0 100 5 20 0 200 9 0 1000 14 3 0 8 0 0 0\n 8 1 sda1 1 0 1 1 1 0 1 1 0 1 1\n 7 0 loop0 9 0 9 9 9 0 9 9 0 9 9\n 8 16 sdb 0 0 0 0 0 0 0 0 0 0 0\n",
		"proc/net/dev":                "Inter-| x\n face | x\n lo: 9 9 9 9 0 0 0 0 9 9 9 9 0 0 0 0\n eth0: 100 10 1 2 0 0 0 0 50 5 3 4 0 0 0 0\n",
		"proc/spl/kstat/zfs/arcstats": arc(100),
		"proc/spl/kstat/zfs/zil":      "23 1\nname type data\nzil_commit_count 4 100\nzil_itx_metaslab_normal_bytes 4 4096\nzil_itx_metaslab_slog_bytes 4 0\n",
		"proc/spl/kstat/zfs/tank/txgs": "txg birth state ndirty nread nwritten reads writes otime qtime wtime stime\n" +
			"5 1 C 0 0 581632 0 122 1 2 3 4\n6 2 S 0 0 0 0 0 1 2 3 0\n",
		"proc/spl/kstat/zfs/tank/objset-0x36": objset("tank/my home", 10, 1000), "proc/spl/kstat/zfs/tank/objset-0x44": objset("tank/quiet", 5, 5),
		"proc/7/stat": stat(7, "a) b (c", 100, 10), "proc/8/stat": stat(8, "idle", 5, 0),
	})
	pool := filepath.Join(root, "zpool")
	put(t, root, map[string]string{"zpool": "#!/bin/sh\ncase $1 in list) printf 'tank\\t1000\\t250\\t750\\nempty\\t0\\t0\\t0\\n' ;; *) cat " + root + "/iostat ;; esac\n"})
	if err := os.Chmod(pool, 0o755); err != nil {
		t.Fatal(err)
	}
	iostat := func(n int) string {
		return fmt.Sprintf("\ntank\n1023\t0\t9\t0\t0\n1048575\t99\t99\t0\t0\n\nmirror-0\n1048575\t99\t99\t0\t0\n\nscsi-A\n1023\t0\t0\n1048575\t%d\t5\t0\t0\n", n)
	}
	put(t, root, map[string]string{"iostat": iostat(10)})
	c := newCounters(Config{Root: root, ZPool: pool, Storaged: "/nowhere"})
	var active []*dataset
	for _, s := range statistics.All() {
		if s.Source != statistics.Counter || s.Group() == "store" {
			continue
		}
		for _, b := range append([]string{""}, names(s)...) {
			text := s.Name
			if b != "" {
				text += "[" + b + "]"
			}
			active = append(active, &dataset{Dataset: datasets(t, text)[0], name: text})
		}
	}
	round := func(elapsed time.Duration) map[string]string {
		readings := c.read(active, elapsed)
		got := map[string]string{}
		for _, d := range active {
			r := readings[partitionOf(d.Dataset)]
			switch {
			case r.err != nil:
				t.Errorf("%s: %v", d.name, r.err)
			case r.ready:
				s := aggregate(d.Dataset, r.rows)
				line := fmt.Sprintf("%.4g", s.total)
				for _, value := range slices.Sorted(maps.Keys(s.values)) {
					line += fmt.Sprintf(" %s:%.4g", value, s.values[value])
				}
				for bin, n := range s.bins {
					line += fmt.Sprintf(" %s×%d", bin, n)
				}
				got[d.name] = line
			}
		}
		return got
	}
	first := round(time.Second)
	for _, name := range []string{"disk.ops", "cpu.utilization", "net.bytes", "capacity.percent"} {
		if got, there := first[name]; there {
			t.Errorf("%s is %s out of one reading", name, got)
		}
	}
	// zpool is asked beside, and on a busy machine that takes its time: there must be two readings of before.
	until := time.Now().Add(time.Minute)
	for round(time.Second)["vdev.ops[type]"] == "" {
		if time.Now().After(until) {
			t.Fatal("zpool was not read twice within a minute")
		}
		time.Sleep(100 * time.Millisecond)
	}
	put(t, root, map[string]string{
		"proc/stat":                   "cpu  0 0 0 0 0 0 0 0 0 0\ncpu0 130 0 60 910 0 0 0 0 0 0\ncpu1 0 0 0 1100 0 0 0 0 0 0\nintr 1\n",
		"proc/diskstats":              " 8 0 sda 14 0 108 5 21 0 210 9 0 1500 14 4 0 16 0 0 0\n 8 1 sda1 1 0 1 1 1 0 1 1 0 1 1\n 8 16 sdb 0 0 0 0 0 0 0 0 0 0 0\n",
		"proc/net/dev":                "Inter-| x\n face | x\n lo: 9 9 9 9 0 0 0 0 9 9 9 9 0 0 0 0\n eth0: 150 11 2 2 0 0 0 0 60 6 3 5 0 0 0 0\n",
		"proc/spl/kstat/zfs/arcstats": arc(130),
		"proc/spl/kstat/zfs/zil":      "23 1\nname type data\nzil_commit_count 4 103\nzil_itx_metaslab_normal_bytes 4 8192\nzil_itx_metaslab_slog_bytes 4 0\n",
		"proc/spl/kstat/zfs/tank/txgs": "txg birth state ndirty nread nwritten reads writes otime qtime wtime stime\n" +
			"5 1 C 0 0 581632 0 122 1 2 3 4\n6 2 C 0 0 606208 0 97 5000000000 0 0 250000000\n7 3 O 0 0 0 0 0 0 0 0 0\n",
		"proc/7/stat":                         stat(7, "a) b (c", 150, 10),
		"proc/spl/kstat/zfs/tank/objset-0x36": objset("tank/my home", 13, 5096),
		"iostat":                              iostat(13),
	})
	time.Sleep(1100 * time.Millisecond)
	round0 := round(time.Second) // starts the reading of zpool that the next round gets
	// Each comes in a round of its own: what is read beside may be done between two statistics of one.
	late, byDataset := map[string]string{}, map[string]string{}
	found := round0
	for until = time.Now().Add(time.Minute); (len(late) < 3 || len(byDataset) < 8) && time.Now().Before(until); found = round(time.Second) {
		for name, got := range found {
			if got == "" || got[0] == '0' {
				continue
			}
			if strings.HasPrefix(name, "dataset.") {
				byDataset[name] = got
			} else if slices.Contains([]string{"vdev.ops[latency]", "vdev.ops[vdev]", "vdev.ops[type]"}, name) {
				late[name] = got
			}
		}
		time.Sleep(100 * time.Millisecond)
	}
	page := float64(os.Getpagesize())
	for name, want := range map[string]string{
		"cpu.utilization": "20", "cpu.utilization[mode]": "20 irq:0 nice:0 softirq:0 steal:0 system:5 user:15", "cpu.utilization[cpu]": "20 0:40 1:0",
		"cpu.utilization[process]": "25 a) b (c:25",
		"memory.bytes":             fmt.Sprintf("%.4g", 1000*1024.0),
		"memory.bytes[component]":  "1.024e+06 arc:1000 cache:2.458e+05 free:1.024e+05 kernel:3.574e+05 processes:3.174e+05",
		"memory.bytes[process]":    fmt.Sprintf("%.4g a) b (c:%.4g", 10*page, 10*page),
		"disk.ops":                 "6", "disk.ops[type]": "6 discard:1 read:4 write:1", "disk.bytes[disk]": fmt.Sprintf("%.4g sda:%.4g", 26*512.0, 26*512.0),
		"disk.utilization": "25", "disk.utilization[disk]": "25 sda:50 sdb:0", "disk.utilization[utilization]": "",
		"net.bytes[direction]": "60 in:50 out:10", "net.errors": "2", "net.packets[device]": "2 eth0:2",
		"arc.accesses[result]": "30 hit:30", "arc.bytes[component]": "1000 bonus:0 data:600 dbuf:0 dnode:0 headers:0 metadata:300 other:100",
		"zil.commits": "3", "zil.bytes[device]": "4096 normal:4096",
		"txg.syncs[pool]": "1 tank:1", "txg.syncs[latency]": "1 2.5e-1×1", "txg.syncs[size]": "1 6.0e5×1", "txg.time[state]": "5.25 open:5 quiescing:0 syncing:0.25 waiting:0",
		"capacity.percent[pool]": "25 tank:25", "capacity.bytes[kind]": "1000 allocated:250 free:750",
	} {
		if got := round0[name]; got != want && want != "" {
			t.Errorf("%s: %q, not %q", name, got, want)
		}
	}
	if got := round0["disk.utilization[utilization]"]; !strings.HasPrefix(got, "2 ") || !strings.Contains(got, "5.0e1×1") || !strings.Contains(got, "0×1") {
		t.Errorf("disk.utilization[utilization]: %q", got)
	}
	if late["vdev.ops[latency]"] != "3 7.8e-4×3" || late["vdev.ops[vdev]"] != "3 scsi-A:3" || late["vdev.ops[type]"] != "3 read:3" {
		t.Errorf("%q %q", late["vdev.ops[latency]"], late["vdev.ops[vdev]"])
	}
	want := map[string]string{
		"dataset.ops": "9", "dataset.ops[filesystem]": "9 tank/my home:9", "dataset.ops[pool]": "9 tank:9", "dataset.ops[type]": "9 read:6 write:3",
		"dataset.bytes": "1.229e+04", "dataset.bytes[filesystem]": "1.229e+04 tank/my home:1.229e+04", "dataset.bytes[pool]": "1.229e+04 tank:1.229e+04",
		"dataset.bytes[type]": "1.229e+04 read:8192 write:4096",
	}
	if !maps.Equal(byDataset, want) {
		t.Errorf("%q", byDataset)
	}
}
