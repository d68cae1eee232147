package crash

import (
	"fmt"
	"strings"
	"testing"
)

const nginxCore = `Process 812 (nginx) of user 33 dumped core.

Module libz.so.1 from deb zlib-1:1.3.amd64
Stack trace of thread 812:
#0  0x00007f33a8b2a5d6 epoll_wait (libc.so.6 + 0x12a5d6)
#1  0x0000561f0c1b2a11 n/a (nginx + 0x4ca11)
#2  0x0000561f0c1a7f02 ngx_process_events_and_timers (nginx + 0x41f02)

Stack trace of thread 813:
#0  0x00007f33a8b2a5d6 poll (libc.so.6 + 0x11f5d6)
ELF object binary architecture: AMD x86-64`

const goTrace = `panic: assignment to entry in nil map

goroutine 41 [running]:
cistern/services/tsdb.(*Head).append(0xc000112000, {0xc0004a8000, 0x3, 0x8})
	/src/services/tsdb/head.go:211 +0x1a5
cistern/services/tsdb.(*Store).Write(...)
	/src/services/tsdb/store.go:99
created by main.run in goroutine 1
	/src/services/cmd/storaged/main.go:70 +0x3c5

goroutine 1 [select]:
main.run({0x1, 0x2})
	/src/x.go:1`

func TestFingerprints(t *testing.T) {
	core := func(stacks string) string {
		return fingerprint(&Record{Service: "nginx", Process: "nginx", Kind: KindSignal, Signal: "SIGSEGV", Stacks: stacks})
	}
	moved := strings.NewReplacer("0x00007f33a8b2a5d6", "0x00007f0000b2a5d6", "812", "999").Replace(nginxCore)
	if core(nginxCore) != core(moved) {
		t.Error("the same place at another address is another crash")
	}
	if core(nginxCore) == core(strings.Replace(nginxCore, "epoll_wait", "memcpy", 1)) {
		t.Error("another place is the same crash")
	}
	if got := frames(goTrace); fmt.Sprint(got) != "[cistern/services/tsdb.(*Head).append cistern/services/tsdb.(*Store).Write]" {
		t.Errorf("%q", got)
	}
	sent := "SIGABRT: abort\nPC=0x47d021 m=0 sigcode=0\n\ngoroutine 0 [idle]:\nruntime.%s()\n\t/x.go:1\n"
	if core(fmt.Sprintf(sent, "futex")) != core(fmt.Sprintf(sent, "epollwait")) {
		t.Error("a signal that somebody sent has a place")
	}
	node := "TypeError: x is not a function\n    at handler (file:///opt/cistern/akd/akd.js:1042:17)\n    at process.emit (node:events:508:28)"
	if got := frames(node); len(got) != 2 || !strings.HasPrefix(got[0], "handler") {
		t.Errorf("%q", got)
	}
}

// As pstack.c of illumos-gate prints it: print_syscall pads a name to 8 characters, print_frame address and name to 17, tlhead
// draws a line between threads, in the order of their numbers; none is marked as the one that crashed.
func TestFramesOfPstack(t *testing.T) {
	const waiting = ` fffffd7fff1a5d2a lwp_park (0, 0, 0)
 fffffd7fff19e2cc cond_wait_queue (66b7f8, 66b810, 0) + 5b
`
	const head = "core '/var/cores/core.nginx.812' of 812:\t/usr/sbin/nginx\n"
	for name, c := range map[string]struct{ printed, want string }{
		"a system call": {head + " fffffd7fff1a5d2a read     (3, 4, 5)\n 000000000046ca11 ngx_read_channel (3) + 41\n", "[read ngx_read_channel]"},
		"32 bits":       {head + " fedf4785 read     (3, 4, 5)\n 08050e61 main     (1, 8047e20) + 31\n 08050d20 _start   (1)\n", "[read main _start]"},
		"the thread that runs": {head + "--------------------- thread# 1 / lwp# 1 ---------------------\n" + waiting +
			"------------- thread# 2 / lwp# 2 [worker] -------------\n 000000000046ca11 ngx_hash_find (0) + 9\n 000000000046cb00 ngx_handle (1) + 7c\n" +
			"--------------------- thread# 3 / lwp# 3 ---------------------\n" + waiting, "[ngx_hash_find ngx_handle]"},
		"the thread with the signal": {head + "--------------------- lwp# 1 / thread# 1 ---------------------\n 000000000046ca11 ngx_spin (0) + 9\n" +
			"--------------------- lwp# 2 / thread# 2 ---------------------\n fffffd7fff1a5d2a _lwp_kill () + a\n fffffd7fff100000 __sighndlr () + 6\n" +
			" --- called from signal handler with signal 11 (SIGSEGV) ---\n 000000000046cb00 ngx_handle (1) + 7c\n", "[_lwp_kill __sighndlr ngx_handle]"},
		"none runs": {head + "--------------------- thread# 1 / lwp# 1 ---------------------\n" + waiting +
			"--------------------- thread# 2 / lwp# 2 ---------------------\n" + strings.Replace(waiting, "lwp_park", "pollsys ", 1), "[lwp_park cond_wait_queue]"},
	} {
		if got := fmt.Sprint(frames(c.printed)); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
	deep := head + strings.Repeat(" 000000000046cb00 recurse  (1) + 7c\n", 40)
	if got := frames(deep); len(got) != 8 {
		t.Errorf("%d frames", len(got))
	}
}
