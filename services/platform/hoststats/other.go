//go:build !linux

package hoststats

import "cistern/services/platform/kstat"

// kstats are read by one program for all of it.
var kstats kstat.Reader

// Read reads everything; when kstat fails there is nothing, and the second has a gap.
func (c *Collector) Read() []Reading {
	snapshot, err := kstats.Read()
	if err != nil {
		return nil
	}
	return c.ofKstats(snapshot)
}
