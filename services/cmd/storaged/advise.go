package main

import (
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"

	"cistern/services/platform/vfs"
)

// advise adds to an error at a start what an operator can do about it.
func advise(err error) error {
	var listening *net.OpError
	var address *net.AddrError
	switch {
	case errors.Is(err, vfs.ErrLocked):
		return fmt.Errorf("%w: a storaged, or one of its commands, works on this folder; end it first, or name another folder with --data", err)
	case errors.Is(err, syscall.EADDRINUSE):
		return fmt.Errorf("%w: another program listens there; end it, or name another address", err)
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return fmt.Errorf("%w: no network interface of this machine has that address", err)
	case errors.As(err, &address):
		return fmt.Errorf("%w: an address is HOST:PORT, or :PORT for all of this machine's", err)
	case errors.Is(err, syscall.EACCES) && errors.As(err, &listening):
		return fmt.Errorf("%w: a port below 1024, and a folder that others own, need a privilege; name another address", err)
	case errors.Is(err, syscall.EACCES), errors.Is(err, syscall.EPERM):
		return fmt.Errorf("%w: this process runs as the user %d; give that user the folder, or run it as the one who owns it", err, os.Getuid())
	case errors.Is(err, syscall.EROFS):
		return fmt.Errorf("%w: the file system is mounted to be read only; make it writable, or name another folder with --data", err)
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return fmt.Errorf("%w: make room on its file system or raise its quota, or name another folder", err)
	}
	return err
}
