//go:build !linux && !illumos

package execd

import (
	"errors"
	"runtime"

	"cistern/services/execd/host"
)

// NewHost refuses: pretending would lose data.
func NewHost() (host.Host, error) {
	return nil, errors.New("execd has no driver for " + runtime.GOOS)
}
