package smf

import (
	"fmt"
	"slices"
	"strings"
)

// counterparts are the systemd units for the FMRIs that our manifests depend on beside each other.
var counterparts = map[string]string{
	"svc:/system/filesystem/local":   "local-fs.target",
	"svc:/milestone/network":         "network-online.target",
	"svc:/system/cistern/pools":      "cistern-pools.service",
	"svc:/system/cistern/identity":   "cistern-identity.service",
	"svc:/network/cistern/nginx":     "nginx.service",
	"svc:/network/cistern/snmpd":     "snmpd.service",
	"svc:/application/cistern/akd":   "cistern-akd.service",
	"svc:/system/filesystem/minimal": "sysinit.target",
}

// linuxProperties are the names that the property group "linux" may hold: an unknown one is a typing mistake, and a
// sandbox line that silently does nothing.
var linuxProperties = []string{"unit", "type", "condition_mount", "runtime_directory", "cache_directory", "logs_directory",
	"read_write_paths", "address_families", "memory_high", "capabilities", "capabilities_why", "private_devices",
	"device_allow", "start", "environment", "memory_deny_write_execute", "kernel_logs", "kernel_tunables", "notify_access", "kill_mode", "stop_signal", "user", "group",
	"more_groups", "umask", "system_calls", "ip_addresses", "protect_hostname"}

// linuxPath is a command line or a path of illumos with the folder of sockets where Linux has it.
func linuxPath(text string) string { return strings.ReplaceAll(text, "/var/run/", "/run/") }

// Unit is a rendered systemd unit.
type Unit struct {
	Name string // with the ending .service
	Text string
}

