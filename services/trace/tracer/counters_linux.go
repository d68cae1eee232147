package tracer

// The counters of Linux: /proc (formats: proc(5) and the kernel's Documentation/admin-guide/iostats), OpenZFS' kstats in
// /proc/spl/kstat/zfs; the rest is in counters_shared.go.

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

type sources struct {
	*shared
	root string
	// Of all datasets, for two statistics.
	ofDatasets poll
}

func newSources(config Config) *sources {
	s := &sources{shared: newShared(config), root: config.Root}
	s.ofDatasets = poll{who: "the kernel", every: time.Second, read: s.datasetTotals}
	return s
}

func (s *sources) reader(p partition) reader {
	switch p.statistic {
	case "cpu.utilization":
		if p.by == "process" {
			return reader{levels, s.processTimes()}
		}
		return reader{levels, s.processors()}
	case "memory.bytes":
		if p.by == "process" {
			return reader{levels, s.processMemory}
		}
		return reader{levels, s.memory}
	case "disk.ops", "disk.bytes":
		return reader{totals, s.diskTotals(p.statistic == "disk.bytes")}
	case "disk.utilization":
		return reader{levels, s.diskUtilization()}
	case "net.bytes":
		return reader{totals, s.network([]int{0}, []int{8})}
	case "net.packets":
		return reader{totals, s.network([]int{1}, []int{9})}
	case "net.errors":
		return reader{totals, s.network([]int{2, 3}, []int{10, 11})}
	case "arc.accesses":
		return reader{totals, s.arcAccesses}
	case "arc.bytes":
		return reader{levels, s.arcBytes}
	case "zil.commits":
		return reader{totals, s.zil(map[string]string{"zil_commit_count": ""})}
	case "zil.bytes":
		return reader{totals, s.zil(map[string]string{"zil_itx_metaslab_normal_bytes": "normal", "zil_itx_metaslab_slog_bytes": "slog"})}
	case "txg.syncs", "txg.time":
		return reader{events, s.transactionGroups(p.statistic == "txg.time")}
	case "dataset.ops", "dataset.bytes":
		return reader{totals, s.datasets(p.statistic == "dataset.bytes")}
	case "vdev.ops":
		return reader{totals, s.vdevs()}
	}
	return s.shared.reader(p)
}

func (s *sources) file(path string) (string, error) {
	if text, known := s.texts[path]; known {
		return text, nil
	}
	text, err := os.ReadFile(filepath.Join(s.root, path))
	if err == nil && s.texts != nil {
		s.texts[path] = string(text)
	}
	return string(text), err
}

// processors: percent of each processor, by what it was busy with.
func (s *sources) processors() func(time.Duration) ([]row, error) {
	modes := []string{"user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal"} // guest time is in user
	last := map[string][]float64{}
	return func(time.Duration) ([]row, error) {
		text, err := s.file("proc/stat")
		if err != nil {
			return nil, err
		}
		var rows []row
		for line := range strings.Lines(text) {
			fields := strings.Fields(line)
			if len(fields) < 9 || !strings.HasPrefix(fields[0], "cpu") || fields[0] == "cpu" {
				continue
			}
			cpu := fields[0][3:]
			now := make([]float64, len(modes))
			sum := 0.0
			for i := range modes {
				now[i] = number(fields[i+1])
				if before := last[cpu]; before != nil {
					sum += max(0, now[i]-before[i]) // iowait can go back
				}
			}
			before := last[cpu]
			last[cpu] = now
			for i, mode := range modes {
				if mode == "idle" || mode == "iowait" || before == nil || sum == 0 {
					continue
				}
				rows = append(rows, row{at: []string{mode, cpu, "", ""}, value: 100 * max(0, now[i]-before[i]) / sum})
			}
		}
		return rows, nil
	}
}

