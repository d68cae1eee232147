// Package certificate keeps the key and the certificate of the appliance's web page: it reads what somebody gives, says in words what is
// wrong with it, and puts a good pair in the place of the one before, in one step that is taken back unless the page answers with it.
package certificate

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"cistern/services/daemon/problem"
)

// Refusal is what is wrong with what was given: in which field, in a sentence, and what to do.
type Refusal struct{ Field, Message, Action string }

func (r *Refusal) Error() string { return r.Message }

func refuse(field, action, format string, values ...any) error {
	return &Refusal{field, fmt.Sprintf(format, values...), action}
}

// Unaccepted are the warnings that nobody has accepted.
type Unaccepted []Warning

func (u Unaccepted) Error() string {
	var all []string
	for _, one := range u {
		all = append(all, one.Message)
	}
	return strings.Join(all, " ")
}

// NotTaken is why a new certificate is not in use, and what is instead.
type NotTaken struct {
	Why error
	// Back is what went wrong when the one before was put back; nil: it is in use.
	Back error
}

func (n *NotTaken) Error() string {
	if n.Back != nil {
		return fmt.Sprintf("The web page does not answer with the new certificate: %v. The one before could not be put back: %v.", n.Why, n.Back)
	}
	return fmt.Sprintf("The web page did not answer with the new certificate: %v. The one before is in use again.", n.Why)
}

// Problem is the answer to an error of this package; any other error stays as it is.
func Problem(err error) error {
	var refusal *Refusal
	var unaccepted Unaccepted
	var notTaken *NotTaken
	switch {
	case errors.As(err, &refusal):
		return problem.New(http.StatusBadRequest, "invalid_request", refusal.Message, refusal.Action, problem.Field{Path: "/" + refusal.Field, Message: refusal.Message})
	case errors.As(err, &unaccepted):
		var fields []problem.Field
		for _, one := range unaccepted {
			fields = append(fields, problem.Field{Path: "/accept/" + one.Kind, Message: one.Message})
		}
		return problem.New(http.StatusConflict, "conflict", unaccepted.Error(), "Look at the warnings; install the certificate once more with those accepted that may be so.", fields...)
	case errors.As(err, &notTaken):
		return problem.New(http.StatusConflict, "command_failed", notTaken.Error(), "The log of nginx says what it made of it (Maintenance, Logs).")
	}
	return err
}
