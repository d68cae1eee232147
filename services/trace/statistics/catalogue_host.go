package statistics

// Processors, memory, processes and calls.

import (
	"bufio"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Breakdowns that many statistics have.
var (
	byProcess = Breakdown{Name: "process", Title: "by process"}
	byUser    = Breakdown{Name: "user", Title: "by user", Type: Named, Codes: userNames}
	byCPU     = Breakdown{Name: "cpu", Title: "by processor", Type: Whole}
)

func latency(title string) Breakdown {
	return Breakdown{Name: "latency", Title: title, Distribution: true, Unit: "seconds", Decades: -9}
}

func choice(name, title string, values ...string) Breakdown {
	return Breakdown{Name: name, Title: title, Type: Choice, Values: values}
}

// both is one program that serves both platforms: the providers have the same probes and the same arguments.
func both(p *Program) map[Platform]*Program { return map[Platform]*Program{Linux: p, Illumos: p} }

var processors = []*Statistic{
	{
		Name: "cpu.utilization", Title: "CPU utilization", Unit: "percent", Kind: Level, Average: "cpu", Source: Counter, Cost: "none", Always: []string{"", "mode", "cpu"},
		Check: "The machine feels slow, or to see whether it has room for more work.",
		Read:  "100 % is all processors, busy all of the time. By mode: much system time is work for programs that the kernel does. By process or user it is that one's share of all processors.",
		Next:  []string{"sched.waits", "cpu.profile", "syscall.calls"},
		Breakdowns: []Breakdown{
			choice("mode", "by mode", "user", "nice", "system", "irq", "softirq", "steal"),
			byCPU, byProcess, byUser,
		},
	},
	{
		Name: "cpu.profile", Title: "CPU profile", Unit: "samples", Kind: Amount, Stacks: true, Source: DTrace, Cost: "high",
		Check: "A processor is busy and cpu.utilization[process] does not tell why.",
		Read:  "97 times a second each busy processor is looked at. The wider a frame, the more often its function was running, or had called what was running.",
		Next:  []string{"syscall.calls", "sched.waits"},
		Breakdowns: []Breakdown{
			filterOnly(byProcess), filterOnly(byUser), filterOnly(byCPU),
		},
		// 97 and not 100: what runs on the beat of a clock would otherwise be seen always or never.
		Programs: both(&Program{Points: []Point{{Probe: "profile-97", When: "pid != 0", Fields: map[string]string{"process": "execname", "user": "uid", "cpu": "cpu"}}}}),
	},
	{
		Name: "sched.waits", Title: "Run queue waits", Unit: "operations", Kind: Amount, Source: DTrace, Cost: "high",
		Check: "Processors are busy and something takes longer than it should.",
		Read:  "Each time that a thread was ready and then got a processor. By latency: how long it was ready but did not run. Milliseconds mean that there are more threads that want to run than processors.",
		Next:  []string{"cpu.utilization", "cpu.profile"},
		Breakdowns: []Breakdown{
			byProcess, byCPU, latency("by time in the queue"),
		},
		Programs: map[Platform]*Program{
			Linux: {
				Setup: []Clause{
					{Text: "rawtp:sched::sched_wakeup, rawtp:sched::sched_wakeup_new\n{\n\tcisternReady[((struct task_struct *)arg0)->pid] = timestamp;\n}"},
					// A thread that has to make room for another one is ready again at once.
					{Text: "rawtp:sched::sched_switch\n/((struct task_struct *)arg1)->__state == 0 && ((struct task_struct *)arg1)->pid != 0/\n{\n\tcisternReady[((struct task_struct *)arg1)->pid] = timestamp;\n}"},
				},
				Points: []Point{{
					Probe: "rawtp:sched::sched_switch", When: "((struct task_struct *)arg2)->pid != 0 && cisternReady[((struct task_struct *)arg2)->pid] != 0",
					Fields: map[string]string{"process": "stringof(((struct task_struct *)arg2)->comm)", "cpu": "cpu",
						"latency": "timestamp - cisternReady[((struct task_struct *)arg2)->pid]"},
				}},
				Cleanup: []Clause{{Text: "rawtp:sched::sched_switch\n{\n\tcisternReady[((struct task_struct *)arg2)->pid] = 0;\n}"}},
			},
			Illumos: {
				Setup: []Clause{{Text: "sched:::enqueue\n{\n\tcisternReady[args[0]->pr_lwpid, args[1]->pr_pid] = timestamp;\n}"}},
				Points: []Point{{
					Probe: "sched:::dequeue", When: "cisternReady[args[0]->pr_lwpid, args[1]->pr_pid] != 0",
					Fields: map[string]string{"process": "stringof(args[1]->pr_fname)", "cpu": "args[2]->cpu_id",
						"latency": "timestamp - cisternReady[args[0]->pr_lwpid, args[1]->pr_pid]"},
				}},
				Cleanup: []Clause{{Text: "sched:::dequeue\n{\n\tcisternReady[args[0]->pr_lwpid, args[1]->pr_pid] = 0;\n}"}},
			},
		},
	},
	{
		Name: "syscall.calls", Title: "System calls", Unit: "operations", Kind: Amount, Source: DTrace, Cost: "high",
		Check: "There is much system time, or a program waits and it is not known for what.",
		Read:  "What programs ask of the kernel. By latency: how long the answers took; long ones are mostly waits that are meant to be (poll, futex), so narrow it to one call or process first. By error: those that failed; 0 did not.",
		Next:  []string{"io.ops", "cpu.profile"},
		Breakdowns: []Breakdown{
			byProcess,
			{Name: "call", Title: "by call", Codes: callNames},
			{Name: "error", Title: "by error", Type: Named, Codes: errorNames},
			latency("by duration"),
		},
		Programs: map[Platform]*Program{
			// One tracepoint of all calls: the provider syscall has two for each of them, and 700 take minutes to prepare.
			Linux: {
				Setup: []Clause{{For: []string{"latency"}, Text: "rawtp:raw_syscalls::sys_enter\n{\n\tself->cisternCalled = timestamp;\n}"}},
				Points: []Point{{Probe: "rawtp:raw_syscalls::sys_exit", Fields: map[string]string{
					"process": "execname", "call": "((struct pt_regs *)arg0)->orig_ax",
					// The last page of numbers are errors, negative.
					"error":   "(int64_t)arg1 < 0 && (int64_t)arg1 > -4096 ? -(int64_t)arg1 : 0",
					"latency": calledFor,
				}}},
			},
			Illumos: {
				Setup: []Clause{{For: []string{"latency"}, Text: "syscall:::entry\n{\n\tself->cisternCalled = timestamp;\n}"}},
				Points: []Point{{Probe: "syscall:::return", Fields: map[string]string{
					"process": "execname", "call": "probefunc", "error": "errno", "latency": calledFor,
				}}},
			},
		},
	},
	{
		Name: "proc.starts", Title: "Process starts", Unit: "operations", Kind: Amount, Source: DTrace, Cost: "low",
		Check: "Processors are busy, but with no process that lasts.",
		Read:  "Programs that were started. Many a second are mostly a script, or something that dies and is started again.",
		Next:  []string{"cpu.utilization"},
		Breakdowns: []Breakdown{
			byProcess, byUser,
		},
		Programs: both(&Program{Points: []Point{{Probe: "proc:::exec-success", Fields: map[string]string{"process": "execname", "user": "uid"}}}}),
	},
}

var machine = []*Statistic{
	{
		Name: "memory.bytes", Title: "Memory", Unit: "bytes", Kind: Level, Source: Counter, Cost: "none", Always: []string{"", "component"},
		Check: "Something was killed for want of memory, or to see what the ZFS cache leaves to others.",
		Read:  "All of the memory, by what it is used for. The ARC gives memory back when others want it. By process: the memory that is resident, where pages that several share count for each.",
		Next:  []string{"arc.bytes"},
		Breakdowns: []Breakdown{
			choice("component", "by use", "processes", "kernel", "arc", "cache", "free"),
			byProcess,
		},
	},
	{
		Name: "capacity.bytes", Title: "Capacity", Unit: "bytes", Kind: Level, Source: Counter, Cost: "none", Always: []string{"kind"},
		Check: "To see how quickly pools fill.",
		Read:  "The size of the pools as ZFS counts it, with what is needed for parity.",
		Next:  []string{"capacity.percent"},
		Breakdowns: []Breakdown{
			{Name: "pool", Title: "by pool"}, choice("kind", "by kind", "allocated", "free"),
		},
	},
	{
		Name: "capacity.percent", Title: "Percent of capacity used", Unit: "percent", Kind: Level, Average: "pool", Source: Counter, Cost: "none", Always: []string{"pool"},
		Check: "A threshold on this says early enough that a pool fills.",
		Read:  "From 80 % on ZFS needs longer to find room, from 95 % on much longer.",
		Next:  []string{"capacity.bytes"},
		Breakdowns: []Breakdown{
			{Name: "pool", Title: "by pool"},
		},
	},
}

func filterOnly(b Breakdown) Breakdown {
	b.FilterOnly = true
	return b
}

// calledFor is how long a call took; one that began before the program has no beginning.
const calledFor = "self->cisternCalled ? timestamp - self->cisternCalled : 0"

// callNames are those of Linux' numbers; illumos' D programs have names themselves.
func callNames(p Platform) map[int64]string {
	if p == Linux {
		return linuxCalls
	}
	return nil
}

// users keeps the accounts for a minute: they hardly ever change.
var users struct {
	sync.Mutex
	names map[int64]string
	read  time.Time
}

func userNames(Platform) map[int64]string {
	users.Lock()
	defer users.Unlock()
	if time.Since(users.read) < time.Minute {
		return users.names
	}
	users.read, users.names = time.Now(), map[int64]string{0: "root"}
	file, err := os.Open("/etc/passwd")
	if err != nil {
		return users.names
	}
	defer file.Close()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		fields := strings.Split(lines.Text(), ":")
		if len(fields) < 3 {
			continue
		}
		// A name that is a number would stand for another user.
		if _, err := strconv.Atoi(fields[0]); err == nil {
			continue
		}
		if uid, err := strconv.ParseInt(fields[2], 10, 64); err == nil && users.names[uid] == "" {
			users.names[uid] = fields[0]
		}
	}
	return users.names
}

// errorNames are those of this system's errors; another's are the ones on which all agree since the seventh edition.
func errorNames(p Platform) map[int64]string {
	names := map[int64]string{0: "0"}
	last := 34
	if string(p) == runtime.GOOS {
		last = 150
	}
	for i := 1; i <= last; i++ {
		if name := errnoName(i); name != "" {
			names[int64(i)] = name
		}
	}
	return names
}
