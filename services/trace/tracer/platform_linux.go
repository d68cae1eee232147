package tracer

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"syscall"
	"time"

	"cistern/services/trace/statistics"
)

const platform = statistics.Linux

// attributes: whoever starts dtrace takes it along when it dies.
func attributes(uid int) *syscall.SysProcAttr {
	a := &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if uid >= 0 {
		a.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(uid), NoSetGroups: true}
	}
	return a
}

// cpuTime is how long a process has been on a processor.
func cpuTime(pid int) (time.Duration, bool) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, false
	}
	_, rest, ok := bytes.Cut(text, []byte(") ")) // the name is in parentheses, and may hold some
	if at := bytes.LastIndex(text, []byte(") ")); at >= 0 {
		rest = text[at+2:]
	}
	fields := bytes.Fields(rest)
	if !ok || len(fields) < 13 {
		return 0, false
	}
	user, _ := strconv.ParseInt(string(fields[11]), 10, 64)
	system, _ := strconv.ParseInt(string(fields[12]), 10, 64)
	return time.Duration(user+system) * (time.Second / 100), true // USER_HZ is 100 on all that Cistern runs on
}
