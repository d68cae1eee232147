package tracer

// The counters of illumos: kstats (package kstat), and /proc/PID/psinfo (proc(5)). It builds everywhere, so that it is
// tested where Cistern is built. Names of disks are the kernel's (sd0), as D programs have them.

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"cistern/services/platform/kstat"
)

type kstatSources struct {
	*shared
	root   string
	kstats *kstat.Reader
	page   float64
}

func newKstatSources(config Config) *kstatSources {
	return &kstatSources{shared: newShared(config), root: config.Root, kstats: &kstat.Reader{Program: config.Kstat}, page: float64(os.Getpagesize())}
}

func (s *kstatSources) reader(p partition) reader {
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
	case "disk.ops":
		return reader{totals, s.disks("reads", "writes")}
	case "disk.bytes":
		return reader{totals, s.disks("nread", "nwritten")}
	case "disk.utilization":
		return reader{levels, s.diskUtilization()}
	case "net.bytes":
		return reader{totals, s.links("rbytes64", "obytes64")}
	case "net.packets":
		return reader{totals, s.links("ipackets64", "opackets64")}
	case "net.errors":
		return reader{totals, s.links("ierrors", "oerrors")}
	case "arc.accesses":
		return reader{totals, s.arcAccesses}
	case "arc.bytes":
		return reader{levels, s.arcBytes}
	}
	return s.shared.reader(p)
}

// each calls give for each kstat of a module; of class, unless that is "".
func (s *kstatSources) each(module, class string, give func(*kstat.Stat)) (*kstat.Snapshot, error) {
	snapshot, err := s.kstats.Read()
	if err != nil {
		return nil, err
	}
	for _, one := range snapshot.Stats {
		if (module == "" || one.Module == module) && (class == "" || one.Class == class) {
			give(one)
		}
	}
	return snapshot, nil
}

// find is the one kstat that every illumos has.
func (s *kstatSources) find(module, name string) (map[string]float64, error) {
	snapshot, err := s.kstats.Read()
	if err != nil {
		return nil, err
	}
	if one := snapshot.Find(module, 0, name); one != nil {
		return one.Values, nil
	}
	return nil, errors.New("kstat does not print " + module + ":0:" + name)
}

// processors: percent of each processor, by what it was busy with. Time in interrupts is in that of the kernel, as
// mpstat has it; dividing by the three of them is what intrd does.
func (s *kstatSources) processors() func(time.Duration) ([]row, error) {
	last := map[int]map[string]float64{}
	return func(time.Duration) ([]row, error) {
		var rows []row
		now := map[int]map[string]float64{}
		_, err := s.each("cpu", "", func(one *kstat.Stat) {
			if one.Name != "sys" {
				return
			}
			now[one.Instance] = one.Values
			before := last[one.Instance]
			added, sum := map[string]float64{}, 0.0
			for _, name := range []string{"user", "kernel", "idle"} {
				added[name] = max(0, one.Values["cpu_nsec_"+name]-before["cpu_nsec_"+name])
				sum += added[name]
			}
			if before == nil || sum == 0 {
				return
			}
			cpu := strconv.Itoa(one.Instance)
			rows = append(rows,
				row{at: []string{"user", cpu, "", ""}, value: 100 * added["user"] / sum},
				row{at: []string{"system", cpu, "", ""}, value: 100 * added["kernel"] / sum})
		})
		if err == nil {
			last = now // a processor that was taken off line begins anew
		}
		return rows, err
	}
}

// memory divides all of it up. pp_kernel is what the kernel uses, with the ARC. What files have in memory beside the ARC
// is not told apart from processes.
func (s *kstatSources) memory(time.Duration) ([]row, error) {
	pages, err := s.find("unix", "system_pages")
	if err != nil {
		return nil, err
	}
	arc, err := s.find("zfs", "arcstats")
	if err != nil {
		return nil, err
	}
	total, free := pages["physmem"]*s.page, pages["freemem"]*s.page
	kernel := max(0, min(pages["pp_kernel"]*s.page, total-free))
	size := min(arc["size"], kernel)
	return []row{
		{at: []string{"processes", ""}, value: max(0, total-free-kernel)}, {at: []string{"kernel", ""}, value: kernel - size},
		{at: []string{"arc", ""}, value: size}, {at: []string{"free", ""}, value: free},
	}, nil
}

func (s *kstatSources) disks(read, write string) func(time.Duration) ([]row, error) {
	return func(time.Duration) (rows []row, err error) {
		_, err = s.each("", "disk", func(one *kstat.Stat) {
			rows = append(rows, row{at: []string{one.Name, "read"}, value: one.Values[read]}, row{at: []string{one.Name, "write"}, value: one.Values[write]})
		})
		return rows, err
	}
}

