package tracer

// The counters of Linux: /proc (formats: proc(5) and the kernel's Documentation/admin-guide/iostats), OpenZFS' kstats in
// /proc/spl/kstat/zfs, zpool for what is nowhere else, and storaged's own figures.

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/user"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"cistern/services/command"
)

type sources struct {
	root  string
	zpool string
	store *http.Client
	// storaged's figures are read once for all statistics of a second.
	figures   []figure
	figuresAt time.Time
	users     map[uint32]string
	// capacities of all pools, for two statistics.
	capacities poll
}

func newSources(config Config) *sources {
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", config.Storaged)
	}
	s := &sources{
		root: config.Root, zpool: config.ZPool, users: map[uint32]string{},
		store: &http.Client{Transport: &http.Transport{DialContext: dial, MaxIdleConns: 1}, Timeout: 800 * time.Millisecond},
	}
	s.capacities = poll{every: 10 * time.Second, read: s.listPools}
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
	case "vdev.ops":
		return reader{totals, s.vdevs()}
	case "capacity.bytes", "capacity.percent":
		return reader{levels, s.capacity(p.statistic == "capacity.percent")}
	case "store.samples":
		return reader{totals, s.storeFigure("cistern_storaged_samples_total", "input")}
	case "store.rejected":
		return reader{totals, s.storeFigure("cistern_storaged_rejected_total", "reason")}
	case "store.series":
		return reader{levels, s.storeFigure("cistern_storaged_series", "")}
	case "store.lag":
		return reader{levels, s.storeFigure("cistern_storaged_journal_lag_seconds", "")}
	}
	return reader{levels, func(time.Duration) ([]row, error) { return nil, fmt.Errorf("%s has no counter", p.statistic) }}
}

func (s *sources) file(path string) (string, error) {
	text, err := os.ReadFile(filepath.Join(s.root, path))
	return string(text), err
}

