package tsdb

// The inventory of hosts: every machine that senders' series come from. A series names its host by a label; of a series
// that has none the host is the address that sent it. What is known of a host is kept up with each batch, so that who asks
// is answered from a list of hosts and never from one of series. The file that it survives in is inventoryfile.go's.
//
// Only what senders sent counts: what a recording rule writes of a host goes on for minutes after the host went silent.

import (
	"cmp"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"
)

// HostLabels name a series' host: the first that a series has. OpenTelemetry's is `host.name`, also with an underscore;
// of Prometheus' `instance` the port is no part of the name.
var HostLabels = []string{"host", "host.name", "host_name", InstanceLabel}

// InstanceLabel is the one of HostLabels whose port is left out.
const InstanceLabel = "instance"

// bySender says in Host.By that a host is known by its address.
const bySender = "sender"

// Host is a machine that metrics come from.
type Host struct {
	Name string
	By   []string // what named it: some of HostLabels, and "sender"
	// First and Last are the times of its first and its last sample, in ms. Heard is when something came from it last, by
	// the store's clock: who sends history, or has a clock that is wrong, is there all the same.
	First, Last, Heard int64
	// Interval is how far apart it is usually heard of; 0 as long as that is not known.
	Interval time.Duration
	Series   int // in memory now or in the head before in which it had some, whichever is more
	Inputs   []string
	Labels   []Label // that all of its series have which report; without those that name the host, and the metric
	Version  uint64
}

// Hosts is an answer of the inventory.
type Hosts struct {
	// Epoch tells the versions of one start of the store from those of another.
	Epoch   int64
	Version uint64
	// Full: these are all hosts, and not only those that have changed.
	Full bool
	List []Host
	Gone []string // names of those that are hosts no more
}

const (
	// maxHosts is how many hosts are known at a time; when it is reached those that were silent longest go first.
	maxHosts = 100_000
	keptGone = 10_000
	// A contact is everything that comes within contactMillis.
	contactMillis = 1000
	keptGaps      = 16
	maxInputs     = 32
	// Labels are looked at again so long after a series has begun, when those that it took the place of are no longer counted.
	labelsWindow = 5 * time.Minute
	labelsEvery  = time.Minute
)

// What head.hostOf has of a series: a host's number and hostBase, or one of these.
const (
	hostUnseen  = 0 // no sender has sent it since the head began
	hostUnnamed = 1 // its labels name no host
	hostNone    = 2 // it is not the host's matter: the appliance's own, or too many hosts
	hostBase    = 3
)

type hostRecord struct {
	name               string
	by                 uint8 // bits by the place in HostLabels; the next one for the sender
	first, last, heard int64
	contact            int64 // when the present contact began
	gaps               [keptGaps]uint32
	gapCount           uint32
	inputs             uint32
	version            uint64

	refs     []uint32 // of its series in the present head
	before   int      // how many it had in the last head before in which it had some
	labels   []Label
	newest   int64 // when a series was added last
	labelled int64 // when labels was made
}

// inventory is the hosts. Its lock is taken after a head's.
type inventory struct {
	mu      sync.Mutex
	epoch   int64
	version uint64
	records []*hostRecord
	byName  map[string]uint32
	byAddr  map[netip.Addr]uint32
	inputs  []string
	gone    []goneHost
	head    *head
	began   int64 // when head did
	unsaved bool  // a host that no label names is in no file yet
	saved   time.Time
	changed bool
}

type goneHost struct {
	name    string
	version uint64
}

func (v *inventory) init(now time.Time) {
	v.epoch = now.UnixNano()
	v.byName, v.byAddr = map[string]uint32{}, map[netip.Addr]uint32{}
}

// Addressed is a Sender that knows addresses.
type Addressed interface {
	// Address is who sent the batch's i-th sample, and up to which one, not included, all are of the same address. One that
	// is not valid is nobody's.
	Address(i int) (from netip.Addr, end int)
}

// HostName is the name of the host that labels name, and the place in HostLabels of the one that does; "" when none does.
func HostName(value func(label string) string) (name string, by int) {
	for i, label := range HostLabels {
		if name = value(label); name == "" {
			continue
		}
		if label == InstanceLabel {
			name = withoutPort(name)
		}
		return name, i
	}
	return "", 0
}

