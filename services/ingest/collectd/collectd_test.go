package collectd

import (
	"bytes"
	"context"
	"crypto/aes"
	"crypto/hmac"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"math"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"cistern/services/journal"
	"cistern/services/store/tsdb"
)

// memory is a store that remembers.
type memory struct {
	mu       sync.Mutex
	samples  []string
	fails    int // so many times yet
	rejected map[tsdb.Reason]int
}

func (m *memory) Ingest(_ context.Context, input string, batch []tsdb.Sample, d journal.Durability) ([]tsdb.Rejection, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.fails > 0 {
		m.fails--
		return nil, errors.New("the pool is full")
	}
	if input != "collectd" || d != journal.Interval {
		return nil, fmt.Errorf("input %q, durability %q", input, d)
	}
	for _, s := range batch {
		labels, err := tsdb.ParseKey(string(s.Key))
		if err != nil {
			return nil, err
		}
		var text []string
		for _, l := range labels {
			text = append(text, l.Name+"="+l.Value)
		}
		m.samples = append(m.samples, fmt.Sprintf("%s %s %g %d", s.Kind, strings.TrimPrefix(strings.Join(text, ","), "__name__="), s.Value, s.Time))
	}
	return nil, nil
}

func (m *memory) Describe([]tsdb.Metadata)                   {}
func (m *memory) Exemplify(context.Context, []tsdb.Exemplar) {}

func (m *memory) Reject(reason tsdb.Reason, n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.rejected == nil {
		m.rejected = map[tsdb.Reason]int{}
	}
	m.rejected[reason] += n
}

func part(kind uint16, content []byte) []byte {
	p := binary.BigEndian.AppendUint16(nil, kind)
	p = binary.BigEndian.AppendUint16(p, uint16(len(content)+4))
	return append(p, content...)
}

func text(kind uint16, s string) []byte { return part(kind, append([]byte(s), 0)) }

func number(kind uint16, v uint64) []byte { return part(kind, binary.BigEndian.AppendUint64(nil, v)) }

type value struct {
	kind byte
	v    float64
}

func values(list ...value) []byte {
	p := binary.BigEndian.AppendUint16(nil, uint16(len(list)))
	for _, one := range list {
		p = append(p, one.kind)
	}
	for _, one := range list {
		if one.kind == gauge {
			p = binary.LittleEndian.AppendUint64(p, math.Float64bits(one.v))
		} else {
			p = binary.BigEndian.AppendUint64(p, uint64(int64(one.v)))
		}
	}
	return part(partValues, p)
}

// header says host, time, plugin and type.
func header(plugin, kind string) []byte {
	return slices.Concat(text(partHost, "web1"), number(partTimeHR, 1000<<30|1<<29), number(0x0009, 10<<30), text(partPlugin, plugin), text(partType, kind))
}

func sign(user, password string, rest []byte) []byte {
	mac := hmac.New(sha256.New, []byte(password))
	mac.Write([]byte(user))
	mac.Write(rest)
	return append(part(partSignature, append(mac.Sum(nil), user...)), rest...)
}

func encrypt(user, password string, rest []byte) []byte {
	vector := []byte("0123456789abcdef")
	sum := sha1.Sum(rest)
	key := sha256.Sum256([]byte(password))
	block, _ := aes.NewCipher(key[:])
	content := binary.BigEndian.AppendUint16(nil, uint16(len(user)))
	content = slices.Concat(content, []byte(user), vector, outputFeedback(block, vector, append(sum[:], rest...)))
	return part(partEncryption, content)
}

var good = slices.Concat(header("uptime", "uptime"), values(value{gauge, 7}))

const goodSample = "gauge collectd.uptime.uptime,host=web1 7 1000500"

// literal is a packet byte by byte, as the protocol's description has it.
const literal = "0000" + "0009" + "7765623100" + // host web1
	"0001" + "000c" + "00000000000003e8" + // time 1000 s
	"0007" + "000c" + "000000000000000a" + // interval 10 s
	"0002" + "0008" + "63707500" + // plugin cpu
	"0003" + "0006" + "3000" + // plugin instance 0
	"0004" + "0008" + "63707500" + // type cpu
	"0005" + "0009" + "69646c6500" + // type instance idle
	"0006" + "000f" + "0001" + "02" + "0000000000000400" // one value, derive, 1024

