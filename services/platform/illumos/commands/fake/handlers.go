package fake

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"cistern/services/platform/illumos/commands"
)

type handler func(*System, *commands.Call) (string, error)

// handlers carry the accepted calls out, by the command's name.
var handlers = map[string]handler{
	"diskinfo": (*System).diskinfo, "zpool": (*System).zpool, "zfs": (*System).zfs, "beadm": (*System).beadm,
	"svcadm": (*System).svcadm, "svcs": (*System).svcs, "hostname": (*System).setHostname, "swap": (*System).swapping,
	"ipf": (*System).ipf, "ipfstat": (*System).ipfstat,
	"prtconf": (*System).prtconf, "dumpadm": nothing, "coreadm": nothing, "dladm": (*System).dladm, "ipadm": nothing,
	"route": nothing, "mount": nothing, "umount": nothing, "svccfg": nothing, "devfsadm": nothing, "bootadm": nothing, "fmadm": nothing, "init": nothing,
}

func nothing(*System, *commands.Call) (string, error) { return "", nil }

func (s *System) beadm(call *commands.Call) (string, error) {
	find := func(name string) *environment {
		for _, e := range s.environments {
			if e.name == name {
				return e
			}
		}
		return nil
	}
	switch call.Form.Subcommand {
	case "list":
		said := ""
		for _, e := range s.environments {
			active := ""
			for letter, is := range map[string]bool{"N": e.running, "R": e.next, "T": e.once} {
				if is {
					active += letter
				}
			}
			if active == "RN" {
				active = "NR"
			}
			if active == "" {
				active = "-"
			}
			place := "-"
			if e.running {
				place = "/"
			}
			said += fmt.Sprintf("%s;d2a90ad2-0000-c9f1-ac8a-%s;%s;%s;1048576;static;%d\n", e.name, e.name, active, place, e.created)
		}
		return said, nil
	case "create":
		s.environments = append(s.environments, &environment{name: call.Operands[0], created: s.environments[len(s.environments)-1].created + 60})
		return "", nil
	case "activate":
		chosen := find(call.Operands[0])
		if chosen == nil {
			return "", refuse(1, "%s does not exist or appear to be a valid BE.\nPlease check that the name of the BE provided is correct.", call.Operands[0])
		}
		for _, e := range s.environments {
			switch {
			case call.Has("T"), call.Has("t"):
				e.once = e == chosen && call.Has("t")
			default:
				e.next, e.once = e == chosen, false
			}
		}
		return "", nil
	}
	return "", fmt.Errorf("it has no behaviour for beadm %s", call.Form.Subcommand)
}

func (s *System) svcadm(call *commands.Call) (string, error) {
	for _, fmri := range call.Operands {
		one := s.services[instance(fmri)]
		if one == nil {
			return "", refuse(1, "svcadm: Pattern '%s' doesn't match any instances", fmri)
		}
		switch on := call.Form.Subcommand == "enable"; {
		case call.Form.Subcommand != "enable" && call.Form.Subcommand != "disable":
		case call.Has("t"):
			one.override = &on
		default:
			one.enabled, one.override = on, nil
		}
	}
	return "", nil
}

// AddService makes a service known, as svccfg import does.
func (s *System) AddService(fmri string, enabled bool) {
	s.services[instance(fmri)] = &service{enabled: enabled}
}

func (s *System) svcs(call *commands.Call) (string, error) {
	said := ""
	for _, fmri := range call.Operands {
		one := s.services[instance(fmri)]
		if one == nil {
			return "", refuse(1, "svcs: Pattern '%s' doesn't match any instances", fmri)
		}
		state := "disabled"
		if one.runs() {
			state = "online"
		}
		said += state + "\n"
	}
	return said, nil
}

func (s *System) setHostname(call *commands.Call) (string, error) {
	if len(call.Operands) == 0 {
		return s.hostname + "\n", nil
	}
	s.hostname = call.Operands[0]
	return "", nil
}

func (s *System) swapping(call *commands.Call) (string, error) {
	if device := call.Value("a"); device != "" {
		s.swap = append(s.swap, device)
		return "", nil
	}
	if len(s.swap) == 0 {
		return "", refuse(1, "No swap devices configured")
	}
	said := "swapfile             dev    swaplo   blocks     free\n"
	for _, device := range s.swap {
		said += device + " 228,1        8  4194296  4194296\n"
	}
	return said, nil
}

func (s *System) prtconf(call *commands.Call) (string, error) {
	if !call.Has("m") {
		return "", fmt.Errorf("it prints -m only")
	}
	return number(int64(s.memoryMiB)) + "\n", nil
}

func (s *System) dladm(call *commands.Call) (string, error) {
	if call.Form.Subcommand != "show-phys" {
		return "", fmt.Errorf("it has no behaviour for dladm %s", call.Form.Subcommand)
	}
	return strings.Join(s.Links, "\n") + "\n", nil
}

var (
	credential = regexp.MustCompile(`<method_credential user="([^"]+)"[^>]*?(?: privileges="([^"]+)")?\s*/>`)
)

// Credential is the caller, as in CallerOf, that a manifest's method_credential makes; root with all privileges when there is
// none, as SMF has it.
func Credential(manifest string) (string, error) {
	text, err := os.ReadFile(filepath.Clean(manifest))
	if err != nil {
		return "", err
	}
	found := credential.FindStringSubmatch(string(text))
	if found == nil {
		return "", nil
	}
	var words []string
	if found[1] == "root" {
		words = append(words, "root")
	}
	if found[2] == "" && found[1] == "root" {
		return "", nil
	}
	return strings.Join(append(words, strings.Split(found[2], ",")...), ","), nil
}