// diskUtilization: rtime is how long a disk has had something to do, in seconds (kstat_io in sys/kstat.h).
func (s *kstatSources) diskUtilization() func(time.Duration) ([]row, error) {
	last, lastAt := map[string]float64{}, time.Time{}
	return func(time.Duration) (rows []row, err error) {
		now := map[string]float64{}
		snapshot, err := s.each("", "disk", func(one *kstat.Stat) { now[one.Name] = one.Values["rtime"] })
		if err != nil {
			return nil, err
		}
		elapsed := snapshot.At.Sub(lastAt).Seconds()
		for disk, busy := range now {
			if before, known := last[disk]; known && elapsed > 0 {
				percent := min(100, max(0, 100*(busy-before)/elapsed))
				rows = append(rows, row{at: []string{disk, ""}, number: []float64{0, percent}, value: percent})
			}
		}
		last, lastAt = now, snapshot.At
		return rows, nil
	}
}

func (s *kstatSources) links(in, out string) func(time.Duration) ([]row, error) {
	return func(time.Duration) (rows []row, err error) {
		_, err = s.each("link", "", func(one *kstat.Stat) {
			rows = append(rows, row{at: []string{one.Name, "in"}, value: one.Values[in]}, row{at: []string{one.Name, "out"}, value: one.Values[out]})
		})
		return rows, err
	}
}

func (s *kstatSources) arcAccesses(time.Duration) ([]row, error) {
	values, err := s.find("zfs", "arcstats")
	if err != nil {
		return nil, err
	}
	return arcAccesses(values), nil
}

func (s *kstatSources) arcBytes(time.Duration) ([]row, error) {
	values, err := s.find("zfs", "arcstats")
	if err != nil {
		return nil, err
	}
	return arcBytes(values), nil
}

// process is what psinfo_t of a 64-bit system says (sys/procfs.h).
type process struct {
	id   string // with its start, for numbers are used again
	name string
	uid  uint32
	used time.Duration
	rss  float64 // bytes
}

// parsePsinfo reads /proc/PID/psinfo; false: it is cut off. The offsets are those of the fields pr_rssize, pr_start, pr_time
// and pr_fname (usr/src/uts/common/sys/procfs.h, 2024-06); the tests compute them from the definition (platform/illumos/layout).
func parsePsinfo(b []byte) (process, bool) {
	const resident, start, used, name = 56, 88, 104, 136
	if len(b) < name+16 {
		return process{}, false
	}
	number := func(at int) int64 { return int64(binary.LittleEndian.Uint64(b[at:])) }
	fname, _, _ := bytes.Cut(b[name:name+16], []byte{0})
	return process{
		id:   strconv.FormatUint(uint64(binary.LittleEndian.Uint32(b[8:])), 10) + " " + strconv.FormatInt(number(start), 10) + "." + strconv.FormatInt(number(start+8), 10),
		name: string(fname), uid: binary.LittleEndian.Uint32(b[24:]),
		used: time.Duration(number(used))*time.Second + time.Duration(number(used+8)),
		rss:  float64(number(resident)) * 1024,
	}, true
}

// parseUsage reads /proc/PID/usage (prusage_t of the same header: pr_utime, pr_stime, pr_ttime): how long a process has been on
// a processor.
func parseUsage(b []byte) (time.Duration, bool) {
	const user, system, trap = 72, 88, 104
	if len(b) < trap+16 {
		return 0, false
	}
	sum := time.Duration(0)
	for _, at := range []int{user, system, trap} {
		sum += time.Duration(binary.LittleEndian.Uint64(b[at:]))*time.Second + time.Duration(binary.LittleEndian.Uint64(b[at+8:]))
	}
	return sum, true
}

func (s *kstatSources) eachProcess(give func(process)) error {
	folder := filepath.Join(s.root, "proc")
	list, err := os.ReadDir(folder)
	if err != nil {
		return err
	}
	for _, entry := range list {
		text, err := os.ReadFile(filepath.Join(folder, entry.Name(), "psinfo"))
		if err != nil {
			continue // it has ended meanwhile
		}
		if one, ok := parsePsinfo(text); ok {
			give(one)
		}
	}
	return nil
}

// processTimes: percent of all processors, by process and user. What a process used before it was seen first is left
// out, unless it began since the last reading.
func (s *kstatSources) processTimes() func(time.Duration) ([]row, error) {
	last := map[string]time.Duration{}
	return func(elapsed time.Duration) ([]row, error) {
		cpus := 0
		if _, err := s.each("cpu", "", func(one *kstat.Stat) {
			if one.Name == "sys" {
				cpus++
			}
		}); err != nil {
			return nil, err
		}
		now := map[string]time.Duration{}
		var rows []row
		err := s.eachProcess(func(p process) {
			now[p.id] = p.used
			before, known := last[p.id]
			if elapsed == 0 || p.used <= before || !known && len(last) == 0 {
				return
			}
			percent := (p.used - before).Seconds() / elapsed.Seconds() / float64(max(cpus, 1)) * 100
			rows = append(rows, row{at: []string{"", "", p.name, s.user(p.uid)}, value: percent})
		})
		last = now
		return rows, err
	}
}

func (s *kstatSources) processMemory(time.Duration) ([]row, error) {
	var rows []row
	err := s.eachProcess(func(p process) {
		if p.rss > 0 { // the kernel's own have none
			rows = append(rows, row{at: []string{"", p.name}, value: p.rss})
		}
	})
	return rows, err
}
