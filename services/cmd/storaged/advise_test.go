package main

import (
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"

	"cistern/services/platform/vfs"
)

func TestWhatHelpsIsSaid(t *testing.T) {
	one, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer one.Close()
	_, taken := net.Listen("tcp", one.Addr().String())
	_, elsewhere := net.Listen("tcp", "192.0.2.1:0") // RFC 5737: nobody's
	for _, c := range []struct {
		err  error
		want string
	}{
		{fmt.Errorf("opening the journal: %w", vfs.ErrLocked), "a storaged, or one of its commands, works on this folder"},
		{taken, "another program listens there"},
		{elsewhere, "no network interface of this machine has that address"},
		{&net.OpError{Op: "listen", Net: "tcp", Err: os.NewSyscallError("bind", syscall.EACCES)}, "a port below 1024"},
		{&net.AddrError{Err: "missing port in address", Addr: "8125"}, "an address is HOST:PORT"},
		{&os.PathError{Op: "open", Path: "/srv/telemetry", Err: syscall.EACCES}, fmt.Sprintf("this process runs as the user %d", os.Getuid())},
		{&os.PathError{Op: "mkdir", Path: "/srv/telemetry", Err: syscall.EROFS}, "the file system is mounted to be read only"},
		{&os.PathError{Op: "write", Path: "/srv/telemetry", Err: syscall.ENOSPC}, "make room on its file system"},
		{&os.PathError{Op: "write", Path: "/srv/telemetry", Err: syscall.EDQUOT}, "make room on its file system"},
	} {
		if said := advise(c.err); !errors.Is(said, c.err) || !strings.Contains(said.Error(), c.want) {
			t.Errorf("%v", said)
		}
	}
	if other := errors.New("x"); advise(other) != other {
		t.Error("an error of another kind is changed")
	}
}
