package collectd

// A packet: parts, each with two bytes of type, two of length (of the whole part, large end first) and content. Parts
// with text or a time say what holds for the values that follow.

import (
	"encoding/binary"
	"errors"
	"math"
	"net/netip"
	"strconv"
	"unsafe"

	"cistern/services/ingest/senders"
	"cistern/services/store/tsdb"
)

// What is wrong with a packet or a value; reasons of refusal.
const (
	BadPacket    tsdb.Reason = "collectd_malformed" // the rest of the packet is left
	Incomplete   tsdb.Reason = "collectd_incomplete"
	BadTime      tsdb.Reason = "collectd_bad_time"
	NoValue      tsdb.Reason = "collectd_nan" // collectd's way to say that it does not know
	NotSigned    tsdb.Reason = "collectd_not_signed"
	NoUsers      tsdb.Reason = "collectd_no_users" // signed or encrypted, and no user is configured
	UnknownUser  tsdb.Reason = "collectd_unknown_user"
	BadSignature tsdb.Reason = "collectd_bad_signature" // or encrypted with another password
	NotStored    tsdb.Reason = "collectd_not_stored"    // the store took nothing at all when they came
)

// The types of parts.
const (
	partHost           = 0x0000
	partTime           = 0x0001
	partPlugin         = 0x0002
	partPluginInstance = 0x0003
	partType           = 0x0004
	partTypeInstance   = 0x0005
	partValues         = 0x0006
	partTimeHR         = 0x0008
	partSignature      = 0x0200
	partEncryption     = 0x0210
)

// The types of values.
const (
	counter  = 0
	gauge    = 1
	derive   = 2
	absolute = 3
)

const (
	partHeader = 4
	// maxText is twice what collectd itself allows in a name.
	maxText = 256
	// maxSeconds is the latest time, in the year 5138.
	maxSeconds = 1e11
)

// batch gathers samples for one Ingest; their keys share memory. Not safe for several goroutines.
type batch struct {
	users   map[string]string
	samples []tsdb.Sample
	keys    []byte
	name    []byte
	labels  []tsdb.Label
	refused map[tsdb.Reason]int
	// from sent what is being read; spans says who sent which samples, and blamed what was refused of whom.
	from   netip.Addr
	spans  senders.Parts
	blamed map[blame]int
}

type blame struct {
	from   netip.Addr
	reason tsdb.Reason
}

// begin says who sent what is read from here on.
func (b *batch) begin(from netip.Addr) {
	b.spans.Add(b.from, len(b.samples))
	b.from = from
}

func (b *batch) reset() {
	if cap(b.keys) > 4<<20 {
		b.keys = nil
	}
	b.samples, b.keys = b.samples[:0], b.keys[:0]
	b.spans.Reset()
}

func (b *batch) refuse(reason tsdb.Reason, n int) {
	if b.refused == nil {
		b.refused, b.blamed = map[tsdb.Reason]int{}, map[blame]int{}
	}
	b.refused[reason] += n
	b.blamed[blame{b.from, reason}] += n
}

// about is what the parts before a value said. It shares the packet's memory.
type about struct {
	host, plugin, pluginInstance, kind, typeInstance []byte
	time                                             int64 // ms
	badTime                                          bool
}

// packet takes a packet. What came before something unreadable is kept.
func (b *batch) packet(packet []byte, now int64) {
	b.parts(packet, now, len(b.users) == 0, true)
}

// parts takes a row of parts. trusted says that their values may be taken, outer that they are not encrypted.
func (b *batch) parts(rest []byte, now int64, trusted, outer bool) {
	state := about{time: now}
	for len(rest) > 0 {
		if len(rest) < partHeader {
			b.refuse(BadPacket, 1)
			return
		}
		kind, length := binary.BigEndian.Uint16(rest), int(binary.BigEndian.Uint16(rest[2:]))
		if length < partHeader || length > len(rest) {
			b.refuse(BadPacket, 1)
			return
		}
		content := rest[partHeader:length]
		rest = rest[length:]
		ok := true
		switch kind {
		case partHost:
			state.host, ok = textOf(content)
		case partPlugin:
			state.plugin, ok = textOf(content)
		case partPluginInstance:
			state.pluginInstance, ok = textOf(content)
		case partType:
			state.kind, ok = textOf(content)
		case partTypeInstance:
			state.typeInstance, ok = textOf(content)
		case partTime, partTimeHR:
			if ok = len(content) == 8; ok {
				state.setTime(binary.BigEndian.Uint64(content), kind == partTimeHR, now)
			}
		case partValues:
			ok = b.values(content, &state, trusted)
		case partSignature:
			if reason := verify(content, rest, b.users); reason != "" {
				b.refuse(reason, 1)
				return
			}
			trusted, state = true, about{time: now} // what was said before is not signed
		case partEncryption:
			if !outer { // encrypted twice
				b.refuse(BadPacket, 1)
				return
			}
			inner, reason := decrypt(content, b.users)
			if reason == BadPacket {
				ok = false
			} else if reason != "" {
				b.refuse(reason, 1)
			} else {
				b.parts(inner, now, true, false)
			}
		}
		// Intervals, notifications, and what later versions bring are passed over.
		if !ok {
			b.refuse(BadPacket, 1)
			return
		}
	}
}

// textOf is a text, which ends with a zero byte.
func textOf(content []byte) ([]byte, bool) {
	n := len(content) - 1
	if n < 0 || n > maxText || content[n] != 0 {
		return nil, false
	}
	return content[:n], true
}

