// Package smf reads SMF service manifests, the one source of truth for Cistern's services, and renders the systemd
// units of the Debian image from them, so that a mistake in a manifest shows on a booted machine.
package smf

import (
	"encoding/xml"
	"fmt"
	"io"
	"regexp"
	"strings"
)

// Bundle is a manifest: exactly one service in Cistern's case.
// The element order is that of service_bundle.dtd.1; unknown elements are an error in Read, not a silent loss.
type Bundle struct {
	XMLName xml.Name `xml:"service_bundle"`
	Type    string   `xml:"type,attr"`
	Name    string   `xml:"name,attr"`
	Service Service  `xml:"service"`
}

// Service is the part of a manifest that says how a daemon runs.
type Service struct {
	Name         string          `xml:"name,attr"`
	Type         string          `xml:"type,attr"`
	Version      string          `xml:"version,attr"`
	Instance     *Instance       `xml:"create_default_instance"`
	Dependencies []Dependency    `xml:"dependency"`
	Context      MethodContext   `xml:"method_context"`
	Methods      []ExecMethod    `xml:"exec_method"`
	Groups       []PropertyGroup `xml:"property_group"`
	Title        string          `xml:"template>common_name>loctext"`
	Description  string          `xml:"template>description>loctext"`
}

// Instance says whether the default instance starts at boot.
type Instance struct {
	Enabled bool `xml:"enabled,attr"`
}

// Dependency is a group of services that must be (require_all) or should be (optional_all) there first.
type Dependency struct {
	Name      string `xml:"name,attr"`
	Grouping  string `xml:"grouping,attr"`
	RestartOn string `xml:"restart_on,attr"`
	FMRIs     []struct {
		Value string `xml:"value,attr"`
	} `xml:"service_fmri"`
}

// MethodContext is as whom, where and with which privileges methods run.
type MethodContext struct {
	WorkingDirectory string `xml:"working_directory,attr"`
	Credential       struct {
		User       string `xml:"user,attr"`
		Group      string `xml:"group,attr"`
		Groups     string `xml:"supp_groups,attr"`
		Privileges string `xml:"privileges,attr"`
	} `xml:"method_credential"`
	Environment []struct {
		Name  string `xml:"name,attr"`
		Value string `xml:"value,attr"`
	} `xml:"method_environment>envvar"`
}

// ExecMethod is one of start, stop, refresh.
type ExecMethod struct {
	Name    string `xml:"name,attr"`
	Exec    string `xml:"exec,attr"`
	Timeout int    `xml:"timeout_seconds,attr"`
}

// PropertyGroup holds named values; the group "linux" is read by the translation only. What an administrator may tune is
// in the group "config": its values reach the daemon as method tokens, %{config/NAME}.
type PropertyGroup struct {
	Name   string `xml:"name,attr"`
	Values []struct {
		Name  string `xml:"name,attr"`
		Value string `xml:"value,attr"`
	} `xml:"propval"`
}

// Read parses a manifest. It fails on anything that the translation would otherwise pass over in silence: a manifest
// without a service, a start method, or with a dependency grouping that systemd cannot express.
func Read(r io.Reader) (*Service, error) {
	var b Bundle
	if err := xml.NewDecoder(r).Decode(&b); err != nil {
		return nil, fmt.Errorf("not a service manifest: %w", err)
	}
	s := &b.Service
	if b.Type != "manifest" || s.Name == "" {
		return nil, fmt.Errorf("manifest %q holds no service", b.Name)
	}
	if m := s.method("start"); m == nil || m.Exec == "" {
		return nil, fmt.Errorf("service %s has no start method", s.Name)
	}
	for _, d := range s.Dependencies {
		switch d.Grouping {
		case "require_all", "optional_all":
		default:
			return nil, fmt.Errorf("service %s, dependency %s: grouping %q has no counterpart in systemd; use require_all or optional_all", s.Name, d.Name, d.Grouping)
		}
	}
	return s, nil
}

// Start is the command line of the start method on illumos, with the values that the manifest sets or those in tuned.
func (s *Service) Start(tuned map[string]string) (string, error) {
	return s.Command(s.method("start").Exec, tuned)
}

func (s *Service) method(name string) *ExecMethod {
	for i := range s.Methods {
		if s.Methods[i].Name == name {
			return &s.Methods[i]
		}
	}
	return nil
}

var (
	token = regexp.MustCompile(`%(\{[^}]*\}|.|$)`)
	// plain are the values that mean the same to svc.startd, which quotes the others, and to systemd, which would split them.
	plain = regexp.MustCompile(`^[A-Za-z0-9.,:/_+-]*$`)
)

// Command is a method's command line as svc.startd makes it when nothing was tuned: the tokens %{GROUP/PROPERTY} are the
// manifest's own values (smf_method(7)). tuned holds other values, as GROUP/PROPERTY. It fails on a token that would fail
// there or has no counterpart here, and on a value that needs quotes.
func (s *Service) Command(exec string, tuned map[string]string) (string, error) {
	var problem error
	say := func(format string, args ...any) string {
		problem = fmt.Errorf("service %s: "+format, append([]any{s.Name}, args...)...)
		return ""
	}
	text := token.ReplaceAllStringFunc(exec, func(t string) string {
		if t == "%%" {
			return "%"
		}
		name, braces := strings.CutPrefix(t, "%{")
		name = strings.TrimSuffix(name, "}")
		group, property, ok := strings.Cut(name, "/")
		if !braces || !ok {
			return say("%q is no token that is translated; use %%{GROUP/PROPERTY}", t)
		}
		value, known := s.lookup(group, property)
		if !known {
			return say("the property %s is used in a method but not set", name)
		}
		if other, ok := tuned[name]; ok {
			value = other
		}
		if !plain.MatchString(value) {
			return say("the value %q of %s needs quotes, which the translation does not do", value, name)
		}
		return value
	})
	return text, problem
}

func (s *Service) property(group, name string) string {
	value, _ := s.lookup(group, name)
	return value
}

func (s *Service) lookup(group, name string) (value string, known bool) {
	for _, g := range s.Groups {
		if g.Name != group {
			continue
		}
		for _, v := range g.Values {
			if v.Name == name {
				return strings.TrimSpace(v.Value), true
			}
		}
	}
	return "", false
}
