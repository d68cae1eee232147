package linux

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"cistern/services/execd/host/firewall"
)

// inNamespace runs the test by itself in a network of its own, where it may change everything, and says whether it is there.
func inNamespace(t *testing.T) bool {
	t.Helper()
	if os.Getenv("CISTERN_IN_NAMESPACE") != "" {
		return true
	}
	c := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
	c.Env = append(os.Environ(), "CISTERN_IN_NAMESPACE=1")
	c.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET | syscall.CLONE_NEWUSER, Pdeathsig: syscall.SIGKILL,
		UidMappings: []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}}, GidMappings: []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}}}
	said, err := c.CombinedOutput()
	if err != nil || !strings.Contains(string(said), "--- PASS") {
		t.Fatalf("in a network of its own: %v\n%s", err, said)
	}
	t.Logf("%s", said)
	return false
}

// The test's own program is also the one that sends and listens at the other end.
func init() {
	if source := os.Getenv("CISTERN_SEND_FROM"); source != "" {
		to := netip.AddrPortFrom(netip.MustParseAddr(os.Getenv("CISTERN_SEND_TO")), 8125)
		connection, err := net.DialUDP("udp", &net.UDPAddr{IP: net.ParseIP(source)}, net.UDPAddrFromAddrPort(to))
		if err == nil {
			_, err = connection.Write([]byte("a:1|c"))
		}
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if number := os.Getenv("CISTERN_CONNECT"); number != "" {
		var many int
		_, _ = fmt.Sscan(number, &many)
		held := 0
		for range many {
			connection, err := net.DialTimeout("tcp", os.Getenv("CISTERN_CONNECT_TO"), 2*time.Second)
			if err != nil {
				break
			}
			defer connection.Close()
			held++
		}
		fmt.Println(held)
		_, _ = io.Copy(io.Discard, os.Stdin) // until nobody waits for them any more
		os.Exit(0)
	}
	if address := os.Getenv("CISTERN_LISTEN"); address != "" {
		listener, err := net.Listen("tcp", address)
		if err == nil {
			defer listener.Close()
			time.Sleep(20 * time.Second)
		}
		os.Exit(0)
	}
}

func sh(t *testing.T, script string) string {
	t.Helper()
	said, err := exec.Command("bash", "-ec", script).CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", script, err, said)
	}
	return string(said)
}

func prefixes(list ...string) []netip.Prefix {
	all := make([]netip.Prefix, len(list))
	for i, one := range list {
		all[i] = netip.MustParsePrefix(one)
	}
	return all
}

func document(services ...firewall.Service) firewall.Document {
	return firewall.Document{Version: 1, Services: append([]firewall.Service{{Name: "https", Ports: []firewall.Port{{Protocol: "tcp", Port: 443}}, Networks: []string{}}}, services...)}
}