var packets = []struct {
	name   string
	packet []byte
	want   []string
	reason map[tsdb.Reason]int
}{
	{"literal", unhex(literal), []string{"counter collectd.cpu.cpu,host=web1,plugin_instance=0,type_instance=idle 1024 1000000"}, nil},
	{"kinds", slices.Concat(header("p", "many"), values(value{counter, 1}, value{gauge, -2.5}, value{derive, -3}, value{absolute, 4})),
		[]string{"counter collectd.p.many,host=web1,value=0 1 1000500", "gauge collectd.p.many,host=web1,value=1 -2.5 1000500",
			"counter collectd.p.many,host=web1,value=2 -3 1000500", "gauge collectd.p.many,host=web1,value=3 4 1000500"}, nil},
	{"sources", slices.Concat(header("load", "load"), values(value{gauge, 1}, value{gauge, 2}, value{gauge, 3}),
		text(partPlugin, "interface"), text(partPluginInstance, "eth0"), text(partType, "if_octets"), values(value{derive, 4}, value{derive, 5}),
		text(partPluginInstance, ""), values(value{derive, 4}, value{derive, 5}, value{derive, 6})),
		[]string{"gauge collectd.load.load.shortterm,host=web1 1 1000500", "gauge collectd.load.load.midterm,host=web1 2 1000500", "gauge collectd.load.load.longterm,host=web1 3 1000500",
			"counter collectd.interface.if_octets.rx,host=web1,plugin_instance=eth0 4 1000500", "counter collectd.interface.if_octets.tx,host=web1,plugin_instance=eth0 5 1000500",
			"counter collectd.interface.if_octets,host=web1,value=0 4 1000500", "counter collectd.interface.if_octets,host=web1,value=1 5 1000500",
			"counter collectd.interface.if_octets,host=web1,value=2 6 1000500"}, nil},
	{"no time is now", slices.Concat(text(partHost, "h"), text(partPlugin, "p"), text(partType, "t"), values(value{gauge, 1}), number(partTimeHR, 0), values(value{gauge, 2})),
		[]string{"gauge collectd.p.t,host=h 1 7", "gauge collectd.p.t,host=h 2 7"}, nil},
	{"passed over", slices.Concat(number(0x0101, 4), text(0x0100, "a message"), part(0x7777, nil), good), []string{goodSample}, nil},
	{"infinite", slices.Concat(header("p", "t"), values(value{gauge, math.Inf(1)})), []string{"gauge collectd.p.t,host=web1 +Inf 1000500"}, nil},
	{"NaN", slices.Concat(header("p", "load"), values(value{gauge, 1}, value{gauge, math.NaN()}, value{gauge, 3})),
		[]string{"gauge collectd.p.load.shortterm,host=web1 1 1000500", "gauge collectd.p.load.longterm,host=web1 3 1000500"}, map[tsdb.Reason]int{NoValue: 1}},
	{"incomplete", slices.Concat(values(value{gauge, 1}), text(partHost, "h"), values(value{gauge, 1}), text(partPlugin, "p"), values(value{gauge, 1}), good),
		[]string{goodSample}, map[tsdb.Reason]int{Incomplete: 3}},
	{"bad time", slices.Concat(header("p", "t"), number(partTime, 1<<60), values(value{gauge, 1}, value{gauge, 1}), good),
		[]string{goodSample}, map[tsdb.Reason]int{BadTime: 2}},
	{"bad UTF-8", slices.Concat(header("p", "t"), text(partHost, "\xff"), values(value{gauge, 1}), header("\xff", "t"), values(value{gauge, 1}), good),
		[]string{goodSample}, map[tsdb.Reason]int{tsdb.BadLabel: 1, tsdb.BadName: 1}},
	// What is unreadable ends the packet; what was before is kept.
	{"a short part", append(slices.Clone(good), 0, 6, 0, 3), []string{goodSample}, map[tsdb.Reason]int{BadPacket: 1}},
	{"a long part", append(slices.Clone(good), 0, 6, 0, 9), []string{goodSample}, map[tsdb.Reason]int{BadPacket: 1}},
	{"a cut part", append(slices.Clone(good), 0, 6), []string{goodSample}, map[tsdb.Reason]int{BadPacket: 1}},
	{"a text without an end", slices.Concat(good, part(partHost, []byte("web")), good), []string{goodSample}, map[tsdb.Reason]int{BadPacket: 1}},
	{"an empty text", slices.Concat(good, part(partHost, nil), good), []string{goodSample}, map[tsdb.Reason]int{BadPacket: 1}},
	{"a long text", slices.Concat(good, text(partHost, strings.Repeat("x", maxText+1)), good), []string{goodSample}, map[tsdb.Reason]int{BadPacket: 1}},
	{"a short time", slices.Concat(good, part(partTime, []byte{1, 2, 3}), good), []string{goodSample}, map[tsdb.Reason]int{BadPacket: 1}},
	{"no values", slices.Concat(good, part(partValues, []byte{0, 0}), good), []string{goodSample}, map[tsdb.Reason]int{BadPacket: 1}},
	{"no count", slices.Concat(good, part(partValues, []byte{0}), good), []string{goodSample}, map[tsdb.Reason]int{BadPacket: 1}},
	{"another count", slices.Concat(good, part(partValues, []byte{0xff, 0xff, 1, 0, 0, 0, 0, 0, 0, 0, 0}), good), []string{goodSample}, map[tsdb.Reason]int{BadPacket: 1}},
	{"another kind", slices.Concat(good, values(value{4, 1}), good), []string{goodSample}, map[tsdb.Reason]int{BadPacket: 1}},
	{"signed, without users", sign("ann", "secret", good), nil, map[tsdb.Reason]int{NoUsers: 1}},
	{"encrypted, without users", append(encrypt("ann", "secret", good), good...), []string{goodSample}, map[tsdb.Reason]int{NoUsers: 1}},
	{"empty", nil, nil, nil},
}

