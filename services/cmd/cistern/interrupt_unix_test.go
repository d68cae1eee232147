//go:build unix

package main

import (
	"os"
	"syscall"
)

// interruptMyself is the user's ^C.
func interruptMyself() { _ = syscall.Kill(os.Getpid(), syscall.SIGINT) }
