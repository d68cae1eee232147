package main

// statsd: how much of what one sender sends at full speed each daemon takes in, and what a packet costs it.

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	nodeStatsd     = "node statsd"
	statsdExporter = "statsd_exporter"
	floor          = "floor"
)

// packets are what the sender sends, over and over: of a thousand names two thirds timers, one third counters, so that
// every packet can be counted in what is stored; one metric a packet, as most clients do it. All are of one length, which segmentation offload wants.
func packets() [][]byte {
	r := rand.New(rand.NewPCG(3, 3))
	list := make([][]byte, 1<<16)
	for i := range list {
		name := r.IntN(1000)
		if i%3 < 2 {
			list[i] = fmt.Appendf(nil, "bench.time.%03d:%06.2f|ms", name%650, min(999.99, 20*math.Exp(1.3*r.NormFloat64())))
		} else {
			list[i] = fmt.Appendf(nil, "bench.count.%03d:000001|c", name%350)
		}
	}
	return list
}

// segments is how many packets the kernel makes of one system call with segmentation offload.
const segments = 64

// udpSender is the sender, a process of its own: address, number of packets, and how they are sent: "each" with a system
// call of its own, or "burst", which is many at once by segmentation offload. On loopback a single write costs the sender
// more than a packet costs a good receiver; only bursts bring more than one core can take.
func udpSender(arguments []string) error {
	if len(arguments) != 3 {
		return errors.New("udp-sender ADDRESS PACKETS each|burst")
	}
	n, err := strconv.Atoi(arguments[1])
	address, err2 := net.ResolveUDPAddr("udp4", arguments[0])
	if err := errors.Join(err, err2); err != nil {
		return err
	}
	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(socket)
	if err := unix.Connect(socket, &unix.SockaddrInet4{Port: address.Port, Addr: [4]byte(address.IP.To4())}); err != nil {
		return err
	}
	list := packets()
	began := time.Now()
	if arguments[2] == "burst" {
		size := len(list[0])
		if err := unix.SetsockoptInt(socket, unix.IPPROTO_UDP, unix.UDP_SEGMENT, size); err != nil {
			return fmt.Errorf("segmentation offload: %w", err)
		}
		all := bytes.Join(list, nil)
		for i := 0; i < n; {
			at := i % len(list)
			count := min(segments, n-i, len(list)-at)
			if _, err := unix.Write(socket, all[at*size:(at+count)*size]); err != nil {
				return fmt.Errorf("packet %d: %w", i, err)
			}
			i += count
		}
	} else {
		for i := range n {
			if _, err := unix.Write(socket, list[i%len(list)]); err != nil {
				return fmt.Errorf("packet %d: %w", i, err)
			}
		}
	}
	fmt.Printf("%.3f µs a packet\n", time.Since(began).Seconds()/float64(n)*1e6)
	return nil
}

// multiMessage is struct mmsghdr with its one buffer.
type multiMessage struct {
	header unix.Msghdr
	length uint32
	_      uint32
}

func (m *multiMessage) set(buffer []byte) {
	vector := &unix.Iovec{Base: &buffer[0]}
	vector.SetLen(len(buffer))
	m.header.Iov = vector
	m.header.SetIovlen(1)
}

// udpFloor takes packets in batches and does nothing with them but count: what no daemon can be cheaper than. It prints
// how many came when it is told to end.
func udpFloor(arguments []string) error {
	if len(arguments) != 1 {
		return errors.New("udp-floor ADDRESS")
	}
	address, err := net.ResolveUDPAddr("udp4", arguments[0])
	if err != nil {
		return err
	}
	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(socket)
	_ = unix.SetsockoptInt(socket, unix.SOL_SOCKET, unix.SO_RCVBUF, 64<<20)
	if err := unix.Bind(socket, &unix.SockaddrInet4{Port: address.Port, Addr: [4]byte(address.IP.To4())}); err != nil {
		return err
	}
	messages, buffers := make([]multiMessage, 512), make([][]byte, 512)
	for i := range messages {
		buffers[i] = make([]byte, 2048)
		messages[i].set(buffers[i])
	}
	for total := 0; ; {
		n, _, failed := unix.Syscall6(unix.SYS_RECVMMSG, uintptr(socket), uintptr(unsafe.Pointer(&messages[0])), uintptr(len(messages)), unix.MSG_WAITFORONE, 0, 0)
		if failed == unix.EINTR {
			continue
		}
		if failed != 0 {
			return failed
		}
		for i := range messages[:n] {
			if messages[i].length == 3 && string(buffers[i][:3]) == "end" {
				fmt.Println(total)
				return nil
			}
			total++
		}
	}
}