// What is loaded is what nft says is loaded, and what somebody else changes is found.
func TestWhatIsLoadedIsReadBack(t *testing.T) {
	if !inNamespace(t) {
		return
	}
	machine, ctx := &Host{}, context.Background()
	rules := firewall.Default().Rules(prefixes("192.0.2.0/24", "10.1.0.0/16", "10.2.0.0/16", "10.3.0.0/16", "127.0.0.0/8", "2001:db8::/64", "fe80::/64"))
	if loaded, err := machine.ReadFirewall(ctx, rules); err != nil || len(loaded.Differs) != 1 || loaded.Differs[0] != "No rules are loaded." {
		t.Fatalf("%+v %v", loaded, err)
	}
	load := func(rules []firewall.Rule) {
		t.Helper()
		if err := machine.LoadFirewall(ctx, rules, false); err != nil {
			t.Fatal(err)
		}
		if loaded, err := machine.ReadFirewall(ctx, rules); err != nil || len(loaded.Differs) != 0 {
			t.Fatalf("%+v %v\n%s", loaded, err, sh(t, "nft -j -n list table inet cistern"))
		}
	}
	load(rules)
	load(firewall.Default().Rules(nil))
	load(document().Rules(nil))
	load(rules)
	differs := func(by, says string) {
		t.Helper()
		sh(t, by)
		if loaded, err := machine.ReadFirewall(ctx, rules); err != nil || !strings.Contains(strings.Join(loaded.Differs, "\n"), says) {
			t.Errorf("%s: %+v %v", by, loaded, err)
		}
		if err := machine.LoadFirewall(ctx, rules, true); err != nil {
			t.Fatal(err)
		}
		load(rules)
	}
	differs("nft insert rule inet cistern input tcp dport 22 accept", "This rule was not made here: input: tcp dport [22] accept")
	differs("nft insert rule inet cistern input ip saddr 10.0.0.0/9 accept", "not made here: input: ip saddr [10.0.0.0-10.127.255.255] accept")
	differs("nft add rule inet cistern input accept", "not made here: input: accept")
	differs("nft insert rule inet cistern input meta mark 7 accept", "not made here")
	differs("nft insert rule inet cistern input tcp dport != 22 accept", "not made here")
	differs("nft flush chain inet cistern input", "missing: input: iif [lo] accept")
	differs("nft add chain inet cistern input '{ policy accept; }'", "The chain input is 'filter input accept', not 'filter input drop'.")
	differs("nft add chain inet cistern more", "a chain more that was not made here")
	differs("nft flush ruleset", "No rules are loaded.")
	// A table of another release.
	sh(t, "nft 'delete table inet cistern; add table inet cistern; add set inet cistern dropped-ipv4 { type ipv4_addr; }'")
	load(rules)
}

