package tracer

// What tracing costs those who are traced: DTrace for Linux makes BPF programs of its clauses, which the kernel runs in
// their time, and counts when kernel.bpf_stats_enabled is on.

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Numbers of bpf(2), and where struct bpf_prog_info has run_time_ns (include/uapi/linux/bpf.h; it only grows at its end).
const (
	bpfProgGetFDByID   = 13
	bpfObjGetInfoByFD  = 15
	bpfInfoRunTime     = 192
	bpfInfoLength      = 208
	maxProgramsCounted = 4000
)

// bpfInfo is where the kernel writes to. It is no local variable, because its address is hidden from Go in a number and
// must not change.
var bpfInfo [bpfInfoLength]byte

// probeTime is how long the BPF programs of a process have run; 0 when that is not counted, or not to be seen.
//
// It is for one goroutine at a time: bpfInfo is shared.
func probeTime(pid int) time.Duration {
	sum := time.Duration(0)
	for _, id := range programsOf(pid) {
		fd, ok := bpf(bpfProgGetFDByID, binary.NativeEndian.AppendUint32(nil, id))
		if !ok {
			continue
		}
		attribute := binary.NativeEndian.AppendUint32(nil, uint32(fd))
		attribute = binary.NativeEndian.AppendUint32(attribute, bpfInfoLength)
		attribute = binary.NativeEndian.AppendUint64(attribute, uint64(uintptr(unsafe.Pointer(&bpfInfo[0]))))
		if _, ok := bpf(bpfObjGetInfoByFD, attribute); ok {
			sum += time.Duration(binary.NativeEndian.Uint64(bpfInfo[bpfInfoRunTime:]))
		}
		_ = unix.Close(fd)
	}
	return sum
}

func bpf(command uintptr, attribute []byte) (int, bool) {
	attribute = append(attribute, make([]byte, 64)...) // what is not known here is zero
	result, _, err := unix.Syscall(unix.SYS_BPF, command, uintptr(unsafe.Pointer(&attribute[0])), uintptr(len(attribute)))
	return int(result), err == 0
}

// programsOf are the numbers of the BPF programs that a process holds, by themselves or by what they are attached to.
func programsOf(pid int) (list []uint32) {
	folder := fmt.Sprintf("/proc/%d/fdinfo", pid)
	files, err := os.ReadDir(folder)
	if err != nil {
		return nil
	}
	seen := map[uint32]bool{}
	for _, file := range files {
		text, err := os.ReadFile(filepath.Join(folder, file.Name()))
		if err != nil {
			continue
		}
		for line := range bytes.Lines(text) {
			digits, ok := bytes.CutPrefix(line, []byte("prog_id:"))
			if !ok {
				continue
			}
			id, err := strconv.ParseUint(string(bytes.TrimSpace(digits)), 10, 32)
			if err == nil && !seen[uint32(id)] && len(list) < maxProgramsCounted {
				seen[uint32(id)] = true
				list = append(list, uint32(id))
			}
		}
	}
	return list
}