// buffers are the system's limits for receive buffers.
type buffers struct{ standard, most int }

const (
	standardPath = "/proc/sys/net/core/rmem_default"
	mostPath     = "/proc/sys/net/core/rmem_max"
)

func readBuffers() (b buffers) {
	b.standard, _ = strconv.Atoi(firstLine(standardPath))
	b.most, _ = strconv.Atoi(firstLine(mostPath))
	return b
}

func (b buffers) set() error {
	return errors.Join(os.WriteFile(standardPath, []byte(strconv.Itoa(b.standard)), 0o644), os.WriteFile(mostPath, []byte(strconv.Itoa(b.most)), 0o644))
}

// keptBuffers is where the machine's own limits stand while others are in force, so that the next bench can restore
// them when this one is killed.
func (b *bench) keptBuffers() string {
	return filepath.Join(filepath.Dir(b.temp), ".cistern-bench-rmem")
}

func (b *bench) restoreBuffers() {
	text, err := os.ReadFile(b.keptBuffers())
	if err != nil {
		return
	}
	var kept buffers
	if n, _ := fmt.Sscan(string(text), &kept.standard, &kept.most); n == 2 && kept.standard > 0 && kept.most > 0 {
		if kept.set() != nil {
			return
		}
	}
	_ = os.Remove(b.keptBuffers())
}

func statsdWorkload(ctx context.Context, b *bench, sections map[string]*section) error {
	s := sections["statsd"]
	n := b.scaled(5_000_000)
	s.systems = []string{cistern, nodeStatsd, statsdExporter, floor}
	s.about = fmt.Sprintf("%s UDP packets of one metric each (two thirds timers, one third counters, 1,000 names) from one sender on loopback, in bursts of 64 by segmentation offload: as fast as it goes. \"One by one\" is a system call per packet, which is what the sender's core can do alone.", thousands(fmt.Sprint(n)))
	machine := readBuffers()
	settings := []struct {
		name, mode string
		limit      buffers
		main       bool
	}{
		{"208 KiB buffer", "burst", buffers{212_992, 212_992}, true},
		{"208 KiB buffer, one by one", "each", buffers{212_992, 212_992}, false},
		{"4 MiB buffer", "burst", buffers{4 << 20, 4 << 20}, false},
		{"64 MiB buffer (the image's)", "burst", buffers{64 << 20, 64 << 20}, false},
		{"64 MiB buffer (the image's), one by one", "each", buffers{64 << 20, 64 << 20}, false},
	}
	b.restoreBuffers()
	canSet := os.Geteuid() == 0 && machine.set() == nil
	if !canSet {
		settings = settings[:2]
		for i := range settings {
			settings[i].name = strings.Replace(settings[i].name, "208 KiB buffer", fmt.Sprintf("the machine's buffers (%d, at most %d)", machine.standard, machine.most), 1)
		}
		s.note("Receive buffers cannot be set here (that needs root): only the machine's own are measured.")
	} else {
		if err := os.WriteFile(b.keptBuffers(), fmt.Appendf(nil, "%d %d\n", machine.standard, machine.most), 0o600); err != nil {
			return err
		}
		defer b.restoreBuffers()
	}
	s.note("\"One by one\" costs the sender so much here that nearly everybody keeps up with it; the ratio of what is captured is asked of bursts, the 100 %% of packets one by one, as PEERS.md's sender sends them.")
	s.note("The buffer is that of every daemon: the limit of the system is set to it, and Cistern runs without the privilege to go beyond. The floor takes packets in batches and only counts them.")
	for _, setting := range settings {
		if canSet {
			if err := setting.limit.set(); err != nil {
				return err
			}
		}
		var captureGoals, cpuGoals []goal
		switch {
		case setting.main:
			captureGoals = []goal{{nodeStatsd, 2.5, 0}, {statsdExporter, 2.5, 0}}
			cpuGoals = []goal{{nodeStatsd, 2.5, 0}, {statsdExporter, 2.5, 0}}
		case setting.limit.most == 64<<20 && setting.mode == "each":
			captureGoals = []goal{{"", 100, 0}}
		}
		captured := s.add(setting.name+": captured", "%", captureGoals...)
		captured.higher = true
		cpu := s.add("… CPU", "µs per captured packet", cpuGoals...)
		memory := s.add("… peak memory", "MiB")
		counted := s.add("… packets said to be dropped by the kernel", "")
		missing := s.add("… neither stored nor said to be dropped", "", zeroGoal)
		folder := s.add("… disk, the whole data folder over its samples and index, after a flush", "×", goal{"", 1.2, 0})
		b.each(ctx, s, s.systems, b.repeats, func(ctx context.Context, system string) error {
			r, err := b.captureStatsd(ctx, system, n, setting.mode)
			if err != nil {
				return err
			}
			captured.put(system, 100*r.captured/float64(n))
			cpu.put(system, r.cpu/r.captured*1e6)
			memory.put(system, float64(r.memory)/(1<<20))
			if r.over > 0 {
				folder.put(system, r.over)
			}
			if r.drops >= 0 {
				counted.put(system, r.drops)
				missing.put(system, float64(n)-r.captured-r.drops)
			} else {
				counted.said[system] = "says none"
				missing.put(system, float64(n)-r.captured)
			}
			return nil
		})
	}
	return nil
}