func number(text string) float64 {
	v, _ := strconv.ParseFloat(text, 64)
	return v
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

func (s *sources) user(uid uint32) string {
	if name, known := s.users[uid]; known {
		return name
	}
	name := strconv.FormatUint(uint64(uid), 10)
	if account, err := user.LookupId(name); err == nil {
		name = account.Username
	}
	s.users[uid] = name
	return name
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

// memory divides all of it up. The ARC is the kernel's, and is told apart.
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

// kstat reads one of ZFS' tables of names, types and numbers.
func (s *sources) kstat(name string) (map[string]float64, error) {
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
	return values, nil
}

func (s *sources) arcAccesses(time.Duration) ([]row, error) {
	values, err := s.kstat("arcstats")
	if err != nil {
		return nil, err
	}
	var rows []row
	for kind, prefix := range map[string]string{"data": "demand_data", "metadata": "demand_metadata", "prefetch data": "prefetch_data", "prefetch metadata": "prefetch_metadata"} {
		rows = append(rows,
			// What is on its way from the disk already (iohits) need not be read again.
			row{at: []string{"hit", kind}, value: values[prefix+"_hits"] + values[prefix+"_iohits"]},
			row{at: []string{"miss", kind}, value: values[prefix+"_misses"]})
	}
	return rows, nil
}

func (s *sources) arcBytes(time.Duration) ([]row, error) {
	values, err := s.kstat("arcstats")
	if err != nil {
		return nil, err
	}
	other := values["size"]
	var rows []row
	for component, name := range map[string]string{"data": "data_size", "metadata": "metadata_size", "headers": "hdr_size", "dbuf": "dbuf_size", "dnode": "dnode_size", "bonus": "bonus_size"} {
		rows = append(rows, row{at: []string{component}, value: values[name]})
		other -= values[name]
	}
	return append(rows, row{at: []string{"other"}, value: max(0, other)}), nil
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

// poll is a reading that may take long, because it asks a program that may wait for a disk: it is done beside, and the
// second gets what was found last.
type poll struct {
	every time.Duration
	read  func() ([]row, error)

	mu      sync.Mutex
	busy    bool
	started time.Time
	done    time.Time
	rows    []row
	err     error
}

func (p *poll) latest(time.Duration) ([]row, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.busy && time.Since(p.started) >= p.every-100*time.Millisecond {
		p.busy, p.started = true, time.Now()
		go func() {
			rows, err := p.read()
			p.mu.Lock()
			defer p.mu.Unlock()
			p.busy, p.done, p.rows, p.err = false, time.Now(), rows, err
		}()
	}
	switch {
	case p.done.IsZero():
		return nil, errNotYet
	case p.err != nil:
		return nil, p.err
	case time.Since(p.done) > 3*p.every+10*time.Second:
		return nil, fmt.Errorf("zpool has not answered for %.0f seconds", time.Since(p.done).Seconds())
	}
	return p.rows, nil
}

func (s *sources) run(arguments ...string) (string, error) {
	result, err := command.Run(context.Background(), 10*time.Second, 4<<20, append([]string{s.zpool}, arguments...)...)
	return string(result.Stdout), err
}

// listPools asks zpool every ten seconds: a pool does not fill quicker than that, and starting a program costs. Each row
// has a pool's name, and its size, what is allocated and what is free.
func (s *sources) listPools() ([]row, error) {
	text, err := s.run("list", "-Hp", "-o", "name,size,allocated,free")
	if err != nil {
		return nil, err
	}
	var rows []row
	for line := range strings.Lines(text) {
		fields := strings.Split(strings.TrimSpace(line), "\t")
		if len(fields) == 4 && number(fields[1]) > 0 {
			rows = append(rows, row{at: []string{fields[0]}, number: []float64{number(fields[1]), number(fields[2]), number(fields[3])}})
		}
	}
	return rows, nil
}

func (s *sources) capacity(percent bool) func(time.Duration) ([]row, error) {
	return func(elapsed time.Duration) ([]row, error) {
		pools, err := s.capacities.latest(elapsed)
		if err != nil {
			return nil, err
		}
		var rows []row
		for _, p := range pools {
			if percent {
				rows = append(rows, row{at: p.at, value: 100 * p.number[1] / p.number[0]})
				continue
			}
			rows = append(rows, row{at: []string{p.at[0], "allocated"}, value: p.number[1]}, row{at: []string{p.at[0], "free"}, value: p.number[2]})
		}
		return rows, nil
	}
}

// figure is one of storaged's own.
type figure struct {
	name, label, value string // the value of the only label it may have
	number             float64
}

// storeFigure reads a figure of storaged's /metrics.
func (s *sources) storeFigure(name, label string) func(time.Duration) ([]row, error) {
	return func(time.Duration) ([]row, error) {
		if time.Since(s.figuresAt) > 500*time.Millisecond {
			list, err := s.readFigures()
			if err != nil {
				return nil, err
			}
			s.figures, s.figuresAt = list, time.Now()
		}
		var rows []row
		for _, f := range s.figures {
			if f.name != name {
				continue
			}
			r := row{value: f.number}
			if label != "" {
				r.at = []string{f.value}
			}
			rows = append(rows, r)
		}
		return rows, nil
	}
}

func (s *sources) readFigures() ([]figure, error) {
	response, err := s.store.Get("http://storaged/metrics")
	if err != nil {
		var op *net.OpError
		if errors.As(err, &op) {
			err = op
		}
		return nil, fmt.Errorf("the telemetry store does not answer: %w", err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the telemetry store answers %s", response.Status)
	}
	var list []figure
	lines := bufio.NewScanner(io.LimitReader(response.Body, 1<<20))
	for lines.Scan() {
		line := lines.Text()
		at := strings.LastIndexByte(line, ' ')
		if strings.HasPrefix(line, "#") || at < 0 {
			continue
		}
		f := figure{name: line[:at], number: number(line[at+1:])}
		if name, rest, ok := strings.Cut(f.name, "{"); ok {
			f.name = name
			label, value, _ := strings.Cut(strings.TrimSuffix(rest, "}"), "=")
			f.label = label
			f.value, _ = strconv.Unquote(value)
		}
		list = append(list, f)
	}
	return list, lines.Err()
}

// vdevs: how long ZFS' requests took on each vdev, with the time in its own queues.
func (s *sources) vdevs() func(time.Duration) ([]row, error) {
	return (&poll{every: time.Second, read: func() ([]row, error) {
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
