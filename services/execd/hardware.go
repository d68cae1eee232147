package execd

// What the machine's firmware and its management controller (BMC) say. Both are answered as the tools print them:
// understanding that is the platform driver's business.

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"cistern/services/daemon/problem"
	"cistern/services/execd/host"
	"cistern/services/platform/command"
)

const (
	// A controller answers each question in some 20 ms when it is well, and a large machine has hundreds of sensors.
	controllerDeadline = 90 * time.Second
	// The descriptions of the sensors change with the controller's firmware only; reading them takes longer than
	// reading the sensors.
	descriptionsAge = 24 * time.Hour
	// What is kept of the event log's end.
	controllerEvents = "200"
)

// hardwareInventory answers what the firmware's tables (SMBIOS) say of the machine's parts, and the system of its cards.
func (s *Server) hardwareInventory(r *http.Request, _ struct{}) (any, error) {
	text, err := s.Host.Inventory(r.Context())
	if err != nil {
		return nil, err
	}
	cards, err := s.Host.Cards(r.Context())
	return map[string]string{"text": text, "cards": cards}, err
}

type controllerArgument struct {
	What string `json:"what"` // about, sensors or events
}

// controllerAnswer is what a management controller says; nothing but `present` where there is none.
type controllerAnswer struct {
	Present bool   `json:"present"`
	Text    string `json:"text"`
	// With about: the chassis' state, the network it is reached over, and how full its event log is.
	Chassis string `json:"chassis,omitempty"`
	Network string `json:"network,omitempty"`
	Log     string `json:"log,omitempty"`
}

// controllerRead asks the management controller. Controllers are slow and have been stopped by being asked too much: one
// question is asked at a time, and whoever waits for another's longer than its deadline is refused.
func (s *Server) controllerRead(r *http.Request, a controllerArgument) (any, error) {
	through := s.Host.ControllerInterface()
	switch a.What {
	case "about", "sensors", "events":
	default:
		return nil, host.Invalid("/what", "What is asked of the management controller is about, sensors or events.")
	}
	if through == "" {
		return controllerAnswer{}, nil
	}
	within := cmp.Or(s.controllerWithin, controllerDeadline)
	ctx, cancel := context.WithTimeout(r.Context(), within)
	defer cancel()
	one := s.one(controllerLock)
	select {
	case one <- struct{}{}:
		defer func() { <-one }()
	case <-ctx.Done():
		return nil, controllerSilent(fmt.Sprintf("within %g seconds", within.Seconds()))
	}
	ipmi := func(arguments ...string) (string, error) {
		said, err := command.Run(ctx, within, 1<<20, append([]string{"ipmitool", "-Z", "-I", through}, arguments...)...)
		if failed, ok := err.(*command.Error); ok && failed.Timeout || ctx.Err() != nil {
			return "", controllerSilent(fmt.Sprintf("within %g seconds", within.Seconds()))
		}
		return string(said.Stdout), err
	}
	answer := controllerAnswer{Present: true}
	var err error
	switch a.What {
	case "about":
		if answer.Text, err = ipmi("mc", "info"); err == nil {
			// Not every controller has them all; what it is, it must say.
			answer.Chassis, _ = ipmi("chassis", "status")
			answer.Log, _ = ipmi("sel", "info")
			network, _ := ipmi("lan", "print")
			answer.Network = addresses(network)
		}
	case "sensors", "events":
		question := []string{"-v", "sdr", "list", "all"}
		if a.What == "events" {
			question = []string{"sel", "elist", "last", controllerEvents}
		}
		var described string
		described, err = s.descriptions(ipmi)
		switch {
		case err == nil:
			answer.Text, err = ipmi(append([]string{"-S", described, "-c"}, question...)...)
		case errors.Is(err, errNoSensors) && a.What == "events":
			// Without descriptions its events name what reported them by kind and number only.
			answer.Text, err = ipmi("-c", "sel", "list", "last", controllerEvents)
		case errors.Is(err, errNoSensors):
			err = nil
		}
		failed, ok := err.(*command.Error)
		switch {
		case !ok:
		case answer.Text != "" || strings.Contains(failed.Said, "SEL has no entries"):
			err = nil // one sensor that cannot be read makes ipmitool fail, after it has printed the others
		default:
			_ = os.Remove(described) // they may be those of an earlier firmware
		}
	}
	failed, ok := err.(*command.Error)
	switch {
	case ok && gaveUp.MatchString(failed.Said):
		err = controllerSilent("the system's driver in time")
	case ok:
		err = problem.New(http.StatusBadGateway, "command_failed", fmt.Sprintf("The management controller (BMC) could not be asked: %v.", err), "If it stays like this, restart the controller by its own web page; the machine goes on meanwhile.")
	}
	return answer, err
}

// controllerLock is the lock of the management controller. No pool has this name.
const controllerLock = "/controller"

// gaveUp is how ipmitool says that the driver of the system waited in vain: completion code c3 of the IPMI specification, table 5-2.
var gaveUp = regexp.MustCompile(`\b0xc3\b|: Timeout\b`)

// controllerSilent is the error of one that does not answer; how says how that was found out.
func controllerSilent(how string) error {
	return problem.New(http.StatusGatewayTimeout, "timeout", "The management controller (BMC) did not answer "+how+".", "It may be busy or hang. If it stays like this, restart the controller by its own web page; the machine goes on meanwhile.")
}

// errNoSensors: the controller describes no sensor. ipmitool must not be asked for them then: ipmi_sdr_start of its ipmi_sdr.c makes
// up records and writes them into the controller.
var errNoSensors = errors.New("the controller describes no sensor")

// noRecords is of what ipmi_sdr_print_info of ipmi_sdr.c prints.
var noRecords = regexp.MustCompile(`(?m)^Record Count +: 0$`)

// descriptions is the file with the sensors' descriptions, as ipmitool keeps them; made anew once a day.
func (s *Server) descriptions(ipmi func(...string) (string, error)) (string, error) {
	path := filepath.Join(s.State, "execd", "sensors.sdr")
	if info, err := os.Stat(path); err == nil && time.Since(info.ModTime()) < descriptionsAge && info.Size() > 0 {
		return path, nil
	}
	said, err := ipmi("sdr", "info")
	if err != nil {
		return path, err
	}
	if noRecords.MatchString(said) {
		return path, errNoSensors
	}
	fresh := path + ".new"
	if err := os.Remove(fresh); err != nil && !errors.Is(err, os.ErrNotExist) {
		return path, err
	}
	if _, err := ipmi("sdr", "dump", fresh); err != nil {
		return path, err
	}
	return path, os.Rename(fresh, path)
}

// addresses keeps of what ipmitool says of the controller's network only where it is: the rest includes the SNMP community.
func addresses(text string) string {
	var kept strings.Builder
	for line := range strings.Lines(text) {
		name, _, _ := strings.Cut(line, ":")
		switch strings.TrimSpace(name) {
		case "IP Address", "MAC Address", "IP Address Source", "802.1q VLAN ID":
			kept.WriteString(line)
		}
	}
	return kept.String()
}
