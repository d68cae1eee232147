package statistics

// The network, its clients, and the telemetry store.

func device(name, title, unit, check, read string) *Statistic {
	return &Statistic{
		Name: name, Title: title, Unit: unit, Kind: Amount, Source: Counter, Cost: "none", Always: []string{"", "device", "direction"},
		Check: check, Read: read, Next: []string{"tcp.bytes", "tcp.retransmits"},
		Breakdowns: []Breakdown{{Name: "device", Title: "by device"}, choice("direction", "by direction", "in", "out")},
	}
}

var network = []*Statistic{
	device("net.bytes", "Network bytes", "bytes", "To see what comes and goes, and by which interface.", "Bytes of all packets, with their headers."),
	device("net.packets", "Network packets", "packets", "A processor is busy with interrupts.", "Packets. Many small ones cost more than few large ones."),
	device("net.errors", "Network errors", "packets", "Senders say that they lose packets.", "Packets that were dropped or damaged, as the interfaces count them. Any that lasts is a cable, a switch, or a machine that does not keep up."),
}

var (
	byClient = Breakdown{Name: "client", Title: "by client", Type: Address}
	byPort   = Breakdown{Name: "port", Title: "by local port", Type: Whole}
)

const (
	skRemote = "inet_ntoa(&((struct sock *)arg0)->__sk_common.skc_daddr)"
	skPort   = "((struct sock *)arg0)->__sk_common.skc_num"
)

func tcp(name, title, unit, check, read string, programs map[Platform]*Program, more ...Breakdown) *Statistic {
	return &Statistic{
		Name: name, Title: title, Unit: unit, Kind: Amount, Source: DTrace, Cost: "medium", Check: check, Read: read,
		Next: []string{"tcp.bytes", "tcp.retransmits", "tcp.roundtrips"}, Programs: programs,
		Breakdowns: append([]Breakdown{byClient, byPort}, more...),
	}
}

func direction(remote, port, value string) map[string]string {
	return map[string]string{"client": remote, "port": port, "direction": `"` + value + `"`}
}

func web(name, title, unit, check, read string) *Statistic {
	return &Statistic{
		Name: name, Title: title, Unit: unit, Kind: Amount, Source: Log, Cost: "low", Always: []string{""},
		Check: check, Read: read, Next: []string{"net.bytes", "store.samples"},
		Breakdowns: []Breakdown{
			{Name: "client", Title: "by client", Type: Address}, {Name: "uri", Title: "by URI"}, {Name: "method", Title: "by method"},
			{Name: "status", Title: "by status", Type: Whole},
			{Name: "latency", Title: "by latency", Distribution: true, Unit: "seconds", Decades: -3},
			{Name: "size", Title: "by size of the answer", Distribution: true, Unit: "bytes"},
		},
	}
}

var clients = []*Statistic{
	tcp("tcp.connections", "TCP connections", "connections", "To see who connects, and how often.",
		"Connections that were established. Many a second from one client are mostly one that does not keep its connection.",
		both(&Program{Points: []Point{
			{Probe: "tcp:::accept-established", Fields: direction("args[2]->ip_saddr", "args[4]->tcp_dport", "in")},
			{Probe: "tcp:::connect-established", Fields: direction("args[2]->ip_saddr", "args[4]->tcp_dport", "out")},
		}}), choice("direction", "by direction", "in", "out")),
	tcp("tcp.bytes", "TCP bytes", "bytes", "To see which client the network's bandwidth goes to.",
		"Bytes of TCP with what it sends again, without its headers.",
		both(&Program{Points: []Point{
			{Probe: "tcp:::receive", Amount: "args[2]->ip_plength - args[4]->tcp_offset", Fields: direction("args[2]->ip_saddr", "args[4]->tcp_dport", "in")},
			{Probe: "tcp:::send", Amount: "args[2]->ip_plength - args[4]->tcp_offset", Fields: direction("args[2]->ip_daddr", "args[4]->tcp_sport", "out")},
		}}), choice("direction", "by direction", "in", "out")),
	tcp("tcp.retransmits", "TCP retransmits", "packets", "One client is slow, others are not.",
		"Packets that were sent again because nothing acknowledged them. More than one in a hundred of what is sent is felt.",
		map[Platform]*Program{
			Linux:   {Points: []Point{{Probe: "rawtp:tcp::tcp_retransmit_skb", Fields: map[string]string{"client": skRemote, "port": skPort}}}},
			Illumos: {Points: []Point{{Probe: "mib:::tcpRetransSegs", Amount: "arg0", Fields: map[string]string{}}}},
		}),
	tcp("tcp.roundtrips", "TCP round trips", "operations", "Clients far away find the appliance slow.",
		"Each packet that came, with the connection's smoothed time to the client and back as it was then. It is the network's, not the appliance's.",
		map[Platform]*Program{
			// The kernel keeps eighths of microseconds.
			Linux: {Points: []Point{{Probe: "rawtp:tcp::tcp_probe", Fields: map[string]string{
				"client": skRemote, "port": skPort, "latency": "(((struct tcp_sock *)arg0)->srtt_us >> 3) * 1000",
			}}}},
		}, latency("by round-trip time")),
	web("http.requests", "HTTP requests", "operations",
		"To see what the appliance is asked, by whom, and how long it takes.",
		"Requests that the web server has answered, when they ended: a live stream counts once, with all of its time, when the page is left. URIs are without what is behind the question mark. Queries of the store are /api/v1/query and /api/v1/query_range.",
	),
	web("http.bytes", "HTTP bytes", "bytes",
		"To see which requests send much.",
		"Bytes of the answers, with their headers."),
}

var store = []*Statistic{
	{
		Name: "store.samples", Title: "Samples stored", Unit: "samples", Kind: Amount, Source: Counter, Cost: "none", Always: []string{"", "input"},
		Check: "To see whether metrics come, and how.", Read: "Samples that the telemetry store has accepted, by the way they came.",
		Next:       []string{"store.rejected", "store.series"},
		Breakdowns: []Breakdown{{Name: "input", Title: "by input"}},
	},
	{
		Name: "store.rejected", Title: "Samples refused", Unit: "samples", Kind: Amount, Source: Counter, Cost: "none", Always: []string{"", "reason"},
		Check: "A metric is missing.", Read: "Samples that the telemetry store has refused; the reason says what to mend at the sender.",
		Next:       []string{"store.samples"},
		Breakdowns: []Breakdown{{Name: "reason", Title: "by reason"}},
	},
	{
		Name: "store.series", Title: "Series", Unit: "series", Kind: Level, Source: Counter, Cost: "none", Always: []string{""},
		Check: "The telemetry store needs more memory than it did.", Read: "Series of which there were samples lately. A steady rise is a sender that puts something into a label that is never the same twice.",
		Next: []string{"store.samples"},
	},
	{
		Name: "store.lag", Title: "Journal lag", Unit: "seconds", Kind: Level, Source: Counter, Cost: "none", Always: []string{""},
		Check: "A restart of the telemetry store takes long.", Read: "The age of the oldest sample that is in the journal only. It rises and falls by hours as blocks are written; one that only rises says that they are not.",
		Next: []string{"io.ops", "zil.commits"},
	},
}
