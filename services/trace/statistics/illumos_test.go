package statistics

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// What illumos' providers have, after the chapters of its Dynamic Tracing Guide: for each probe the types of its
// arguments, for each type its members. Nothing of Cistern has run on illumos yet: this keeps names that are not there
// out of the programs.
var (
	illumosProbes = map[string][]string{
		"io:::start": {"bufinfo_t", "devinfo_t", "fileinfo_t"}, "io:::done": {"bufinfo_t", "devinfo_t", "fileinfo_t"},
		"sched:::enqueue": {"lwpsinfo_t", "psinfo_t", "cpuinfo_t"}, "sched:::dequeue": {"lwpsinfo_t", "psinfo_t", "cpuinfo_t"},
		"proc:::exec-success": {}, "syscall:::entry": {}, "syscall:::return": {}, "profile-97": {}, "tick-1s": {}, "BEGIN": {},
		"tcp:::accept-established":  {"pktinfo_t", "csinfo_t", "ipinfo_t", "tcpsinfo_t", "tcpinfo_t"},
		"tcp:::connect-established": {"pktinfo_t", "csinfo_t", "ipinfo_t", "tcpsinfo_t", "tcpinfo_t"},
		"tcp:::send":                {"pktinfo_t", "csinfo_t", "ipinfo_t", "tcpsinfo_t", "tcpinfo_t"},
		"tcp:::receive":             {"pktinfo_t", "csinfo_t", "ipinfo_t", "tcpsinfo_t", "tcpinfo_t"},
		"mib:::tcpRetransSegs":      {},
	}
	illumosMembers = map[string][]string{
		"bufinfo_t":  {"b_flags", "b_bcount", "b_addr", "b_blkno", "b_lblkno", "b_resid", "b_bufsize", "b_iodone", "b_error", "b_edev"},
		"devinfo_t":  {"dev_major", "dev_minor", "dev_instance", "dev_name", "dev_statname", "dev_pathname"},
		"fileinfo_t": {"fi_name", "fi_dirname", "fi_pathname", "fi_offset", "fi_fs", "fi_mount", "fi_oflags"},
		"lwpsinfo_t": {"pr_flag", "pr_lwpid", "pr_addr", "pr_wchan", "pr_stype", "pr_state", "pr_sname", "pr_syscall", "pr_pri", "pr_clname", "pr_onpro", "pr_bindpro", "pr_bindpset"},
		"psinfo_t":   {"pr_nlwp", "pr_pid", "pr_ppid", "pr_pgid", "pr_sid", "pr_uid", "pr_euid", "pr_gid", "pr_egid", "pr_addr", "pr_ttydev", "pr_start", "pr_fname", "pr_psargs", "pr_argc", "pr_argv", "pr_envp", "pr_dmodel", "pr_taskid", "pr_projid", "pr_poolid", "pr_zoneid"},
		"cpuinfo_t":  {"cpu_id", "cpu_pset", "cpu_chip", "cpu_lgrp", "cpu_info"},
		"ipinfo_t":   {"ip_ver", "ip_plength", "ip_saddr", "ip_daddr"},
		"tcpinfo_t":  {"tcp_sport", "tcp_dport", "tcp_seq", "tcp_ack", "tcp_offset", "tcp_flags", "tcp_window", "tcp_checksum", "tcp_urgent", "tcp_hdr"},
		"tcpsinfo_t": {"tcps_addr", "tcps_local", "tcps_active", "tcps_lport", "tcps_rport", "tcps_laddr", "tcps_raddr", "tcps_state", "tcps_iss", "tcps_suna", "tcps_snxt", "tcps_rack", "tcps_rnxt", "tcps_swnd", "tcps_snd_ws", "tcps_rwnd", "tcps_rcv_ws", "tcps_cwnd", "tcps_cwnd_ssthresh", "tcps_sack_fack", "tcps_sack_snxt", "tcps_rto", "tcps_mss", "tcps_retransmit"},
	}
	illumosWords = []string{
		"int", "self", "timestamp", "walltimestamp", "execname", "probefunc", "errno", "uid", "pid", "cpu", "arg0", "args", "B_READ", "stringof", "strlen",
		"count", "sum", "llquantize", "stack", "ustack", "printf", "printa", "trunc",
	}
)

func TestIllumosPrograms(t *testing.T) {
	clause := regexp.MustCompile(`(?ms)^([A-Za-z][^\n{/]*?)\s*(/[^\n]*/)?\s*\{(.*?)^?\}`)
	member := regexp.MustCompile(`args\[(\d)\]->(\w+)`)
	strings_ := regexp.MustCompile(`"(\\.|[^"\\])*"`)
	word := regexp.MustCompile(`[@A-Za-z_]\w*(->\w+)?`)
	for _, s := range All() {
		if s.Programs[Illumos] == nil {
			continue
		}
		for _, d := range every(t, s) {
			text, err := Render(Illumos, []*Dataset{d})
			if err != nil {
				if !strings.Contains(err.Error(), "cannot be split") {
					t.Error(err)
				}
				continue
			}
			bare := strings_.ReplaceAllString(text, `""`)
			bare = strings.TrimPrefix(bare, "int cisternSecond;\n")
			found := clause.FindAllStringSubmatch(bare, -1)
			if len(found) < 3 {
				t.Fatalf("%s: the clauses are not understood:\n%s", d, text)
			}
			for _, c := range found {
				for _, probe := range strings.Split(c[1], ",") {
					types, known := illumosProbes[strings.TrimSpace(probe)]
					if !known {
						t.Errorf("%s: illumos has no probe %q", d, probe)
					}
					for _, m := range member.FindAllStringSubmatch(c[2]+c[3], -1) {
						at := int(m[1][0] - '0')
						if at >= len(types) || !slices.Contains(illumosMembers[types[at]], m[2]) {
							t.Errorf("%s: %s has no %s", d, probe, m[0])
						}
					}
				}
				for _, w := range word.FindAllString(member.ReplaceAllString(c[2]+c[3], ""), -1) {
					w = strings.TrimPrefix(w, "self->")
					if !slices.Contains(illumosWords, w) && !strings.HasPrefix(w, "cistern") && !strings.HasPrefix(w, "@") {
						t.Errorf("%s: %q is nothing that D knows on illumos", d, w)
					}
				}
			}
		}
	}
}

// every is a statistic with each of its breakdowns, and with each of its filters.
func every(t *testing.T, s *Statistic) (list []*Dataset) {
	texts := []string{s.Name}
	for _, b := range s.Breakdowns {
		if !b.FilterOnly {
			texts = append(texts, s.Name+"["+b.Name+"]")
		}
		if b.Filterable() {
			texts = append(texts, s.Name+"["+b.Name+"="+Example(&b)+"]")
		}
	}
	for _, text := range texts {
		d, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, d)
	}
	return list
}
