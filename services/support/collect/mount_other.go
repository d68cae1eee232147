//go:build !linux

package collect

import "errors"

// mount: on illumos the disk is mounted below /media by the system (rmvolmgr); to be done with the OmniOS image.
func mount(string, string) (func() error, error) {
	return nil, errors.New("writing to a plugged-in disk is not done on this operating system yet; use the command line to copy the bundle there")
}