// withoutPort is HOST of HOST:PORT and [HOST]:PORT; anything else as it is.
func withoutPort(instance string) string {
	at := strings.LastIndexByte(instance, ':')
	if at <= 0 || at == len(instance)-1 || strings.Trim(instance[at+1:], "0123456789") != "" {
		return instance
	}
	host := instance[:at]
	if inner, ok := strings.CutPrefix(host, "["); ok {
		if inner, ok = strings.CutSuffix(inner, "]"); ok && inner != "" {
			return inner
		}
		return instance
	}
	if strings.Contains(host, ":") {
		return instance // an address of IPv6 without a port
	}
	return host
}

// place finds out whose a series is. The caller holds Store.ingesting, or replays the journal.
func (v *inventory) place(h *head, s *memSeries, now int64) uint32 {
	number := uint32(hostNone)
	if !s.own {
		if name, by := HostName(func(label string) string { return LabelOf(s.key, label) }); name != "" {
			number = v.placeNamed(s, name, by, now)
		} else {
			number = hostUnnamed
		}
	}
	h.hostOf[s.ref] = number
	return number
}

func (v *inventory) placeNamed(s *memSeries, name string, by int, now int64) uint32 {
	v.mu.Lock()
	defer v.mu.Unlock()
	at, ok := v.record(name, 1<<by)
	if !ok {
		return hostNone
	}
	one := v.records[at]
	one.refs = append(one.refs, s.ref)
	one.newest = max(one.newest, now)
	v.bump(one)
	return at + hostBase
}

// record is the number of a host, which is made when there is none.
func (v *inventory) record(name string, by uint8) (uint32, bool) {
	at, ok := v.byName[name]
	if !ok {
		if len(v.records) >= maxHosts {
			return 0, false
		}
		at = uint32(len(v.records))
		name = strings.Clone(name) // it shares memory with a head
		v.records = append(v.records, &hostRecord{name: name})
		v.byName[name] = at
	}
	one := v.records[at]
	if one.by&by == 0 {
		one.by |= by
		v.bump(one)
	}
	return at, true
}

func (v *inventory) bump(one *hostRecord) {
	v.version++
	one.version = v.version
	v.changed = true
}

// sighting is samples of a batch, one behind the other, that are of the same host.
type sighting struct {
	number      uint32
	from        netip.Addr // when the labels name none
	first, last int64
}

// sightings gathers what a batch says of hosts until it is accepted.
type sightings struct {
	list []sighting
	end  int // up to which sample the address of the last one holds
}

func (g *sightings) reset() { g.list, g.end = g.list[:0], 0 }

// add notes the batch's i-th sample.
func (g *sightings) add(number uint32, t int64, sender Sender, i int) {
	if number == hostNone {
		return
	}
	if n := len(g.list); n > 0 {
		if last := &g.list[n-1]; last.number == number && (number != hostUnnamed || i < g.end) {
			last.first, last.last = min(last.first, t), max(last.last, t)
			return
		}
	}
	one := sighting{number: number, first: t, last: t}
	if number == hostUnnamed {
		known, ok := sender.(Addressed)
		if !ok {
			return
		}
		if one.from, g.end = known.Address(i); !one.from.IsValid() {
			return
		}
	}
	g.list = append(g.list, one)
}

// saw takes what a batch said. With heard 0 it was history, or a replay: the times of the samples are all there is.
func (v *inventory) saw(g *sightings, input string, heard int64) {
	if len(g.list) == 0 {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	bit := v.inputBit(input)
	for i := range g.list {
		one := &g.list[i]
		var record *hostRecord
		if one.number == hostUnnamed {
			if record = v.addressed(one.from); record == nil {
				continue
			}
		} else {
			record = v.records[one.number-hostBase]
		}
		v.touch(record, one, bit, heard)
	}
}

func (v *inventory) inputBit(input string) uint32 {
	if input == "" {
		return 0
	}
	at := slices.Index(v.inputs, input)
	if at < 0 {
		if at = len(v.inputs); at == maxInputs {
			return 0
		}
		v.inputs = append(v.inputs, input)
	}
	return 1 << at
}

func (v *inventory) addressed(from netip.Addr) *hostRecord {
	at, ok := v.byAddr[from]
	if !ok {
		if at, ok = v.record(from.Unmap().WithZone("").String(), 1<<len(HostLabels)); !ok {
			return nil
		}
		v.byAddr[from] = at
		v.unsaved = true
	}
	return v.records[at]
}

func (v *inventory) touch(one *hostRecord, seen *sighting, input uint32, heard int64) {
	changed := one.inputs&input != input
	one.inputs |= input
	if one.first == 0 || seen.first < one.first {
		one.first, changed = seen.first, true
	}
	one.last = max(one.last, seen.last)
	at := heard
	if at == 0 {
		at = seen.last
	}
	if at > one.heard {
		one.heard = at
		if gap := at - one.contact; gap >= contactMillis {
			if one.contact > 0 && gap <= 1<<31 {
				one.gaps[one.gapCount%keptGaps] = uint32(gap)
				one.gapCount++
			}
			one.contact, changed = at, true
		}
	}
	if changed {
		v.bump(one)
	}
}

// interval is the longest of the last gaps but one: senders who come several times in each of their intervals have short
// gaps too, and a pause is no habit.
func (one *hostRecord) interval() int64 {
	n := min(one.gapCount, keptGaps)
	if n == 0 {
		return 0
	}
	longest, second := uint32(0), uint32(0)
	for _, gap := range one.gaps[:n] {
		if gap > longest {
			longest, second = gap, longest
		} else {
			second = max(second, gap)
		}
	}
	if n == 1 {
		return int64(longest)
	}
	return int64(second)
}

// begin is called when a new head takes over. The caller holds Store.ingesting, so that nobody has a host's number now.
func (v *inventory) begin(h *head, now, oldest int64) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.head, v.began = h, now
	v.forgetSilent(oldest)
	for _, one := range v.records {
		if len(one.refs) > 0 { // who is silent keeps what it had
			one.before, one.refs = len(one.refs), nil
		}
	}
}