// eachProcess calls give for each process with the fields of its stat behind its name, and its user.
func (s *sources) eachProcess(give func(pid, name string, fields []string, uid uint32)) error {
	folder := filepath.Join(s.root, "proc")
	list, err := os.ReadDir(folder)
	if err != nil {
		return err
	}
	for _, entry := range list {
		pid := entry.Name()
		if pid[0] < '0' || pid[0] > '9' {
			continue
		}
		text, err := os.ReadFile(filepath.Join(folder, pid, "stat"))
		if err != nil {
			continue // it has ended meanwhile
		}
		from, to := strings.IndexByte(string(text), '('), strings.LastIndexByte(string(text), ')')
		if from < 0 || to < from {
			continue
		}
		fields := strings.Fields(string(text[to+1:]))
		if len(fields) < 22 {
			continue
		}
		uid := uint32(0)
		if info, err := os.Stat(filepath.Join(folder, pid)); err == nil {
			uid = info.Sys().(*syscall.Stat_t).Uid
		}
		give(pid, string(text[from+1:to]), fields, uid)
	}
	return nil
}

// processTimes: percent of all processors, by process and user. What a process used before it was seen first is left
// out, unless it began since the last reading.
func (s *sources) processTimes() func(time.Duration) ([]row, error) {
	last := map[string]float64{}
	return func(elapsed time.Duration) ([]row, error) {
		cpus := 0
		if text, err := s.file("proc/stat"); err == nil {
			cpus = strings.Count(text, "\ncpu")
		}
		now := map[string]float64{}
		var rows []row
		err := s.eachProcess(func(pid, name string, fields []string, uid uint32) {
			used := number(fields[11]) + number(fields[12])
			id := pid + " " + fields[19] // with its start, for numbers are used again
			now[id] = used
			before, known := last[id]
			if elapsed == 0 || used <= before || !known && len(last) == 0 {
				return
			}
			percent := (used - before) / 100 / elapsed.Seconds() / float64(max(cpus, 1)) * 100
			rows = append(rows, row{at: []string{"", "", name, s.user(uid)}, value: percent})
		})
		last = now
		return rows, err
	}
}

func (s *sources) processMemory(time.Duration) ([]row, error) {
	var rows []row
	page := float64(os.Getpagesize())
	err := s.eachProcess(func(_, name string, fields []string, _ uint32) {
		if resident := number(fields[21]); resident > 0 { // kernel threads have none
			rows = append(rows, row{at: []string{"", name}, value: resident * page})
		}
	})
	return rows, err
}

