package fake

import (
	"fmt"
	"strings"

	"cistern/services/platform/illumos/commands"
)

// ipfilter are the two sets of rules that the kernel keeps, each of IPv4 and IPv6, until it stops.
type ipfilter struct {
	enabled bool
	active  int
	rules   [2]map[bool][]string // by whether they are of IPv6
}

// ipf carries the options out in the order in which execd gives them: which set, flush it, fill it; or exchange the sets.
func (s *System) ipf(call *commands.Call) (string, error) {
	set, six := s.filter.active, call.Has("6")
	if call.Has("I") {
		set = 1 - set
	}
	if call.Has("E") {
		s.filter.enabled = true
	}
	if s.filter.rules[set] == nil {
		s.filter.rules[set] = map[bool][]string{}
	}
	switch what := call.Value("F"); what {
	case "":
	case "a":
		s.filter.rules[set][six] = nil
	default:
		return "", fmt.Errorf("it flushes all rules only, not %s", what)
	}
	if call.Value("f") == "-" {
		for line := range strings.Lines(s.input) {
			if line = strings.TrimSpace(line); line != "" {
				s.filter.rules[set][six] = append(s.filter.rules[set][six], line)
			}
		}
	}
	if !call.Has("s") {
		return "", nil
	}
	s.filter.active = 1 - s.filter.active
	return fmt.Sprintf("Set %d now inactive\n", 1-s.filter.active), nil
}

// ipfstat prints what goes out first, each rule after its number of packets; printfr writes any address of IPv6 as ::/0.
func (s *System) ipfstat(call *commands.Call) (string, error) {
	if !call.Has("h") || !call.Has("i") || !call.Has("o") {
		return "", fmt.Errorf("it prints -h -i -o only")
	}
	set, six := s.filter.active, call.Has("6")
	if call.Has("I") {
		set = 1 - set
	}
	said := ""
	for _, way := range []string{" out ", " in "} {
		for _, rule := range s.filter.rules[set][six] {
			if !strings.Contains(rule, way) {
				continue
			}
			if six {
				rule = strings.NewReplacer(" any", " ::/0", "proto 58", "proto ipv6-icmp").Replace(rule)
			}
			said += "0 " + rule + "\n"
		}
	}
	return said, nil
}

// Filtered are the rules of IPv4 that hold, while ipfilter is on.
func (s *System) Filtered() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.filter.enabled {
		return nil
	}
	return s.filter.rules[s.filter.active][false]
}