func unhex(s string) []byte {
	b, err := hex.DecodeString(s)
	if err != nil {
		panic(err)
	}
	return b
}

// taken is what becomes of a packet, by way of a store.
func taken(packet []byte, users map[string]string) ([]string, map[tsdb.Reason]int) {
	m := &memory{}
	b := batch{users: users}
	b.packet(packet, 7)
	(&Server{store: m}).keep(&b)
	return m.samples, m.rejected
}

func TestPackets(t *testing.T) {
	for _, c := range packets {
		if samples, rejected := taken(c.packet, nil); !slices.Equal(samples, c.want) || !maps.Equal(rejected, c.reason) {
			t.Errorf("%s: %q, want %q; refused %v, want %v", c.name, samples, c.want, rejected, c.reason)
		}
	}
}

func TestSecurity(t *testing.T) {
	users := map[string]string{"ann": "secret", "bob": "other"}
	flipped := func(packet []byte) []byte {
		packet = slices.Clone(packet)
		packet[len(packet)-1] ^= 1
		return packet
	}
	sample := []string{goodSample}
	for _, c := range []struct {
		name   string
		packet []byte
		want   []string
		reason map[tsdb.Reason]int
	}{
		{"signed", sign("ann", "secret", good), sample, nil},
		{"encrypted", encrypt("bob", "other", good), sample, nil},
		{"twice in one packet", append(encrypt("bob", "other", good), encrypt("ann", "secret", good)...), []string{goodSample, goodSample}, nil},
		{"signed and encrypted", sign("ann", "secret", encrypt("bob", "other", good)), sample, nil},
		{"neither", good, nil, map[tsdb.Reason]int{NotSigned: 1}},
		{"after what is encrypted", append(encrypt("ann", "secret", good), good...), sample, map[tsdb.Reason]int{NotSigned: 1}},
		{"before what is signed", append(slices.Clone(good), sign("ann", "secret", values(value{gauge, 1}))...), nil, map[tsdb.Reason]int{NotSigned: 1, Incomplete: 1}},
		{"a wrong password", sign("ann", "other", good), nil, map[tsdb.Reason]int{BadSignature: 1}},
		{"a wrong password, encrypted", encrypt("ann", "other", good), nil, map[tsdb.Reason]int{BadSignature: 1}},
		{"changed", flipped(sign("ann", "secret", good)), nil, map[tsdb.Reason]int{BadSignature: 1}},
		{"changed, encrypted", flipped(encrypt("ann", "secret", good)), nil, map[tsdb.Reason]int{BadSignature: 1}},
		{"another user", sign("eve", "secret", good), nil, map[tsdb.Reason]int{UnknownUser: 1}},
		{"another user, encrypted", encrypt("eve", "secret", good), nil, map[tsdb.Reason]int{UnknownUser: 1}},
		{"no user", part(partSignature, make([]byte, 32)), nil, map[tsdb.Reason]int{BadPacket: 1}},
		{"no user, encrypted", encrypt("", "secret", good), nil, map[tsdb.Reason]int{BadPacket: 1}},
		{"a cut one", part(partEncryption, []byte{0}), nil, map[tsdb.Reason]int{BadPacket: 1}},
		{"a short one", part(partEncryption, append([]byte{0, 3}, "ann and no more"...)), nil, map[tsdb.Reason]int{BadPacket: 1}},
		{"encrypted twice", encrypt("ann", "secret", encrypt("ann", "secret", good)), nil, map[tsdb.Reason]int{BadPacket: 1}},
		{"nothing", encrypt("ann", "secret", nil), nil, nil},
	} {
		if samples, rejected := taken(c.packet, users); !slices.Equal(samples, c.want) || !maps.Equal(rejected, c.reason) {
			t.Errorf("%s: %q, refused %v, want %v", c.name, samples, rejected, c.reason)
		}
	}
}

