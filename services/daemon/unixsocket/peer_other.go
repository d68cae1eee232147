//go:build !linux && !illumos

package unixsocket

import "errors"

func peerUID(int) (int, error) {
	return -1, errors.New("this operating system's peer credentials are not known to Cistern")
}
