package collect

import (
	"path/filepath"
	"runtime"
	"slices"
	"time"
)

// Paths are where the things are that steps look at; the defaults are the appliance's.
type Paths struct {
	Run   string // sockets, /run/cistern
	State string // /var/lib/cistern
	Opt   string // /opt/cistern
	// Temporary is a folder in memory; empty: the system's own.
	Temporary string
}

// Deadlines are for what hangs, not for a machine that is busy: a step of an instant may have to wait for all the others.
const short, long = 45 * time.Second, 90 * time.Second

// goServices have a debug socket that answers what they are doing (package daemon/diagnostics).
var goServices = []string{"storaged", "tracerd", "execd", "replicd", "supportd", "gatherd"}

// Steps is what a bundle of this system holds.
func Steps(p Paths) []Step {
	if runtime.GOOS == "illumos" {
		return IllumosSteps(p)
	}
	return LinuxSteps(p)
}

// OfRoot are those that gatherd takes.
func OfRoot(steps []Step) []Step {
	return slices.DeleteFunc(slices.Clone(steps), func(s Step) bool { return !s.Root })
}

func byRoot(steps []Step) []Step {
	for i := range steps {
		steps[i].Root = true
	}
	return steps
}

// stacksOf are what each Go daemon says of itself. What changes soonest is collected first.
func stacksOf(p Paths) (steps []Step) {
	for _, name := range goServices {
		steps = append(steps, Ask("stacks", name+".txt", filepath.Join(p.Run, name, "debug.sock"), "/goroutines"),
			Ask("stacks", name+"-memory.json", filepath.Join(p.Run, name, "debug.sock"), "/memory"))
	}
	return steps
}