type capture struct {
	captured float64 // packets that can be found in what the daemon gives out
	drops    float64 // as counted by the daemon; -1 when it says nothing
	cpu      float64
	memory   int64
	over     float64 // the data folder after a flush over its samples and index; 0 when there is none
}

// captureStatsd starts a daemon, sends, and asks it what it has.
func (b *bench) captureStatsd(ctx context.Context, system string, n int, mode string) (r capture, err error) {
	ctx, cancel := context.WithTimeout(ctx, 4*time.Minute)
	defer cancel()
	r.drops = -1
	self, err := os.Executable()
	if err != nil {
		return r, err
	}
	var daemon *child
	var address string
	var result func() (float64, error) // packets that were counted
	folder, err := os.MkdirTemp(b.temp, "statsd-")
	if err != nil {
		return r, err
	}
	defer os.RemoveAll(folder)
	port, err := freePort()
	if err != nil {
		return r, err
	}
	address = "127.0.0.1:" + strconv.Itoa(port)
	defer func() {
		if daemon != nil {
			_ = daemon.end(syscall.SIGKILL, 5*time.Second)
		}
	}()
	switch system {
	case cistern:
		options := serverOptions{statsd: true}
		if os.Geteuid() == 0 {
			options.wrap = []string{"/usr/bin/setpriv", "--bounding-set=-net_admin", "--inh-caps=-net_admin", "--"}
		}
		began := time.Now()
		server, err := b.run(ctx, system, options)
		if err != nil {
			return r, err
		}
		defer server.remove()
		daemon, address = server.child, server.inputs["statsd"]
		result = func() (float64, error) { return b.cisternStatsd(ctx, server, began, &r) }
	case nodeStatsd:
		collector, err := newGraphiteCollector()
		if err != nil {
			return r, err
		}
		defer collector.close()
		admin, err := freePort()
		if err != nil {
			return r, err
		}
		config := filepath.Join(folder, "config.js")
		text := fmt.Sprintf(`{address: "127.0.0.1", port: %d, mgmt_address: "127.0.0.1", mgmt_port: %d, graphiteHost: "127.0.0.1", graphitePort: %d, backends: ["./backends/graphite"], graphite: {legacyNamespace: false}}`,
			port, admin, collector.port)
		if err := os.WriteFile(config, []byte(text), 0o644); err != nil {
			return r, err
		}
		// It logs by a function that newer Node has no more.
		restore := filepath.Join(folder, "restore.cjs")
		if err := os.WriteFile(restore, []byte("require('util').log ??= (...text) => console.log(...text);\n"), 0o644); err != nil {
			return r, err
		}
		statsd := filepath.Join(b.peers, "statsd/node_modules/statsd/stats.js")
		if daemon, err = launch(folder, b.node, []string{"--require", restore, statsd, config}, nil); err != nil {
			return r, err
		}
		result = func() (float64, error) {
			// It flushes every ten seconds; the next flush is waited for.
			select {
			case <-ctx.Done():
				return 0, ctx.Err()
			case <-time.After(11500 * time.Millisecond):
			}
			return collector.packets(), nil
		}
	case statsdExporter:
		web, err := freePort()
		if err != nil {
			return r, err
		}
		metrics := fmt.Sprintf("http://127.0.0.1:%d/metrics", web)
		if daemon, err = launch(folder, filepath.Join(b.peers, "statsd_exporter"), []string{"--statsd.listen-udp=" + address, "--statsd.listen-tcp=",
			fmt.Sprintf("--web.listen-address=127.0.0.1:%d", web), "--log.level=error"}, nil); err != nil {
			return r, err
		}
		result = func() (float64, error) { return exporterStatsd(ctx, metrics, &r) }
	case floor:
		if daemon, err = launch(folder, self, []string{"udp-floor", address}, nil); err != nil {
			return r, err
		}
		result = func() (float64, error) {
			socket, err := net.Dial("udp4", address)
			if err != nil {
				return 0, err
			}
			defer socket.Close()
			_, _ = socket.Write([]byte("end"))
			select {
			case <-daemon.exited:
			case <-time.After(5 * time.Second):
				return 0, errors.New("the floor does not end")
			}
			return strconv.ParseFloat(strings.TrimSpace(daemon.tail()), 64)
		}
	}
	b.track(daemon)
	if err := boundUDP(ctx, daemon, address); err != nil {
		return r, fmt.Errorf("%w\n%s", err, daemon.tail())
	}
	before := daemon.cpu()
	sender, err := launch(filepath.Join(folder, "sender"), self, []string{"udp-sender", address, strconv.Itoa(n), mode}, nil)
	if err != nil {
		return r, err
	}
	b.track(sender)
	select {
	case <-sender.exited:
	case <-daemon.exited:
		return r, fmt.Errorf("it ended: %w\n%s", daemon.err, daemon.tail())
	case <-ctx.Done():
		return r, ctx.Err()
	}
	if sender.err != nil {
		return r, fmt.Errorf("sending: %w: %s", sender.err, sender.tail())
	}
	daemon.idle(ctx, 15*time.Second)
	r.cpu = daemon.cpu() - before
	r.memory, _ = daemon.peak()
	r.captured, err = result()
	return r, err
}

