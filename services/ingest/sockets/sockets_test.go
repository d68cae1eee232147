package sockets

import (
	"net"
	"runtime"
	"testing"
)

// More is sent than the socket may hold: what was not received was dropped, to the last one.
func TestDrops(t *testing.T) {
	receiver, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	defer receiver.Close()
	granted := Enlarge(receiver, 64<<10)
	if granted < 32<<10 {
		t.Fatalf("%d bytes were granted", granted)
	}
	if runtime.GOOS != "linux" {
		t.Skip("only Linux tells what it drops")
	}
	var drops Drops
	if n, known := drops.Measure(receiver); n != 0 || !known {
		t.Fatalf("%d, known %v, before anything was sent", n, known)
	}
	sender, err := net.DialUDP("udp", nil, receiver.LocalAddr().(*net.UDPAddr))
	if err != nil {
		t.Fatal(err)
	}
	defer sender.Close()
	const sent = 1000
	for range sent {
		if _, err := sender.Write(make([]byte, 1000)); err != nil {
			t.Fatal(err)
		}
	}
	dropped, _ := drops.Measure(receiver)
	if dropped == 0 || dropped >= sent {
		t.Fatalf("%d of %d were dropped", dropped, sent)
	}
	buffer := make([]byte, 2000)
	for range sent - dropped {
		if _, err := receiver.Read(buffer); err != nil {
			t.Fatal(err)
		}
	}
	receiver.Close()
	if again, known := drops.Measure(receiver); again != dropped || !known {
		t.Errorf("%d, known %v, of a closed socket", again, known)
	}
}

func TestDropsWrap(t *testing.T) {
	var d Drops
	d.Note(1<<32 - 3)
	d.Note(4)
	if n, _ := d.Total(); n != 1<<32+4 {
		t.Error(n)
	}
}
