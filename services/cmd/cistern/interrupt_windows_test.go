package main

import "golang.org/x/sys/windows"

// interruptMyself is the user's ^C, which goes to all that share the console.
func interruptMyself() { _ = windows.GenerateConsoleCtrlEvent(windows.CTRL_C_EVENT, 0) }