// Packets of a machine at the other end of a cable: what is not let in is dropped and counted, with who sent it.
func TestPacketsAreDroppedAndCounted(t *testing.T) {
	if !inNamespace(t) {
		return
	}
	peer := exec.Command("unshare", "-n", "sleep", "60")
	if err := peer.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = peer.Process.Kill(); _ = peer.Wait() }()
	from := fmt.Sprintf("nsenter -t %d -n ", peer.Process.Pid)
	deadline := time.Now().Add(10 * time.Second)
	own, _ := os.Readlink("/proc/self/ns/net")
	for {
		other, _ := os.Readlink(fmt.Sprintf("/proc/%d/ns/net", peer.Process.Pid))
		if other != "" && other != own {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the peer has no network of its own")
		}
		time.Sleep(10 * time.Millisecond)
	}
	sh(t, fmt.Sprintf("ip link set lo up; ip link add cable type veth peer name end netns %d; ip address add 192.0.2.1/24 dev cable; ip address add 2001:db8::1/64 dev cable nodad; ip link set cable up", peer.Process.Pid))
	sh(t, from+"bash -ec 'ip link set lo up; ip address add 192.0.2.2/24 dev end; ip address add 192.0.2.3/24 dev end; ip address add 2001:db8::2/64 dev end nodad; ip link set end up'")
	machine, ctx := &Host{}, context.Background()
	statsd := firewall.Service{Name: "statsd", Ports: []firewall.Port{{Protocol: "udp", Port: 8125}, {Protocol: "tcp", Port: 8125}}, Networks: []string{"192.0.2.3/32"}}
	rules := document(statsd).Rules(nil)
	if err := machine.LoadFirewall(ctx, rules, false); err != nil {
		t.Fatal(err)
	}
	packets := listenUDP(t, ":8125")
	for _, port := range []string{"443", "8125", "9999"} {
		listener, err := net.Listen("tcp", ":"+port)
		if err != nil {
			t.Fatal(err)
		}
		defer listener.Close()
		go serve(listener)
	}
	send := func(source, to string) {
		t.Helper()
		sh(t, from+"env CISTERN_SEND_FROM="+source+" CISTERN_SEND_TO="+to+" "+os.Args[0])
	}
	reached := func(to, port string) bool {
		return exec.Command("bash", "-c", from+"timeout 1 bash -c 'exec 3<>/dev/tcp/"+to+"/"+port+"'").Run() == nil
	}
	// One address fills the web server's places up to a limit, and another one still gets in.
	for _, to := range []string{"192.0.2.1:443", "[2001:db8::1]:443"} {
		release := connections(t, from, to, firewall.ConnectionsPerAddress+10, firewall.ConnectionsPerAddress)
		if exec.Command("bash", "-c", "timeout 2 bash -c 'exec 3<>/dev/tcp/192.0.2.1/443'").Run() != nil {
			t.Error("nobody else gets in")
		}
		full, err := machine.ReadFirewall(ctx, rules)
		if err != nil || len(full.Differs) != 0 || full.OverLimit["https"] == 0 {
			t.Errorf("%+v %v", full, err)
		}
		release()
	}
	send("192.0.2.3", "192.0.2.1")
	select {
	case <-packets:
	case <-time.After(5 * time.Second):
		t.Fatal("a packet of who may send did not arrive: " + sh(t, "nft list ruleset"))
	}
	send("192.0.2.2", "192.0.2.1")
	send("192.0.2.2", "192.0.2.1")
	send("2001:db8::2", "2001:db8::1")
	// Behind the others: once it is here, they would be.
	send("192.0.2.3", "192.0.2.1")
	select {
	case sender := <-packets:
		if sender != "192.0.2.3" {
			t.Errorf("a packet of %s came through", sender)
		}
	case <-time.After(5 * time.Second):
		t.Error("who may send is no longer heard")
	}
	for _, c := range []struct {
		to, port string
		want     bool
	}{{"192.0.2.1", "443", true}, {"2001:db8::1", "443", true}, {"192.0.2.1", "8125", false}, {"192.0.2.1", "9999", false}, {"2001:db8::1", "9999", false}} {
		if got := reached(c.to, c.port); got != c.want {
			t.Errorf("%s port %s: reached %v\n%s", c.to, c.port, got, sh(t, "nft list ruleset"))
		}
	}
	sh(t, from+"ping -c1 -W2 192.0.2.1")
	sh(t, from+"ping -c1 -W2 2001:db8::1")
	// The way out is free.
	sh(t, from+"env CISTERN_LISTEN=192.0.2.2:8000 "+os.Args[0]+" >/dev/null 2>&1 &")
	for deadline := time.Now().Add(10 * time.Second); exec.Command("bash", "-c", "timeout 1 bash -c 'exec 3<>/dev/tcp/192.0.2.2/8000'").Run() != nil; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("nothing gets out")
		}
	}
	loaded, err := machine.ReadFirewall(ctx, rules)
	if err != nil || len(loaded.Differs) != 0 {
		t.Fatalf("%+v %v", loaded, err)
	}
	told := map[string]uint64{}
	for _, s := range loaded.Senders {
		told[fmt.Sprintf("%s %s", s.Address, s.Port)] = s.Packets
		if s.SinceAgo < 0 || s.SinceAgo > time.Minute {
			t.Errorf("%+v", s)
		}
	}
	// A connection is tried more than once.
	if told["192.0.2.2 8125/udp"] != 2 || told["2001:db8::2 8125/udp"] != 1 || told["192.0.2.2 8125/tcp"] < 1 || len(told) != 3 {
		t.Errorf("%v\n%s", told, sh(t, "nft -j list table inet cistern"))
	}
	if loaded.Dropped["statsd"] != 3+told["192.0.2.2 8125/tcp"] || loaded.Dropped[firewall.Other] < 2 {
		t.Errorf("%v", loaded.Dropped)
	}
	// What was counted outlives a change, and who is let in is.
	statsd.Networks = []string{"192.0.2.0/24"}
	rules = document(statsd).Rules(nil)
	if err := machine.LoadFirewall(ctx, rules, false); err != nil {
		t.Fatal(err)
	}
	if again, err := machine.ReadFirewall(ctx, rules); err != nil || again.Dropped["statsd"] != loaded.Dropped["statsd"] || len(again.Senders) != 3 || len(again.Differs) != 0 {
		t.Errorf("%+v %v", again, err)
	}
	send("192.0.2.2", "192.0.2.1")
	select {
	case <-packets:
	case <-time.After(5 * time.Second):
		t.Error("who was let in is not heard")
	}
}