// setTime takes a time in seconds, or in 2^-30 seconds. Zero is now.
func (a *about) setTime(t uint64, fine bool, now int64) {
	seconds, fraction := t, uint64(0)
	if fine {
		seconds, fraction = t>>30, t&(1<<30-1)
	}
	a.badTime = seconds > maxSeconds
	a.time = int64(seconds*1000 + fraction*1000>>30)
	if t == 0 {
		a.time = now
	}
}

// values takes a part with values; false means that it cannot be read.
func (b *batch) values(content []byte, a *about, trusted bool) bool {
	if len(content) < 2 {
		return false
	}
	n := int(binary.BigEndian.Uint16(content))
	content = content[2:]
	if n == 0 || len(content) != 9*n {
		return false
	}
	switch {
	case !trusted:
		b.refuse(NotSigned, n)
		return true
	case len(a.host) == 0 || len(a.plugin) == 0 || len(a.kind) == 0:
		b.refuse(Incomplete, n)
		return true
	case a.badTime:
		b.refuse(BadTime, n)
		return true
	}
	names := sources[string(a.kind)]
	if len(names) != n {
		names = nil
	}
	for i, kind := range content[:n] {
		raw := content[n+8*i:]
		sample := tsdb.Sample{Time: a.time}
		switch kind {
		case counter:
			sample.Kind, sample.Value = tsdb.Counter, float64(binary.BigEndian.Uint64(raw))
		case derive:
			sample.Kind, sample.Value = tsdb.Counter, float64(int64(binary.BigEndian.Uint64(raw)))
		case absolute:
			sample.Kind, sample.Value = tsdb.Gauge, float64(binary.BigEndian.Uint64(raw))
		case gauge: // the only one with the small end first
			sample.Kind, sample.Value = tsdb.Gauge, math.Float64frombits(binary.LittleEndian.Uint64(raw))
			if math.IsNaN(sample.Value) {
				b.refuse(NoValue, 1)
				continue
			}
		default:
			return false
		}
		b.add(sample, a, names, i, n)
	}
	return true
}

// add makes the key of the i-th of n values. names are what the type calls them, nil when that is not known.
func (b *batch) add(sample tsdb.Sample, a *about, names []string, i, n int) {
	b.name = append(b.name[:0], "collectd."...)
	b.name = append(b.name, a.plugin...)
	b.name = append(b.name, '.')
	b.name = append(b.name, a.kind...)
	index := ""
	switch {
	case n == 1:
	case names != nil:
		b.name = append(b.name, '.')
		b.name = append(b.name, names[i]...)
	default:
		index = strconv.Itoa(i)
	}
	// Those that are empty are left out.
	b.labels = append(b.labels[:0],
		tsdb.Label{Name: tsdb.NameLabel, Value: borrow(b.name)},
		tsdb.Label{Name: "host", Value: borrow(a.host)},
		tsdb.Label{Name: "plugin_instance", Value: borrow(a.pluginInstance)},
		tsdb.Label{Name: "type_instance", Value: borrow(a.typeInstance)},
		tsdb.Label{Name: "value", Value: index})
	start := len(b.keys)
	var err error
	if b.keys, err = tsdb.AppendKey(b.keys, b.labels); err != nil {
		var bad *tsdb.KeyError
		if !errors.As(err, &bad) {
			bad = &tsdb.KeyError{Reason: BadPacket}
		}
		b.refuse(bad.Reason, 1)
		return
	}
	// Growing keys moves it; what was there before stays where it is, and valid.
	sample.Key = b.keys[start:len(b.keys):len(b.keys)]
	b.samples = append(b.samples, sample)
}

func borrow(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// sources are what the types with several values call them, in their order: those of collectd's own types.db.
var sources = map[string][]string{
	"arc_counts":        {"demand_data", "demand_metadata", "prefetch_data", "prefetch_metadata"},
	"arc_l2_bytes":      {"read", "write"},
	"compression":       {"uncompressed", "compressed"},
	"df":                {"used", "free"},
	"disk_io_time":      {"io_time", "weighted_io_time"},
	"disk_latency":      {"read", "write"},
	"disk_merged":       {"read", "write"},
	"disk_octets":       {"read", "write"},
	"disk_ops":          {"read", "write"},
	"disk_time":         {"read", "write"},
	"dns_octets":        {"queries", "responses"},
	"if_dropped":        {"rx", "tx"},
	"if_errors":         {"rx", "tx"},
	"if_octets":         {"rx", "tx"},
	"if_packets":        {"rx", "tx"},
	"io_octets":         {"rx", "tx"},
	"io_packets":        {"rx", "tx"},
	"load":              {"shortterm", "midterm", "longterm"},
	"memcached_octets":  {"rx", "tx"},
	"mysql_octets":      {"rx", "tx"},
	"mysql_qcache":      {"hits", "inserts", "not_in_cache", "lowmem_prunes", "queries_in_cache"},
	"mysql_threads":     {"running", "connected", "cached", "created"},
	"node_octets":       {"rx", "tx"},
	"ps_count":          {"processes", "threads"},
	"ps_cputime":        {"user", "syst"},
	"ps_disk_octets":    {"read", "write"},
	"ps_disk_ops":       {"read", "write"},
	"ps_pagefaults":     {"minflt", "majflt"},
	"serial_octets":     {"rx", "tx"},
	"smart_attribute":   {"current", "worst", "threshold", "pretty"},
	"voltage_threshold": {"value", "threshold"},
	"vmpage_faults":     {"minflt", "majflt"},
	"vmpage_io":         {"in", "out"},
}
