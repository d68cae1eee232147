package execd

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"cistern/services/daemon/problem"
	"cistern/services/execd/host"
)

// services are the parts that may be started and stopped from the web page, by the names of the management API.
var services = []string{"storaged", "tracerd", "execd", "akd", "replicd", "supportd", "gatherd", "nginx", "snmpd"}

type serviceActionArgument struct {
	Service string `json:"service"`
	Action  string `json:"action"`
}

func (s *Server) serviceAction(r *http.Request, a serviceActionArgument) (any, error) {
	if !slices.Contains(services, a.Service) {
		return nil, host.Invalid("/service", "The services are "+strings.Join(services, ", ")+".")
	}
	if !slices.Contains([]string{"start", "stop", "restart", "clear"}, a.Action) {
		return nil, host.Invalid("/action", "The action is start, stop, restart or clear.")
	}
	if a.Action == "stop" && (a.Service == "execd" || a.Service == "akd" || a.Service == "nginx") {
		return nil, problem.New(http.StatusConflict, "conflict", "Without "+a.Service+" nobody could start it again from the web page.", "Restart it instead.")
	}
	return map[string]string{"service": a.Service}, s.Host.Service(context.WithoutCancel(r.Context()), a.Service, a.Action)
}

type identityArgument struct {
	HostName string `json:"hostName"`
	TimeZone string `json:"timeZone"`
}

var (
	// RFC 1123: labels of letters, digits and hyphens, 63 at most each.
	hostName = regexp.MustCompile(`^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*$`)
	zoneName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_+-]*(/[A-Za-z0-9_+-]+){0,2}$`)
)

// systemIdentity keeps host name and time zone on the system pool and puts them into force at once.
func (s *Server) systemIdentity(r *http.Request, a identityArgument) (any, error) {
	a.HostName = strings.ToLower(a.HostName)
	// 64 is what the kernel takes (HOST_NAME_MAX).
	if len(a.HostName) > 64 || !hostName.MatchString(a.HostName) {
		return nil, host.Invalid("/hostName", "A host name is made of letters, digits and hyphens, at most 64; it begins and ends with a letter or digit.")
	}
	if !zoneName.MatchString(a.TimeZone) {
		return nil, host.Invalid("/timeZone", "This is no time zone's name; one looks like Europe/Berlin or Etc/UTC.")
	}
	// Linux has them in the first place, illumos in the second.
	known := func(folder string) bool {
		info, err := os.Stat(filepath.Join(folder, a.TimeZone))
		return err == nil && info.Mode().IsRegular()
	}
	if !known("/usr/share/zoneinfo") && !known("/usr/share/lib/zoneinfo") {
		return nil, host.Invalid("/timeZone", fmt.Sprintf("The time zone '%s' is not known here.", a.TimeZone))
	}
	dir := filepath.Join(s.State, "identity")
	err := errors.Join(replaceFile(filepath.Join(dir, "hostname"), []byte(a.HostName+"\n"), 0o644),
		replaceFile(filepath.Join(dir, "timezone"), []byte(a.TimeZone+"\n"), 0o644))
	if err == nil {
		err = s.Host.ApplyIdentity(context.WithoutCancel(r.Context()))
	}
	return a, err
}

type empty struct{}

// setupFinish ends the first set-up: the code is removed, and no new one is made at the next boot.
func (s *Server) setupFinish(_ *http.Request, _ empty) (any, error) {
	dir := filepath.Join(s.State, "setup")
	if err := replaceFile(filepath.Join(dir, "done"), nil, 0o644); err != nil {
		return nil, err
	}
	if err := os.Remove(filepath.Join(dir, "code")); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	return empty{}, nil
}

type powerArgument struct {
	Action string `json:"action"`
}

func (s *Server) power(r *http.Request, a powerArgument) (any, error) {
	if a.Action != "reboot" && a.Action != "off" {
		return nil, host.Invalid("/action", "The action is reboot or off.")
	}
	return empty{}, s.Host.Power(context.WithoutCancel(r.Context()), a.Action)
}
