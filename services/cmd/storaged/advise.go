package main

import (
	"errors"
	"fmt"
	"syscall"

	"cistern/services/vfs"
)

// advise adds to an error that people meet at a start what they can do about it.
func advise(err error) error {
	switch {
	case errors.Is(err, vfs.ErrLocked):
		return fmt.Errorf("%w: a storaged, or one of its commands, works on this folder; end it first, or name another folder with --data", err)
	case errors.Is(err, syscall.EADDRINUSE):
		return fmt.Errorf("%w: another program listens there; end it, or name another address", err)
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return fmt.Errorf("%w: no network interface of this machine has that address", err)
	}
	return err
}
