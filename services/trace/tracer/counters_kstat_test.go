package tracer

import (
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"cistern/services/platform/illumos/commands/fake"
	"cistern/services/platform/illumos/layout"
	"cistern/services/trace/statistics"
)

// put makes the files of a machine.
func put(t *testing.T, root string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// laid is a structure of illumos as its header has it, with some of its fields set.
func laid(definition string, fields map[string]any) []byte {
	s, err := layout.Of(definition, layout.PsinfoConstants)
	if err != nil {
		panic(err)
	}
	b, err := s.Bytes(fields)
	if err != nil {
		panic(err)
	}
	return b
}

// psinfo is the file of a process.
func psinfo(pid int, name string, uid uint32, used time.Duration, kib int) string {
	return string(laid(layout.Psinfo, map[string]any{
		"pr_pid": uint32(pid), "pr_uid": uid, "pr_rssize": uint64(kib), "pr_start": [2]uint64{1767225600, 0},
		"pr_time": [2]uint64{uint64(used / time.Second), uint64(used % time.Second)}, "pr_fname": name,
	}))
}

func kstatLines(module string, instance int, name string, values map[string]string) string {
	text := ""
	for _, statistic := range slices.Sorted(maps.Keys(values)) {
		text += fmt.Sprintf("%s:%d:%s:%s\t%s\n", module, instance, name, statistic, values[statistic])
	}
	return text
}

// asTracerd is a machine whose commands take what those of illumos take from tracerd.
func asTracerd(t *testing.T) *fake.Machine {
	t.Helper()
	credential, err := fake.Credential("../../../smf/manifest/tracerd.xml")
	if err != nil {
		t.Fatal(err)
	}
	return fake.New(t, credential)
}

// dtrace of illumos takes what each program is started with, from tracerd.
func TestIllumosTakesHowDtraceIsStarted(t *testing.T) {
	m := asTracerd(t)
	m.Program("dtrace", `for script; do :; done; cat "$script"`)
	p, err := startHere(filepath.Join(m.Root, "dtrace"), t.TempDir(), 7, "BEGIN { exit(0); }\n")
	if err != nil {
		t.Fatal(err)
	}
	said, _ := io.ReadAll(p.out)
	complained, _ := io.ReadAll(p.said)
	if err := p.wait(); err != nil || string(said) != "BEGIN { exit(0); }\n" || !strings.HasPrefix(m.Calls(), "dtrace -q -x aggrate=") {
		t.Errorf("%v %s%s", err, said, complained)
	}
}

// Two readings a second apart, of a kstat that prints what that of illumos does.
func TestKstatSources(t *testing.T) {
	root := t.TempDir()
	m := asTracerd(t)
	program := filepath.Join(m.Root, "kstat")
	m.Program("kstat", "case $* in *rbytes64) printf 'link:0:net0:rbytes64\\t1\\n' ;; *) cat "+root+"/printed ;; esac")
	type second struct {
		user, kernel, idle [2]int // ns of two processors
		reads, nread       int
		busy               string
		rbytes, errors     int
		hits               int
		cpu                time.Duration
	}
	show := func(s second) {
		text := ""
		for cpu := range 2 {
			text += kstatLines("cpu", cpu, "sys", map[string]string{"class": "misc", "cpu_nsec_user": fmt.Sprint(s.user[cpu]),
				"cpu_nsec_kernel": fmt.Sprint(s.kernel[cpu]), "cpu_nsec_idle": fmt.Sprint(s.idle[cpu]), "cpu_nsec_intr": "5"})
		}
		text += kstatLines("unix", 0, "system_pages", map[string]string{"physmem": "1000", "freemem": "100", "pp_kernel": "600"})
		text += kstatLines("zfs", 0, "arcstats", map[string]string{"class": "misc", "size": "409600", "data_size": "300000", "metadata_size": "100000",
			"demand_data_hits": fmt.Sprint(s.hits), "demand_data_misses": "3"})
		text += kstatLines("sd", 0, "sd0", map[string]string{"class": "disk", "reads": fmt.Sprint(s.reads), "writes": "7", "nread": fmt.Sprint(s.nread), "nwritten": "0", "rtime": s.busy})
		text += kstatLines("blkdev", 1, "blkdev1", map[string]string{"class": "disk", "reads": "0", "writes": "0", "nread": "0", "nwritten": "0", "rtime": "0"})
		text += kstatLines("link", 0, "net0", map[string]string{"class": "net", "rbytes64": fmt.Sprint(s.rbytes), "obytes64": "10", "ipackets64": "1", "opackets64": "1", "ierrors": "0", "oerrors": fmt.Sprint(s.errors)})
		put(t, root, map[string]string{"printed": text, "proc/7/psinfo": psinfo(7, "node", 0, s.cpu, 2048), "proc/0/psinfo": psinfo(0, "sched", 0, 0, 0), "proc/9/psinfo": "cut off"})
	}
	first := second{user: [2]int{1e9, 0}, kernel: [2]int{1e9, 0}, idle: [2]int{8e9, 10e9}, reads: 10, nread: 4096, busy: "12.500000000", rbytes: 100, hits: 100, cpu: 5 * time.Second}
	show(first)
	s := newKstatSources(Config{Root: root, Kstat: program, ZPool: "/nowhere", Storaged: "/nowhere"})
	c := &counters{open: map[partition]*openReader{}, factory: s.reader, together: s.together}
	var active []*dataset
	for _, one := range statistics.All() {
		if one.Source != statistics.Counter || one.Reason(statistics.Illumos) != "" || slices.Contains([]string{"store", "capacity"}, one.Group()) {
			continue
		}
		for _, b := range append([]string{""}, names(one)...) {
			text := one.Name
			if b != "" {
				text += "[" + b + "]"
			}
			active = append(active, &dataset{Dataset: datasets(t, text)[0], name: text})
		}
	}
	round := func() map[string]string {
		got := map[string]string{}
		readings := c.read(active, time.Second)
		for _, d := range active {
			r := readings[partitionOf(d.Dataset)]
			switch {
			case r.err != nil:
				t.Errorf("%s: %v", d.name, r.err)
			case r.ready:
				sum := aggregate(d.Dataset, r.rows)
				line := fmt.Sprintf("%.4g", sum.total)
				for _, value := range slices.Sorted(maps.Keys(sum.values)) {
					line += fmt.Sprintf(" %s:%.4g", value, sum.values[value])
				}
				got[d.name] = line
			}
		}
		return got
	}
	for name := range round() {
		if slices.Contains([]string{"disk.ops", "cpu.utilization", "net.bytes", "disk.utilization"}, name) {
			t.Errorf("%s out of one reading", name)
		}
	}
	// Links are found beside; from then on they are asked for.
	eventually(t, "links", func() bool { time.Sleep(550 * time.Millisecond); calls := round()["net.bytes"]; return calls != "" })
	second2 := first
	second2.user[0] += 3e8
	second2.kernel[0] += 1e8
	second2.idle[0] += 6e8
	second2.idle[1] += 1e9
	second2.reads, second2.nread, second2.busy, second2.rbytes, second2.errors, second2.hits = 14, 8192, "13.000000000", 150, 2, 130
	second2.cpu += 500 * time.Millisecond
	show(second2)
	time.Sleep(1050 * time.Millisecond)
	got := round()
	page := float64(os.Getpagesize())
	for name, want := range map[string]string{
		"cpu.utilization": "20", "cpu.utilization[mode]": "20 system:5 user:15", "cpu.utilization[cpu]": "20 0:40 1:0", "cpu.utilization[process]": "25 node:25",
		"cpu.utilization[user]":   "25 root:25",
		"memory.bytes":            fmt.Sprintf("%.4g", 1000*page),
		"memory.bytes[component]": fmt.Sprintf("%.4g arc:4.096e+05 free:%.4g kernel:%.4g processes:%.4g", 1000*page, 100*page, 600*page-409600, 300*page),
		"memory.bytes[process]":   "2.097e+06 node:2.097e+06",
		"disk.ops[type]":          "4 read:4", "disk.bytes[disk]": "4096 sd0:4096", "net.bytes[direction]": "50 in:50", "net.errors[device]": "2 net0:2",
		"arc.accesses[result]": "30 hit:30", "arc.bytes[component]": "4.096e+05 bonus:0 data:3e+05 dbuf:0 dnode:0 headers:0 metadata:1e+05 other:9600",
	} {
		if got[name] != want {
			t.Errorf("%s: %q, not %q", name, got[name], want)
		}
	}
	// Half a second of a bit more than one, as the clock has it.
	var busy, idle float64
	if n, err := fmt.Sscanf(got["disk.utilization[disk]"], "%f blkdev1:%f sd0:%f", new(float64), &idle, &busy); n != 3 || busy < 30 || busy > 50 || idle != 0 {
		t.Errorf("disk.utilization[disk]: %q, %v", got["disk.utilization[disk]"], err)
	}
	// kstat that fails is an error of each statistic that needs it, by its name; not of the others.
	m.Program("kstat", "echo 'kstat_open: denied' >&2; exit 3")
	time.Sleep(550 * time.Millisecond)
	for p, r := range c.read(active, time.Second) {
		if p == (partition{"memory.bytes", "process"}) {
			if r.err != nil {
				t.Errorf("%v: %v", p, r.err)
			}
		} else if r.err == nil || !strings.Contains(r.err.Error(), "denied") {
			t.Errorf("%v: %v", p, r.err)
		}
	}
}

func TestProcOfIllumos(t *testing.T) {
	p, ok := parsePsinfo([]byte(psinfo(42, "sixteen-letters-", 513, 90*time.Second+5, 3)))
	if !ok || p.name != "sixteen-letters-" || p.uid != 513 || p.used != 90*time.Second+5 || p.rss != 3072 || p.id != "42 1767225600.0" {
		t.Errorf("%+v %v", p, ok)
	}
	b := laid(layout.Prusage, map[string]any{
		"pr_utime": [2]uint64{1, 500_000_000}, "pr_stime": [2]uint64{2, 500_000_000}, "pr_ttime": [2]uint64{3, 500_000_000},
		"pr_rtime": [2]uint64{100, 0},
	})
	if used, ok := parseUsage(b); !ok || used != 7500*time.Millisecond {
		t.Errorf("%v %v", used, ok)
	}
	_, one := parsePsinfo(b[:100])
	_, two := parseUsage(b[:100])
	if one || two {
		t.Error("what is cut off was read")
	}
}

func names(s *statistics.Statistic) (list []string) {
	for _, b := range s.Breakdowns {
		list = append(list, b.Name)
	}
	return list
}