// memory divides all of it up. The ARC belongs to the kernel, and is shown separately.
func (s *sources) memory(time.Duration) ([]row, error) {
	text, err := s.file("proc/meminfo")
	if err != nil {
		return nil, err
	}
	values := map[string]float64{}
	for line := range strings.Lines(text) {
		if fields := strings.Fields(line); len(fields) >= 2 {
			values[strings.TrimSuffix(fields[0], ":")] = number(fields[1]) * 1024
		}
	}
	arc := 0.0
	if stats, err := s.kstat("arcstats"); err == nil {
		arc = stats["size"]
	}
	cache := values["Buffers"] + values["Cached"] - values["Shmem"]
	processes := values["AnonPages"] + values["Shmem"]
	free := values["MemFree"]
	var rows []row
	for component, bytes := range map[string]float64{
		"processes": processes, "arc": arc, "cache": cache, "free": free,
		"kernel": max(0, values["MemTotal"]-free-cache-processes-arc),
	} {
		rows = append(rows, row{at: []string{component, ""}, value: max(0, bytes)})
	}
	return rows, nil
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

func (s *sources) eachDisk(give func(disk string, fields []string)) error {
	text, err := s.file("proc/diskstats")
	if err != nil {
		return err
	}
	for line := range strings.Lines(text) {
		if fields := strings.Fields(line); len(fields) >= 14 && wholeDisk(fields[2]) {
			give(fields[2], fields)
		}
	}
	return nil
}

func (s *sources) diskTotals(bytes bool) func(time.Duration) ([]row, error) {
	return func(time.Duration) (rows []row, err error) {
		err = s.eachDisk(func(disk string, fields []string) {
			for kind, at := range map[string]int{"read": 3, "write": 7, "discard": 14} {
				if at+2 >= len(fields) {
					continue
				}
				value := number(fields[at])
				if bytes {
					value = number(fields[at+2]) * 512 // sectors are of 512 bytes here, whatever the disk's are
				}
				rows = append(rows, row{at: []string{disk, kind}, value: value})
			}
		})
		return rows, err
	}
}

func (s *sources) diskUtilization() func(time.Duration) ([]row, error) {
	last := map[string]float64{}
	return func(elapsed time.Duration) (rows []row, err error) {
		now := map[string]float64{}
		err = s.eachDisk(func(disk string, fields []string) {
			busy := number(fields[12]) / 1000
			now[disk] = busy
			before, known := last[disk]
			if known && elapsed > 0 {
				percent := min(100, max(0, 100*(busy-before)/elapsed.Seconds()))
				rows = append(rows, row{at: []string{disk, ""}, number: []float64{0, percent}, value: percent})
			}
		})
		last = now
		return rows, err
	}
}

func (s *sources) network(in, out []int) func(time.Duration) ([]row, error) {
	return func(time.Duration) ([]row, error) {
		text, err := s.file("proc/net/dev")
		if err != nil {
			return nil, err
		}
		var rows []row
		for line := range strings.Lines(text) {
			device, rest, ok := strings.Cut(line, ":")
			fields := strings.Fields(rest)
			if device = strings.TrimSpace(device); !ok || len(fields) < 16 || device == "lo" {
				continue
			}
			for direction, list := range map[string][]int{"in": in, "out": out} {
				value := 0.0
				for _, at := range list {
					value += number(fields[at])
				}
				rows = append(rows, row{at: []string{device, direction}, value: value})
			}
		}
		return rows, nil
	}
}

// kstat reads one of ZFS' tables of names, types and numbers. It is not to be changed.
func (s *sources) kstat(name string) (map[string]float64, error) {
	if values := s.tables[name]; values != nil {
		return values, nil
	}
	text, err := s.file("proc/spl/kstat/zfs/" + name)
	if err != nil {
		return nil, err
	}
	values := map[string]float64{}
	for line := range strings.Lines(text) {
		if fields := strings.Fields(line); len(fields) == 3 {
			values[fields[0]] = number(fields[2])
		}
	}
	if s.tables != nil {
		s.tables[name] = values
	}
	return values, nil
}

func (s *sources) arcAccesses(time.Duration) ([]row, error) {
	values, err := s.kstat("arcstats")
	if err != nil {
		return nil, err
	}
	return arcAccesses(values), nil
}

func (s *sources) arcBytes(time.Duration) ([]row, error) {
	values, err := s.kstat("arcstats")
	if err != nil {
		return nil, err
	}
	return arcBytes(values), nil
}

func (s *sources) zil(names map[string]string) func(time.Duration) ([]row, error) {
	return func(time.Duration) ([]row, error) {
		values, err := s.kstat("zil")
		if err != nil {
			return nil, err
		}
		var rows []row
		for name, device := range names {
			rows = append(rows, row{at: []string{device}, value: values[name]})
		}
		return rows, nil
	}
}

// pools are those that have kstats.
func (s *sources) pools() ([]string, error) {
	files, err := filepath.Glob(filepath.Join(s.root, "proc/spl/kstat/zfs/*/txgs"))
	for i := range files {
		files[i] = filepath.Base(filepath.Dir(files[i]))
	}
	return files, err
}

// transactionGroups are those that were committed since the last reading. The table has a line for each of the last
// hundred: txg birth state ndirty nread nwritten reads writes otime qtime wtime stime, times in nanoseconds.
func (s *sources) transactionGroups(times bool) func(time.Duration) ([]row, error) {
	last := map[string]uint64{}
	return func(time.Duration) ([]row, error) {
		pools, err := s.pools()
		if err != nil {
			return nil, err
		}
		var rows []row
		for _, pool := range pools {
			text, err := s.file("proc/spl/kstat/zfs/" + pool + "/txgs")
			if err != nil {
				continue // exported meanwhile
			}
			before, known := last[pool]
			newest := before
			for line := range strings.Lines(text) {
				fields := strings.Fields(line)
				if len(fields) < 12 || fields[2] != "C" {
					continue
				}
				txg, err := strconv.ParseUint(fields[0], 10, 64)
				if err != nil || txg <= before {
					continue
				}
				newest = max(newest, txg)
				if !known {
					continue
				}
				if !times {
					rows = append(rows, row{at: []string{pool, "", ""}, number: []float64{0, number(fields[11]) / 1e9, number(fields[5])}, value: 1})
					continue
				}
				for state, at := range map[string]int{"open": 8, "quiescing": 9, "waiting": 10, "syncing": 11} {
					rows = append(rows, row{at: []string{pool, state}, value: number(fields[at]) / 1e9})
				}
			}
			last[pool] = newest
		}
		return rows, nil
	}
}

// datasetTotals are the counters of each dataset that is in use; read once for both statistics that are made of them. Each has a file
// of its own (dataset_kstats.c of OpenZFS), and there may be thousands: they are read no more often than takes a hundredth of
// a processor.
func (s *sources) datasetTotals() ([]row, error) {
	began := time.Now()
	files, err := filepath.Glob(filepath.Join(s.root, "proc/spl/kstat/zfs/*/objset-*"))
	if err != nil {
		return nil, err
	}
	var rows []row
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			continue // unmounted meanwhile
		}
		values := map[string]string{}
		for line := range strings.Lines(string(text)) {
			// A name, a type, and what is behind it: names of datasets have blanks in them.
			name, rest, _ := strings.Cut(strings.TrimRight(line, "\n"), " ")
			if _, value, ok := strings.Cut(strings.TrimLeft(rest, " "), " "); ok {
				values[name] = strings.TrimLeft(value, " ")
			}
		}
		dataset := values["dataset_name"]
		if dataset == "" {
			continue
		}
		pool, _, _ := strings.Cut(dataset, "/")
		rows = append(rows,
			row{at: []string{dataset, pool, "read"}, number: []float64{number(values["reads"]), number(values["nread"])}},
			row{at: []string{dataset, pool, "write"}, number: []float64{number(values["writes"]), number(values["nwritten"])}})
	}
	s.ofDatasets.mu.Lock()
	s.ofDatasets.every = min(30*time.Second, max(time.Second, 100*time.Since(began)))
	s.ofDatasets.mu.Unlock()
	return rows, nil
}