// serve takes connections, and closes those that their clients close, as a server does.
func serve(listener net.Listener) {
	for {
		connection, err := listener.Accept()
		if err != nil {
			return
		}
		go func() {
			_, _ = io.Copy(io.Discard, connection)
			_ = connection.Close()
		}()
	}
}

// connections begins so many from the other end, of which some are let in, and holds them until they are released.
func connections(t *testing.T, from, to string, many, want int) (release func()) {
	t.Helper()
	c := exec.Command("bash", "-c", fmt.Sprintf("exec %senv CISTERN_CONNECT=%d CISTERN_CONNECT_TO=%s %s", from, many, to, os.Args[0]))
	hold, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	said, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	var held int
	if _, err := fmt.Fscan(said, &held); err != nil || held != want {
		t.Errorf("%d of %d connections to %s are let in, not %d (%v)", held, many, to, want, err)
	}
	return func() { _ = hold.Close(); _ = c.Wait() }
}

func listenUDP(t *testing.T, address string) <-chan string {
	t.Helper()
	listener, err := net.ListenPacket("udp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	packets := make(chan string, 100)
	go func() {
		buffer := make([]byte, 100)
		for {
			_, from, err := listener.ReadFrom(buffer)
			if err != nil {
				return
			}
			packets <- from.(*net.UDPAddr).AddrPort().Addr().Unmap().String()
		}
	}()
	return packets
}

// Whatever document there is, nft takes its rules, and they are read back as the same.
func TestAnyDocumentIsTaken(t *testing.T) {
	if !inNamespace(t) {
		return
	}
	machine, ctx := &Host{}, context.Background()
	for seed := range uint64(60) {
		random := rand.New(rand.NewPCG(seed, 1))
		own := anyNetworks(random, 6)
		d := anyDocument(random)
		if path, message := d.Wrong(); path != "" {
			t.Fatalf("%s %s", path, message)
		}
		rules := d.Rules(own)
		if err := machine.LoadFirewall(ctx, rules, false); err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, nftScript(rules, false))
		}
		loaded, err := machine.ReadFirewall(ctx, rules)
		if err != nil || len(loaded.Differs) != 0 {
			t.Fatalf("seed %d: %v %v\n%s", seed, loaded.Differs, err, nftScript(rules, false))
		}
	}
}

func anyNetworks(random *rand.Rand, most int) []netip.Prefix {
	var all []netip.Prefix
	for range random.IntN(most + 1) {
		size := []int{4, 16}[random.IntN(2)]
		bytes := make([]byte, size)
		for i := range bytes {
			bytes[i] = byte(random.IntN(4)) // so that they touch
		}
		address, _ := netip.AddrFromSlice(bytes)
		all = append(all, netip.PrefixFrom(address, random.IntN(size*8+1)).Masked())
	}
	return all
}

func anyDocument(random *rand.Rand) firewall.Document {
	d := document()
	free := random.Perm(2000)
	for i := range random.IntN(12) {
		s := firewall.Service{Name: fmt.Sprintf("s%d", i)}
		for range random.IntN(5) {
			s.Ports = append(s.Ports, firewall.Port{Protocol: []string{"tcp", "udp"}[random.IntN(2)], Port: uint16(1000 + free[0])})
			free = free[1:]
		}
		for _, network := range anyNetworks(random, 8) {
			if !network.Addr().Is4In6() && !slices.Contains(s.Networks, network.String()) {
				s.Networks = append(s.Networks, network.String())
			}
		}
		if random.IntN(2) == 0 {
			s.Networks = append(s.Networks, firewall.Own)
		}
		d.Services = append(d.Services, s)
	}
	return d
}
