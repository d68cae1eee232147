package hoststats

// The same figures out of illumos' kstats (package kstat). It builds everywhere, so that it is tested where Cistern is built.

import (
	"os"
	"strconv"

	"cistern/services/platform/kstat"
)

// fscale is what the kernel multiplies load averages with (sys/param.h).
const fscale = 256

// ofKstats makes readings of a snapshot; what is not in it is left out.
func (c *Collector) ofKstats(s *kstat.Snapshot) []Reading {
	var all []Reading
	label := func(name, value string) Label { return Label{Name: name, Value: value} }
	// Of all processors: time in interrupts is in that of the kernel.
	added, sum := map[string]float64{}, 0.0
	for _, one := range s.Stats {
		if one.Module != "cpu" || one.Name != "sys" {
			continue
		}
		for mode, name := range map[string]string{"user": "cpu_nsec_user", "system": "cpu_nsec_kernel", "idle": "cpu_nsec_idle"} {
			id := mode + " " + strconv.Itoa(one.Instance)
			now := one.Values[name]
			if before, known := c.last[id]; known {
				added[mode] += max(0, now-before)
				sum += max(0, now-before)
			}
			c.last[id] = now
		}
	}
	for _, mode := range []string{"user", "system", "idle"} {
		if sum > 0 {
			all = append(all, gauge("cistern_host_cpu_ratio", added[mode]/sum, label("mode", mode)))
		}
	}
	if pages := s.Find("unix", 0, "system_pages"); pages != nil {
		page := float64(os.Getpagesize())
		total, free := pages.Values["physmem"]*page, pages.Values["freemem"]*page
		available := free
		if arc := s.Find("zfs", 0, "arcstats"); arc != nil {
			// The ARC gives back what others want, down to its least size.
			available += max(0, arc.Values["size"]-arc.Values["c_min"])
		}
		for kind, value := range map[string]float64{"total": total, "free": free, "available": available, "used": max(0, total-available)} {
			all = append(all, gauge("cistern_host_memory_bytes", value, label("kind", kind)))
		}
	}
	if misc := s.Find("unix", 0, "system_misc"); misc != nil {
		for minutes, name := range map[string]string{"1": "avenrun_1min", "5": "avenrun_5min", "15": "avenrun_15min"} {
			all = append(all, gauge("cistern_host_load", misc.Values[name]/fscale, label("minutes", minutes)))
		}
		if boot := misc.Values["boot_time"]; boot > 0 {
			all = append(all, gauge("cistern_host_uptime_seconds", max(0, float64(s.At.UnixMilli())/1000-boot)))
		}
	}
	for _, one := range s.Stats {
		switch {
		case one.Module == "link":
			for direction, names := range map[string][4]string{
				"receive": {"rbytes64", "ipackets64", "ierrors", "norcvbuf"}, "transmit": {"obytes64", "opackets64", "oerrors", "noxmtbuf"},
			} {
				labels := []Label{label("device", one.Name), label("direction", direction)}
				for i, what := range []string{"bytes", "packets", "errors", "drops"} {
					all = append(all, counter("cistern_host_network_"+what+"_total", one.Values[names[i]], labels...))
				}
			}
		case one.Class == "disk":
			for kind, names := range map[string][2]string{"read": {"reads", "nread"}, "write": {"writes", "nwritten"}} {
				labels := []Label{label("disk", one.Name), label("type", kind)}
				all = append(all,
					counter("cistern_host_disk_operations_total", one.Values[names[0]], labels...),
					counter("cistern_host_disk_bytes_total", one.Values[names[1]], labels...))
			}
			all = append(all, counter("cistern_host_disk_busy_seconds_total", one.Values["rtime"], label("disk", one.Name)))
		}
	}
	return all
}
