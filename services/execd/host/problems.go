package host

// Errors that every host answers alike.

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"cistern/services/daemon/problem"
	"cistern/services/platform/command"
)

// ErrNoLight is answered when the slot of a disk has no light.
var ErrNoLight = errors.New("no light")

// Invalid is the problem of an argument, or of a part of it.
func Invalid(path, message string) error {
	return problem.New(http.StatusBadRequest, "invalid_request", message, "", problem.Field{Path: path, Message: message})
}

// Refused puts what was tried before what ZFS said; a command that passed its deadline may have done it or not, which is
// said as well.
func Refused(err error, what string) error {
	failed, ok := err.(*command.Error)
	switch {
	case err == nil:
		return nil
	case ok && failed.Timeout:
		return problem.New(http.StatusGatewayTimeout, "timeout", what+" did not end in time.", "It may be going on, or waiting for a disk that does not answer. Look at the pool's present state before trying again.")
	case ok && failed.Code > 0:
		return problem.New(http.StatusConflict, "command_failed", fmt.Sprintf("%s was refused. ZFS says: %s", what, sentence(failed.Said)), "")
	}
	return err
}

// sentence is what a program said, as one: without "cannot do x to y:" lines' line ends.
func sentence(said string) string {
	return strings.TrimSuffix(strings.Join(strings.Fields(said), " "), ".") + "."
}
