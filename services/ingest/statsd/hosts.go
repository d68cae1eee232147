package statsd

// The label host of senders whose address or name becomes it. The same text of two such senders is two series, so that an entry of
// the name table has its sender's host as well: by a number, for which it has room.

import (
	"math"

	"cistern/services/ingest/senders"
	"cistern/services/store/tsdb"
)

// unnumbered is a host of which no line was counted yet. Whoever makes addresses up without sending anything good gets no number.
const unnumbered = math.MaxUint32

// hostBytes is about what a number takes, beside the host's name.
const hostBytes = 80

// hostNumbers are the hosts that entries of a shard's table have. 0 is none.
type hostNumbers struct {
	known   senders.Hosts
	numbers map[string]uint32
	names   []string // by number; "" of one that is free
	free    []uint32
}

// of is a host's number.
func (h *hostNumbers) of(host string) uint32 {
	if host == "" {
		return 0
	}
	if number, found := h.numbers[host]; found {
		return number
	}
	return unnumbered
}

// add gives a host a number.
func (h *hostNumbers) add(a *Aggregator, host string) uint32 {
	if h.numbers == nil {
		h.numbers, h.names = map[string]uint32{}, []string{""}
	}
	number := uint32(len(h.names))
	if n := len(h.free); n > 0 {
		number, h.free = h.free[n-1], h.free[:n-1]
		h.names[number] = host
	} else {
		h.names = append(h.names, host)
	}
	h.numbers[host] = number
	a.bytes.Add(hostBytes + int64(len(host)))
	return number
}

// release frees the numbers that no entry has any more.
func (h *hostNumbers) release(a *Aggregator, t *table) {
	if len(h.numbers) == 0 {
		return
	}
	used := make([]bool, len(h.names))
	for i := range t.slots {
		if e := t.slots[i].entry; e != nil {
			used[e.host] = true
		}
	}
	for host, number := range h.numbers {
		if !used[number] {
			delete(h.numbers, host)
			h.names[number] = ""
			h.free = append(h.free, number)
			a.bytes.Add(-hostBytes - int64(len(host)))
		}
	}
}

// hostOf is the host of a line that was not found; e is its entry when the host has got its number meanwhile, by a line before it.
func (s *shard) hostOf(l *line) (host string, e *entry) {
	if l.host == 0 {
		return "", nil
	}
	if l.host != unnumbered {
		return s.hosts.names[l.host], nil
	}
	host = s.a.senders.Host(&s.hosts.known, s.sender(l.packet))
	if l.host = s.hosts.of(host); l.host != unnumbered { // no host at all, when that was set just now
		l.hash = hashOf(l)
		e = s.table.find(l)
	}
	return host, e
}

// withHost adds the label host to labels that name no host.
func withHost(labels []tsdb.Label, host string) []tsdb.Label {
	if host == "" {
		return labels
	}
	name, _ := tsdb.HostName(func(label string) string {
		for i := range labels {
			if labels[i].Name == label {
				return labels[i].Value
			}
		}
		return ""
	})
	if name != "" {
		return labels
	}
	return appendTag(labels, senders.HostLabel, host)
}
