//go:build !linux

package execd

import (
	"errors"
	"runtime"
)

// NewHost refuses: the driver for illumos comes with the OmniOS image, and pretending would lose data.
func NewHost() (Host, error) {
	return nil, errors.New("execd has no driver for " + runtime.GOOS + " yet")
}
