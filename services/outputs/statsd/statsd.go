// Package statsd sends samples on as statsd's lines, with DogStatsD's tags. What is repeated is what the store has of each
// second, and not the packets as they came: a counter as what it grew by (|c), a gauge as its value (|g), a histogram as one
// line for each of its bins, weighted by a sample rate (12.5|ms|@0.25 is four values). statsd has no times: what waited while the
// receiver was gone is counted there in the second in which it arrives.
//
// Left out, and counted: the first sample of each counter after a start, which has nothing before it to be compared with; native
// histograms that are running totals; NaN and infinities.
package statsd

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"strconv"
	"strings"
	"time"

	"cistern/services/histogram"
	"cistern/services/outputs/receiver"
	"cistern/services/store/tsdb"
)

// Settings are where and how to send.
type Settings struct {
	Address string `json:"address"`
	// Protocol is udp or tcp. Over UDP nobody acknowledges anything: what is lost on the way is not noticed.
	Protocol string `json:"protocol"`
	// Histograms are sent as "ms", with values in milliseconds of what the store has in seconds, as "h" with the values as they
	// are, or as "none".
	Histograms string `json:"histograms"`
}

// maxDatagram fits into an Ethernet frame, with room for IPv6 and tunnels.
const maxDatagram = 1400

type series struct {
	name, tags string
	kind       tsdb.Kind
	last       float64 // of a counter
	known      bool
}

// Output sends to one receiver.
type Output struct {
	settings Settings
	own      receiver.Own
	lines    []byte
	ends     []int // of lines
	samples  int
	leftOut  int
	decoded  histogram.Histogram
}

// New opens an output; nothing is connected yet.
func New(s Settings, own receiver.Own) (*Output, error) {
	if err := receiver.CheckAddress(s.Address); err != nil {
		return nil, err
	}
	if s.Protocol != "udp" && s.Protocol != "tcp" {
		return nil, fmt.Errorf("the protocol %.20q is not known: it is udp or tcp", s.Protocol)
	}
	if s.Histograms != "ms" && s.Histograms != "h" && s.Histograms != "none" {
		return nil, fmt.Errorf("histograms cannot be sent as %.20q: it is ms, h or none", s.Histograms)
	}
	return &Output{settings: s, own: own}, nil
}

// clean takes out of a name what would end it.
func clean(text, bad string) string {
	return strings.Map(func(r rune) rune {
		if r <= ' ' || r == 0x7f || strings.ContainsRune(bad, r) {
			return '_'
		}
		return r
	}, text)
}

// Prepare implements receiver.Receiver.
func (o *Output) Prepare(key string, kind tsdb.Kind) any {
	if kind == tsdb.Histogram && o.settings.Histograms == "none" {
		return nil
	}
	s := &series{kind: kind}
	var tags strings.Builder
	tsdb.EachLabel(key, func(name, value string) {
		if name == tsdb.NameLabel {
			s.name = clean(value, ":|@#;,")
			return
		}
		if tags.Len() == 0 {
			tags.WriteString("|#")
		} else {
			tags.WriteString(",")
		}
		tags.WriteString(clean(name, ":|,") + ":" + clean(value, "|,"))
	})
	s.tags = tags.String()
	return s
}

// Add implements receiver.Receiver.
func (o *Output) Add(of any, sample *tsdb.Streamed) int {
	s := of.(*series)
	v := sample.Value
	switch {
	case sample.Encoded != nil:
		if _, err := o.decoded.Decode(sample.Encoded); err != nil {
			o.leftOut++
			return len(o.lines)
		}
		o.bins(s)
	case sample.Native != nil || math.IsNaN(v) || math.IsInf(v, 0):
		o.leftOut++
		return len(o.lines)
	case s.kind == tsdb.Counter:
		grown, known := v-s.last, s.known
		if grown < 0 { // it began again
			grown = v
		}
		s.last, s.known = v, true
		if !known {
			o.leftOut++
			return len(o.lines)
		}
		if grown != 0 {
			o.line(s, grown, "|c", 1)
		}
	default:
		if v < 0 { // a sign alone would mean a change
			o.line(s, 0, "|g", 1)
		}
		o.line(s, v, "|g", 1)
	}
	o.samples++
	return len(o.lines)
}

// bins adds a line for each bin of the histogram that was decoded.
func (o *Output) bins(s *series) {
	kind, shift := "|h", 0
	if o.settings.Histograms == "ms" {
		kind, shift = "|ms", 3
	}
	// Where values stand in their bins the sum says; none may come to be in the next bin.
	place := min(o.decoded.Place(), 0.999)
	for i, bin := range o.decoded.Bins {
		if n := o.decoded.Counts[i]; n > 0 {
			o.line(s, bin.Shift(shift).At(place), kind, n)
		}
	}
}

