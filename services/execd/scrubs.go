package execd

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"cistern/services/execd/host"
	"cistern/services/platform/command"
)

type scanArgument struct {
	Pool   string `json:"pool"`
	Action string `json:"action"`
}

func (a scanArgument) pool() string { return a.Pool }

// poolScrub starts (or goes on with), pauses or stops reading and checking everything in a pool.
func (s *Server) poolScrub(r *http.Request, a scanArgument) (any, error) {
	return s.scan(r, a, "scrub", map[string][]string{"start": nil, "pause": {"-p"}, "stop": {"-s"}})
}

// poolTrim starts (or goes on with), suspends or stops telling the disks which of their blocks are free.
func (s *Server) poolTrim(r *http.Request, a scanArgument) (any, error) {
	return s.scan(r, a, "trim", map[string][]string{"start": nil, "suspend": {"-s"}, "cancel": {"-c"}})
}

func (s *Server) scan(r *http.Request, a scanArgument, what string, actions map[string][]string) (any, error) {
	ctx := context.WithoutCancel(r.Context())
	if err := mustExist(ctx, a.Pool); err != nil {
		return nil, err
	}
	options, ok := actions[a.Action]
	if !ok {
		var names []string
		for name := range actions {
			names = append(names, name)
		}
		slices.Sort(names)
		return nil, host.Invalid("/action", "The action is one of "+strings.Join(names, ", ")+".")
	}
	// "Starting", "pausing": what was tried, for the refusal.
	return a, zpool(ctx, fmt.Sprintf("The %s of the pool '%s' (%s)", what, a.Pool, a.Action), append(append([]string{what}, options...), a.Pool)...)
}

type poolArgument struct {
	Pool string `json:"pool"`
}

func (a poolArgument) pool() string { return a.Pool }

type textAnswer struct {
	// What ZFS prints. Reading it is the platform driver's business.
	Text string `json:"text"`
}

// poolHistory is every change that ZFS wrote down about a pool, with times in UTC; the last megabyte of it.
func (s *Server) poolHistory(r *http.Request, a poolArgument) (any, error) {
	if err := mustExist(r.Context(), a.Pool); err != nil {
		return nil, err
	}
	const most, kept = 64 << 20, 1 << 20
	said, err := command.Run(r.Context(), 45*time.Second, most, "zpool", "history", "-l", a.Pool)
	text := said.Stdout
	if len(text) > kept {
		text = text[len(text)-kept:]
	}
	return textAnswer{string(text)}, host.Refused(err, fmt.Sprintf("Reading the history of the pool '%s'", a.Pool))
}

// poolErrors names the files that are damaged for good.
func (s *Server) poolErrors(r *http.Request, a poolArgument) (any, error) {
	if err := mustExist(r.Context(), a.Pool); err != nil {
		return nil, err
	}
	said, err := command.Run(r.Context(), 45*time.Second, 1<<20, "zpool", "status", "-v", a.Pool)
	return textAnswer{string(said.Stdout)}, host.Refused(err, fmt.Sprintf("Reading the errors of the pool '%s'", a.Pool))
}
