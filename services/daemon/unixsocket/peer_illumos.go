package unixsocket

import "golang.org/x/sys/unix"

func peerUID(fd int) (int, error) {
	credentials, err := unix.GetPeerUcred(uintptr(fd))
	if err != nil {
		return -1, err
	}
	return credentials.Geteuid(), nil
}
