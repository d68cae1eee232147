package sockets

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"syscall"
)

// maxTries is how many ports are tried when any will do: of a free port of TCP another program may have that of UDP.
const maxTries = 16

// ListenBoth listens on an address by TCP, and has udp open the same one for datagrams. With port 0 both get one number,
// which is free for both. Errors name the address and the protocol; nothing is left open then, if udp leaves nothing open.
func ListenBoth(address string, udp func(address string) error) (net.Listener, error) {
	for try := 1; ; try++ {
		tcp, err := net.Listen("tcp", address)
		if err != nil {
			return nil, fmt.Errorf("%s/tcp: %w", address, err)
		}
		host, port, err := net.SplitHostPort(address)
		if err == nil {
			if err = udp(net.JoinHostPort(host, strconv.Itoa(tcp.Addr().(*net.TCPAddr).Port))); err == nil {
				return tcp, nil
			}
		}
		_ = tcp.Close()
		if port != "0" || try == maxTries || !errors.Is(err, syscall.EADDRINUSE) {
			return nil, fmt.Errorf("%s/udp: %w", address, err)
		}
	}
}