// forgetSilent lets hosts go that have been silent for as long as samples are kept, and when there are nearly too many
// those that have been silent longest.
func (v *inventory) forgetSilent(oldest int64) {
	if len(v.records) > maxHosts*9/10 {
		heard := make([]int64, len(v.records))
		for i, one := range v.records {
			heard[i] = one.heard
		}
		slices.Sort(heard)
		oldest = max(oldest, heard[len(heard)-maxHosts*8/10])
	}
	v.remove(func(one *hostRecord) bool { return max(one.heard, one.last) < oldest })
}

// remove takes hosts out. Nobody may have a number of one: numbers change.
func (v *inventory) remove(goes func(*hostRecord) bool) {
	n := len(v.records)
	v.records = slices.DeleteFunc(v.records, func(one *hostRecord) bool {
		if !goes(one) {
			return false
		}
		v.version++
		v.gone = append(v.gone, goneHost{one.name, v.version})
		return true
	})
	if len(v.records) == n {
		return
	}
	if extra := len(v.gone) - keptGone; extra > 0 {
		v.gone = slices.Delete(v.gone, 0, extra)
	}
	v.changed = true
	clear(v.byName)
	clear(v.byAddr)
	for i, one := range v.records {
		v.byName[one.name] = uint32(i)
	}
}

// Hosts is the hosts that have changed since a version of an epoch; all of them when that is not this one, or too long ago.
func (s *Store) Hosts(epoch int64, since uint64) Hosts {
	v := &s.inventory
	now := s.options.Now().UnixMilli()
	v.relabel(now)
	v.mu.Lock()
	defer v.mu.Unlock()
	answer := Hosts{Epoch: v.epoch, Version: v.version, List: []Host{}, Gone: []string{}}
	forgotten := len(v.gone) == keptGone && since < v.gone[0].version
	answer.Full = epoch != v.epoch || since == 0 || since > v.version || forgotten
	if answer.Full {
		since = 0
	} else {
		for _, one := range v.gone {
			if _, back := v.byName[one.name]; one.version > since && !back {
				answer.Gone = append(answer.Gone, one.name)
			}
		}
	}
	for _, one := range v.records {
		if one.version > since {
			answer.List = append(answer.List, v.host(one))
		}
	}
	slices.SortFunc(answer.List, func(a, b Host) int { return cmp.Compare(a.Name, b.Name) })
	return answer
}

func (v *inventory) host(one *hostRecord) Host {
	h := Host{
		Name: one.name, First: one.first, Last: one.last, Heard: one.heard, Version: one.version,
		Interval: time.Duration(one.interval()) * time.Millisecond, Series: max(len(one.refs), one.before),
		Labels: one.labels, Inputs: []string{},
	}
	for i, label := range append(HostLabels[:len(HostLabels):len(HostLabels)], bySender) {
		if one.by&(1<<i) != 0 {
			h.By = append(h.By, label)
		}
	}
	for i, input := range v.inputs {
		if one.inputs&(1<<i) != 0 {
			h.Inputs = append(h.Inputs, input)
		}
	}
	slices.Sort(h.Inputs)
	return h
}
