// Package smf reads SMF service manifests, the one source of truth for Cistern's services, and renders the systemd
// units of the Debian image from them, so that a mistake in a manifest shows on a booted machine.
package smf

import (
	"encoding/xml"
	"fmt"
	"io"
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

// PropertyGroup holds named values; the group "linux" is read by the translation only.
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

func (s *Service) method(name string) *ExecMethod {
	for i := range s.Methods {
		if s.Methods[i].Name == name {
			return &s.Methods[i]
		}
	}
	return nil
}

func (s *Service) property(group, name string) string {
	for _, g := range s.Groups {
		if g.Name != group {
			continue
		}
		for _, v := range g.Values {
			if v.Name == name {
				return strings.TrimSpace(v.Value)
			}
		}
	}
	return ""
}