func (s *sources) datasets(bytes bool) func(time.Duration) ([]row, error) {
	return func(elapsed time.Duration) ([]row, error) {
		all, err := s.ofDatasets.latest(elapsed)
		rows := make([]row, 0, len(all))
		for _, one := range all {
			value := one.number[0]
			if bytes {
				value = one.number[1]
			}
			rows = append(rows, row{at: one.at, value: value})
		}
		return rows, err
	}
}

// vdevs: how long ZFS' requests took on each vdev, with the time in its own queues.
func (s *sources) vdevs() func(time.Duration) ([]row, error) {
	return (&poll{who: "zpool", every: time.Second, read: func() ([]row, error) {
		pools, err := s.pools()
		if err != nil {
			return nil, err
		}
		text, err := s.run("iostat", "-wvHp")
		if err != nil {
			return nil, err
		}
		return parseVdevs(text, pools), nil
	}}).latest
}

// inner are vdevs that have others below them.
var inner = regexp.MustCompile(`^(mirror|raidz[123]?|draid[^ ]*|spare|replacing|indirect)-[0-9]+$`)

// parseVdevs reads zpool iostat -wvHp: for each pool and each vdev an empty line, its name, and a line for each power of
// two of nanoseconds with the counts since the import, tab separated: the greatest latency of the row, then reads and
// writes by their whole time, and more. Only vdevs without others below them are taken, so that nothing is counted
// twice. A row's latency is taken as the middle of the row.
func parseVdevs(text string, pools []string) (rows []row) {
	pool, vdev := "", ""
	for line := range strings.Lines(text) {
		fields := strings.Split(strings.TrimRight(line, "\n"), "\t")
		if len(fields) == 1 {
			switch name := strings.TrimSpace(fields[0]); {
			case name == "":
			case slices.Contains(pools, name):
				pool, vdev = name, ""
			case inner.MatchString(name):
				vdev = ""
			default:
				vdev = name
			}
			continue
		}
		if pool == "" || vdev == "" || len(fields) < 3 {
			continue
		}
		middle := (number(fields[0]) + 1) * 0.75 / 1e9
		for i, kind := range []string{"read", "write"} {
			if n := number(fields[1+i]); n > 0 {
				rows = append(rows, row{at: []string{pool, vdev, kind, ""}, number: []float64{0, 0, 0, middle}, value: n})
			}
		}
	}
	return rows
}