// The example of NIST SP 800-38A, F.4.5.
func TestOutputFeedback(t *testing.T) {
	block, err := aes.NewCipher(unhex("603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4"))
	if err != nil {
		t.Fatal(err)
	}
	got := outputFeedback(block, unhex("000102030405060708090a0b0c0d0e0f"), unhex("6bc1bee22e409f96e93d7e117393172aae2d8a571e03ac9c9eb76fac45af8e51"))
	if want := unhex("dc7e84bfda79164b7ecd8486985d38604febdc6740d20b3ac88f6ad82a4fb08d"); !bytes.Equal(got, want) {
		t.Errorf("%x", got)
	}
}

func TestSocket(t *testing.T) {
	m := &memory{}
	s, err := Listen("127.0.0.1:0", map[string]string{"ann": "secret"}, m, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Listen(s.Addr(), nil, m, nil); err == nil {
		t.Error("the same address twice")
	}
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan struct{})
	told := make(chan error, 10)
	go func() { s.Serve(ctx, func(err error) { told <- err }); close(served) }()
	c, err := net.Dial("udp", s.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	send := func(packet []byte) {
		if _, err := c.Write(packet); err != nil {
			t.Fatal(err)
		}
	}
	waitFor := func(what string, ok func() bool) {
		t.Helper()
		for deadline := time.Now().Add(10 * time.Second); !ok(); time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatal("still not: " + what)
			}
		}
	}
	for range 50 {
		send(sign("ann", "secret", good))
	}
	send(good)
	waitFor("51 packets", func() bool { return s.Values() == 50 && s.Bad() == 1 && s.Packets() == 51 })
	for len(told) == 0 { // not before it serves
		m.mu.Lock()
		m.fails = 1
		m.mu.Unlock()
		bad := s.Bad()
		send(sign("ann", "secret", good))
		waitFor("the lost one", func() bool { return s.Bad() == bad+1 })
	}
	if err := <-told; !strings.Contains(err.Error(), "the pool is full") {
		t.Error(err)
	}
	stop()
	<-served
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if m.rejected[NotStored] == 0 || m.rejected[NotSigned] != 1 {
		t.Errorf("refused %v", m.rejected)
	}
}

// What the kernel holds when the end comes is taken too.
func TestDrain(t *testing.T) {
	s, err := Listen("127.0.0.1:0", nil, &memory{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	c, err := net.Dial("udp", s.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for range 200 {
		if _, err := c.Write(good); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil || s.Packets() != 200 {
		t.Errorf("%d packets, %v", s.Packets(), err)
	}
}

func FuzzPacket(f *testing.F) {
	for _, c := range packets {
		f.Add(c.packet, byte(0))
	}
	f.Add(good, byte(1))
	f.Add(good, byte(2))
	f.Add(sign("ann", "secret", good), byte(3))
	f.Add(encrypt("ann", "secret", good), byte(3))
	f.Fuzz(func(t *testing.T, packet []byte, how byte) {
		if len(packet) > 60_000 {
			return
		}
		users := map[string]string{"ann": "secret"}
		switch how {
		case 0:
			users = nil
		case 1:
			packet = sign("ann", "secret", packet)
		case 2:
			packet = encrypt("ann", "secret", packet)
		}
		if _, rejected := taken(packet, users); rejected[NotStored] > 0 { // every key must be a key
			t.Fatal(rejected)
		}
	})
}
