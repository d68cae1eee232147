package sockets

import (
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
)

func TestListenBothTriesAnotherPort(t *testing.T) {
	tries := 0
	var ports []string
	tcp, err := ListenBoth("127.0.0.1:0", func(address string) error {
		tries++
		ports = append(ports, address)
		if tries < 3 {
			return &net.OpError{Op: "listen", Net: "udp", Err: os.NewSyscallError("bind", syscall.EADDRINUSE)}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	defer tcp.Close()
	if tries != 3 || tcp.Addr().String() != ports[2] {
		t.Errorf("after %d tries it listens on %s; tried %v", tries, tcp.Addr(), ports)
	}
}

func TestListenBothRefused(t *testing.T) {
	taken, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	open := func(address string) error {
		udp, err := net.ListenPacket("udp", address)
		if err == nil {
			t.Error("a port that is taken was opened")
			_ = udp.Close()
		}
		return err
	}
	_, err = ListenBoth(taken.LocalAddr().String(), open)
	if err == nil || !strings.Contains(err.Error(), taken.LocalAddr().String()+"/udp: ") {
		t.Errorf("a port that is named and taken: %v", err)
	}
	// The TCP socket was closed again.
	tcp, err := net.Listen("tcp", taken.LocalAddr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer tcp.Close()
	if _, err := ListenBoth(tcp.Addr().String(), open); err == nil || !strings.Contains(err.Error(), "/tcp: ") {
		t.Errorf("a port of TCP that is taken: %v", err)
	}
}