// Systemd renders the unit for a service.
//
// A manifest says what illumos does. What may be tuned there (%{config/NAME}) has the manifest's value here. /var/run is
// /run on Linux; a start method or a variable that is another one there
// stands in the group "linux", as start and environment (NAME=VALUE, separated by blanks).
//
// Restarting follows startd's duration=child: on every exit, after a second, without a limit (akd alerts on the
// restart count instead of leaving the machine without its daemon). The sandbox is the strictest that systemd has;
// a manifest only opens what it names, and capabilities only with a reason (capabilities_why).
func Systemd(s *Service) (Unit, error) {
	linux := func(name string) string { return s.property("linux", name) }
	for _, g := range s.Groups {
		if g.Name != "linux" {
			continue
		}
		for _, v := range g.Values {
			if !slices.Contains(linuxProperties, v.Name) {
				return Unit{}, fmt.Errorf("service %s: the property linux/%s is not known", s.Name, v.Name)
			}
		}
	}
	unit := linux("unit")
	if unit == "" {
		return Unit{}, fmt.Errorf("service %s: the property linux/unit names no unit", s.Name)
	}
	if linux("capabilities") != "" && linux("capabilities_why") == "" {
		return Unit{}, fmt.Errorf("service %s: capabilities need their reason in linux/capabilities_why", s.Name)
	}
	if d := s.property("startd", "duration"); d != "child" {
		return Unit{}, fmt.Errorf("service %s: startd/duration=%q; only child services are translated", s.Name, d)
	}

	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	set := func(name, value string) {
		if value != "" {
			line("%s=%s", name, value)
		}
	}
	line("# Made by smf2systemd from svc:/%s; change the manifest, not this file.", s.Name)
	line("[Unit]")
	set("Description", s.Title)
	for _, d := range s.Dependencies {
		var units []string
		for _, f := range d.FMRIs {
			u, ok := counterparts[f.Value]
			if !ok && strings.HasPrefix(f.Value, "svc:/application/cistern/") {
				u, ok = "cistern-"+strings.TrimPrefix(f.Value, "svc:/application/cistern/")+".service", true
			}
			if !ok {
				return Unit{}, fmt.Errorf("service %s, dependency %s: no systemd counterpart is known for %s", s.Name, d.Name, f.Value)
			}
			units = append(units, u)
		}
		all := strings.Join(units, " ")
		if d.Grouping == "require_all" {
			line("Requires=%s", all)
		} else {
			line("Wants=%s", all)
		}
		line("After=%s", all)
		if d.RestartOn == "restart" || d.RestartOn == "refresh" {
			line("PartOf=%s", all)
		}
	}
	set("ConditionPathIsMountPoint", linux("condition_mount"))
	line("StartLimitIntervalSec=0")

	line("\n[Service]")
	kind := linux("type")
	if kind != "notify" && kind != "exec" {
		return Unit{}, fmt.Errorf("service %s: linux/type is %q; it is notify or exec", s.Name, kind)
	}
	line("Type=%s", kind)
	set("NotifyAccess", linux("notify_access"))
	start := s.method("start")
	command := linuxPath(start.Exec)
	if other := linux("start"); other != "" {
		command = other
	}
	command, err := s.Command(command, nil)
	if err != nil {
		return Unit{}, err
	}
	// Not to be taken for one of systemd's own specifiers.
	line("ExecStart=%s", strings.ReplaceAll(command, "%", "%%"))
	line("TimeoutStartSec=%d", start.Timeout)
	if m := s.method("stop"); m != nil {
		if m.Exec != ":kill" {
			line("ExecStop=%s", m.Exec)
		}
		line("TimeoutStopSec=%d", m.Timeout)
	}
	if m := s.method("refresh"); m != nil {
		reload := m.Exec
		if signal, ok := strings.CutPrefix(reload, ":kill -"); ok {
			reload = "/bin/kill -" + signal + " $MAINPID"
		}
		line("ExecReload=%s", reload)
	}
	line("Restart=always\nRestartSec=1")
	set("KillMode", linux("kill_mode"))
	set("KillSignal", linux("stop_signal"))
	set("WorkingDirectory", s.Context.WorkingDirectory)
	c := s.Context.Credential
	if user := linux("user"); user != "" { // Debian's packages name some accounts their own way
		c.User, c.Group = user, linux("group")
	}
	set("User", c.User)
	set("Group", c.Group)
	set("SupplementaryGroups", strings.TrimSpace(strings.ReplaceAll(c.Groups, ",", " ")+" "+linux("more_groups")))
	others := map[string]string{}
	for _, pair := range strings.Fields(linux("environment")) {
		name, value, ok := strings.Cut(pair, "=")
		if !ok {
			return Unit{}, fmt.Errorf("service %s: linux/environment: %q is not NAME=VALUE", s.Name, pair)
		}
		others[name] = value
	}
	for _, e := range s.Context.Environment {
		value := linuxPath(e.Value)
		if other, ok := others[e.Name]; ok {
			value = other
			delete(others, e.Name)
		}
		line("Environment=%q", e.Name+"="+value)
	}
	for name := range others {
		return Unit{}, fmt.Errorf("service %s: linux/environment sets %s, which the method's environment does not have", s.Name, name)
	}
	set("RuntimeDirectory", linux("runtime_directory"))
	if linux("runtime_directory") != "" {
		line("RuntimeDirectoryMode=0750")
	}
	set("CacheDirectory", linux("cache_directory"))
	set("LogsDirectory", linux("logs_directory"))
	set("MemoryHigh", linux("memory_high"))
	umask := linux("umask")
	if umask == "" {
		umask = "0027"
	}
	line("UMask=%s\nLimitNOFILE=65536\nLimitCORE=infinity\nTasksMax=512", umask)

	line("\n# The sandbox")
	line("ProtectSystem=strict")
	set("ReadWritePaths", linux("read_write_paths"))
	line("NoNewPrivileges=yes\nPrivateTmp=yes\nProtectHome=yes\nProtectControlGroups=yes\nProtectKernelModules=yes")
	if linux("kernel_tunables") != "yes" {
		line("ProtectKernelTunables=yes")
	}
	// It freezes the host name that the service sees, and the first set-up changes it: for those that tell nobody.
	if linux("protect_hostname") == "yes" {
		line("ProtectHostname=yes")
	}
	line("RestrictSUIDSGID=yes\nRestrictRealtime=yes\nRestrictNamespaces=yes\nLockPersonality=yes\nSystemCallArchitectures=native\nKeyringMode=private\nRemoveIPC=yes")
	if linux("kernel_logs") != "yes" {
		line("ProtectKernelLogs=yes")
	}
	if linux("memory_deny_write_execute") != "no" {
		line("MemoryDenyWriteExecute=yes")
	}
	if linux("private_devices") != "no" {
		// ProtectClock= allows one device, and with that denies all the others: it only fits here.
		line("PrivateDevices=yes\nProtectClock=yes")
	} else if allow := linux("device_allow"); allow != "" {
		line("DevicePolicy=closed")
		for one := range strings.SplitSeq(allow, ",") {
			line("DeviceAllow=%s", one)
		}
		line("ProtectClock=yes")
	}
	if calls := linux("system_calls"); calls != "" {
		line("PrivateMounts=yes")
		for one := range strings.SplitSeq(calls, ",") {
			line("SystemCallFilter=%s", one)
		}
	} else if strings.Contains(linux("capabilities"), "CAP_SYS_ADMIN") {
		// These start other programs as root, of which each has its own needs.
		line("SystemCallFilter=~@cpu-emulation @obsolete @reboot @swap")
	} else {
		// What is mounted on the machine is seen here; what would be mounted here is not seen there.
		line("PrivateMounts=yes\nSystemCallFilter=@system-service")
	}
	// Refused, not ended: a library that tries what is new goes on with what it knows.
	line("SystemCallErrorNumber=EPERM")
	set("RestrictAddressFamilies", linux("address_families"))
	switch addresses := linux("ip_addresses"); addresses {
	case "":
	case "none": // also what a program that it starts is handed
		line("IPAddressDeny=any")
	case "localhost":
		line("IPAddressDeny=any\nIPAddressAllow=localhost")
	default:
		return Unit{}, fmt.Errorf("service %s: linux/ip_addresses is %q; it is none, localhost, or not there", s.Name, addresses)
	}
	line("CapabilityBoundingSet=%s", linux("capabilities"))
	if c.User != "root" {
		set("AmbientCapabilities", linux("capabilities"))
	}

	line("\n[Install]\nWantedBy=multi-user.target")
	return Unit{Name: unit + ".service", Text: b.String()}, nil
}
