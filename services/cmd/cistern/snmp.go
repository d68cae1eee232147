package main

// cistern snmp-agent: what net-snmp's snmpd runs to answer about CISTERN-MIB.

import (
	"fmt"
	"time"

	"cistern/services/snmp"
)

func snmpAgent(s streams, arguments []string) error {
	if len(arguments) != 1 {
		return fmt.Errorf("snmp-agent needs the file that akd writes; %w", errUsage)
	}
	a := &snmp.Agent{File: arguments[0], Now: time.Now, Log: s.err}
	return a.Serve(s.in, s.out)
}