// maxWeight is the most that a line stands for: smaller sample rates are not believed by all receivers.
const maxWeight = 1_000_000

func (o *Output) line(s *series, value float64, kind string, count uint64) {
	for count > 0 {
		n := min(count, maxWeight)
		count -= n
		o.lines = strconv.AppendFloat(append(append(o.lines, s.name...), ':'), value, 'g', -1, 64)
		o.lines = append(o.lines, kind...)
		if n > 1 {
			o.lines = strconv.AppendFloat(append(o.lines, "|@"...), 1/float64(n), 'g', -1, 64)
		}
		o.lines = append(append(o.lines, s.tags...), '\n')
		o.ends = append(o.ends, len(o.lines))
	}
}

// Send implements receiver.Receiver.
func (o *Output) Send(ctx context.Context) (receiver.Outcome, error) {
	if len(o.lines) > 0 {
		var err error
		if o.settings.Protocol == "tcp" {
			err = o.own.DeliverTCP(ctx, o.settings.Address, o.lines)
		} else {
			err = o.datagrams(ctx)
		}
		if err != nil {
			return receiver.Outcome{}, err
		}
	}
	outcome := receiver.Outcome{Sent: o.samples, LeftOut: o.leftOut}
	o.Forget()
	return outcome, nil
}

// datagrams sends the lines, as many in each as fit. A machine that says that nobody listens there is an error; what is sent
// already is not sent again.
func (o *Output) datagrams(ctx context.Context) error {
	connection, err := o.own.Dial(ctx, "udp", o.settings.Address)
	if err != nil {
		return err
	}
	defer connection.Close()
	begin, sent, packets := 0, 0, 0
	for i, end := range o.ends {
		if i+1 < len(o.ends) && o.ends[i+1]-begin <= maxDatagram {
			continue
		}
		if _, err = connection.Write(o.lines[begin : end-1]); err != nil {
			break
		}
		begin, sent = end, i+1
		if packets++; packets%32 == 0 { // a receiver's buffer is small
			time.Sleep(time.Millisecond)
		}
		if err = ctx.Err(); err != nil {
			break
		}
	}
	if err == nil {
		// The answer that nobody listens comes a moment later.
		_ = connection.SetReadDeadline(time.Now().Add(20 * time.Millisecond))
		var timeout net.Error
		if _, err = connection.Read(make([]byte, 1)); errors.As(err, &timeout) && timeout.Timeout() {
			err = nil
		}
	}
	if err == nil {
		return nil
	}
	if sent > 0 && sent < len(o.ends) {
		o.lines = append(o.lines[:0], o.lines[begin:]...)
		rest := o.ends[:0]
		for _, end := range o.ends[sent:] {
			rest = append(rest, end-begin)
		}
		o.ends = rest
	}
	return fmt.Errorf("sending to %s: %w", o.settings.Address, err)
}

// Forget implements receiver.Receiver.
func (o *Output) Forget() {
	o.lines, o.ends, o.samples, o.leftOut = o.lines[:0], o.ends[:0], 0, 0
}

// Check implements receiver.Receiver: over TCP it connects; over UDP it sends an empty datagram, which statsd passes over.
func (o *Output) Check(ctx context.Context) (string, error) {
	if o.settings.Protocol == "tcp" {
		if err := o.own.DeliverTCP(ctx, o.settings.Address, nil); err != nil {
			return "", err
		}
		return fmt.Sprintf("%s accepted a connection, and closed it at its end as a receiver of lines does. Nothing was sent.", o.settings.Address), nil
	}
	connection, err := o.own.Dial(ctx, "udp", o.settings.Address)
	if err != nil {
		return "", err
	}
	defer connection.Close()
	if _, err := connection.Write([]byte("\n")); err != nil {
		return "", err
	}
	_ = connection.SetReadDeadline(time.Now().Add(500 * time.Millisecond))
	_, err = connection.Read(make([]byte, 1))
	var timeout net.Error
	if err != nil && !(errors.As(err, &timeout) && timeout.Timeout()) {
		return "", fmt.Errorf("%s: %w", o.settings.Address, err)
	}
	return fmt.Sprintf("A datagram was sent to %s, and nobody said that it could not be delivered. Over UDP there is no other answer.", o.settings.Address), nil
}

// Close implements receiver.Receiver.
func (o *Output) Close() error { return nil }
