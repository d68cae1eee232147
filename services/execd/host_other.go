//go:build !linux && !illumos

package execd

import (
	"errors"
	"runtime"
)

// NewHost refuses: pretending would lose data.
func NewHost() (Host, error) {
	return nil, errors.New("execd has no driver for " + runtime.GOOS)
}
