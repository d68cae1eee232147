// Package layout computes where the fields of a C structure of 64-bit illumos lie, from its definition, for tests: what the
// product reads of the kernel by offsets is compared with bytes that the same hand did not lay out.
package layout

import (
	"encoding/binary"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// sizes are those of the data model LP64 (sys/types.h, sys/time_impl.h of illumos); each aligns to itself but where align says
// otherwise.
var sizes = map[string]int{
	"char": 1, "ushort_t": 2, "int": 4, "uint_t": 4, "pid_t": 4, "uid_t": 4, "gid_t": 4, "id_t": 4, "taskid_t": 4, "projid_t": 4,
	"poolid_t": 4, "zoneid_t": 4, "long": 8, "ulong_t": 8, "uintptr_t": 8, "size_t": 8, "dev_t": 8, "timestruc_t": 16,
}

// A timestruc_t is two longs.
var align = map[string]int{"timestruc_t": 8}

var field = regexp.MustCompile(`^\s*(\w+)\s+(\w+)(?:\[(\w+)\])?;`)

// Struct is a structure's fields.
type Struct struct {
	Offsets map[string]int
	Size    int
}

// Of reads a definition, a field a line as in the header; constants are those that stand in its brackets.
func Of(definition string, constants map[string]int) (Struct, error) {
	s := Struct{Offsets: map[string]int{}}
	widest := 1
	for line := range strings.Lines(definition) {
		if strings.TrimSpace(line) == "" {
			continue
		}
		found := field.FindStringSubmatch(line)
		if found == nil {
			return s, fmt.Errorf("%q is no field", line)
		}
		size, known := sizes[found[1]]
		if !known {
			return s, fmt.Errorf("the size of %s is not known", found[1])
		}
		to := size
		if align[found[1]] != 0 {
			to = align[found[1]]
		}
		widest = max(widest, to)
		many := 1
		if found[3] != "" {
			var err error
			if many = constants[found[3]]; many == 0 {
				if many, err = strconv.Atoi(found[3]); err != nil {
					return s, fmt.Errorf("the constant %s is not known", found[3])
				}
			}
		}
		s.Size = (s.Size + to - 1) / to * to
		s.Offsets[found[2]] = s.Size
		s.Size += size * many
	}
	s.Size = (s.Size + widest - 1) / widest * widest
	return s, nil
}

// Bytes is a structure with some fields set: a number, the two numbers of a timestruc_t, or text.
func (s Struct) Bytes(fields map[string]any) ([]byte, error) {
	b := make([]byte, s.Size)
	for name, value := range fields {
		at, known := s.Offsets[name]
		if !known {
			return nil, fmt.Errorf("there is no field %s", name)
		}
		switch value := value.(type) {
		case uint32:
			binary.LittleEndian.PutUint32(b[at:], value)
		case uint64:
			binary.LittleEndian.PutUint64(b[at:], value)
		case [2]uint64:
			binary.LittleEndian.PutUint64(b[at:], value[0])
			binary.LittleEndian.PutUint64(b[at+8:], value[1])
		case string:
			copy(b[at:], value)
		default:
			return nil, fmt.Errorf("%s: a %T is not written", name, value)
		}
	}
	return b, nil
}

// Psinfo is psinfo_t up to its lwpsinfo_t: usr/src/uts/common/sys/procfs.h of illumos-gate, 2024-06.
const Psinfo = `
	int	pr_flag;
	int	pr_nlwp;
	pid_t	pr_pid;
	pid_t	pr_ppid;
	pid_t	pr_pgid;
	pid_t	pr_sid;
	uid_t	pr_uid;
	uid_t	pr_euid;
	gid_t	pr_gid;
	gid_t	pr_egid;
	uintptr_t pr_addr;
	size_t	pr_size;
	size_t	pr_rssize;
	size_t	pr_pad1;
	dev_t	pr_ttydev;
	ushort_t pr_pctcpu;
	ushort_t pr_pctmem;
	timestruc_t pr_start;
	timestruc_t pr_time;
	timestruc_t pr_ctime;
	char	pr_fname[PRFNSZ];
	char	pr_psargs[PRARGSZ];
	int	pr_wstat;
	int	pr_argc;
	uintptr_t pr_argv;
	uintptr_t pr_envp;
	char	pr_dmodel;
	char	pr_pad2[3];
	taskid_t pr_taskid;
	projid_t pr_projid;
	int	pr_nzomb;
	poolid_t pr_poolid;
	zoneid_t pr_zoneid;
	id_t	pr_contract;
	int	pr_filler[1];
`

// PsinfoConstants are of the same header.
var PsinfoConstants = map[string]int{"PRFNSZ": 16, "PRARGSZ": 80}

// Prusage is prusage_t up to its counts, of the same header.
const Prusage = `
	id_t		pr_lwpid;
	int		pr_count;
	timestruc_t	pr_tstamp;
	timestruc_t	pr_create;
	timestruc_t	pr_term;
	timestruc_t	pr_rtime;
	timestruc_t	pr_utime;
	timestruc_t	pr_stime;
	timestruc_t	pr_ttime;
`