// boundUDP waits until somebody listens on the port.
func boundUDP(ctx context.Context, daemon *child, address string) error {
	_, port, _ := net.SplitHostPort(address)
	number, _ := strconv.Atoi(port)
	want := fmt.Sprintf(":%04X ", number)
	for {
		for _, path := range []string{"/proc/net/udp", "/proc/net/udp6"} {
			text, _ := os.ReadFile(path)
			for line := range strings.Lines(string(text)) {
				if fields := strings.Fields(line); len(fields) > 1 && strings.HasSuffix(fields[1]+" ", want) {
					return nil
				}
			}
		}
		select {
		case <-daemon.exited:
			return fmt.Errorf("it ended at once: %w", daemon.err)
		case <-ctx.Done():
			return fmt.Errorf("nobody listens on %s", address)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// cisternStatsd adds up what is stored of counters and timers.
func (b *bench) cisternStatsd(ctx context.Context, s *server, began time.Time, r *capture) (float64, error) {
	select { // the running second is stored when it is over
	case <-ctx.Done():
		return 0, ctx.Err()
	case <-time.After(2500 * time.Millisecond):
	}
	now := time.Now()
	counted, err := s.scalar(ctx, fmt.Sprintf("/api/v1/query?query=%s&time=%d", escape(`sum({__name__=~"bench.count.*"})`), now.Unix()))
	if err != nil {
		return 0, err
	}
	text, err := s.get(ctx, fmt.Sprintf("/api/v1/histogram/quantiles?query=%s&start=%d&end=%d&step=3600&q=0.5", escape(`{__name__=~"bench.time.*"}`), began.Unix()-5, now.Unix()))
	if err != nil {
		return 0, err
	}
	var answer struct{ Columns []struct{ Count float64 } }
	if err := json.Unmarshal(text, &answer); err != nil {
		return 0, err
	}
	timed := 0.0
	for _, c := range answer.Columns {
		timed += c.Count
	}
	drops, err := s.scalar(ctx, fmt.Sprintf("/api/v1/query?query=%s&time=%d", escape(`sum({__name__=~"cistern_storaged_.*kernel_drops_total"})`), now.Unix()))
	if err == nil {
		r.drops = drops
	}
	if err := s.settle(ctx); err != nil {
		return 0, err
	}
	whole, err := s.weigh()
	if err != nil {
		return 0, err
	}
	parts, err := s.disk(ctx)
	if err == nil {
		r.over = whole / float64(parts["samples"]+parts["index"])
	}
	return counted + timed, err
}

var sampleLine = regexp.MustCompile(`(?m)^bench_(count_\d+|time_\d+_count)(?:\{[^}]*\})? ([0-9.e+]+)$`)

func exporterStatsd(ctx context.Context, metrics string, r *capture) (float64, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, metrics, nil)
	if err != nil {
		return 0, err
	}
	client := &http.Client{Timeout: time.Minute}
	answer, err := client.Do(request)
	if err != nil {
		return 0, err
	}
	defer answer.Body.Close()
	var text strings.Builder
	if _, err := bufio.NewReader(answer.Body).WriteTo(&text); err != nil {
		return 0, err
	}
	sum := 0.0
	for _, match := range sampleLine.FindAllStringSubmatch(text.String(), -1) {
		value, _ := strconv.ParseFloat(match[2], 64)
		sum += value
	}
	// What it drops itself, between its socket and its table, it does count.
	if match := regexp.MustCompile(`(?m)^statsd_exporter_udp_packet_drops_total ([0-9.e+]+)$`).FindStringSubmatch(text.String()); match != nil {
		if own, err := strconv.ParseFloat(match[1], 64); err == nil && own > 0 {
			r.drops = own
		}
	}
	return sum, nil
}

// graphiteCollector takes what node statsd flushes and adds up the packets in it.
type graphiteCollector struct {
	listener net.Listener
	port     int
	mu       sync.Mutex
	sum      float64
}

var flushedLine = regexp.MustCompile(`^stats\.(?:counters\.bench\.count\.\d+\.count|timers\.bench\.time\.\d+\.count) ([0-9.e+]+) `)

func newGraphiteCollector() (*graphiteCollector, error) {
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	c := &graphiteCollector{listener: listener, port: listener.Addr().(*net.TCPAddr).Port}
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer connection.Close()
				_ = connection.SetDeadline(time.Now().Add(2 * time.Minute))
				for lines := bufio.NewScanner(connection); lines.Scan(); {
					if match := flushedLine.FindSubmatch(lines.Bytes()); match != nil {
						value, _ := strconv.ParseFloat(string(match[1]), 64)
						c.mu.Lock()
						c.sum += value
						c.mu.Unlock()
					}
				}
			}()
		}
	}()
	return c, nil
}

func (c *graphiteCollector) packets() float64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.sum
}

func (c *graphiteCollector) close() { c.listener.Close() }
