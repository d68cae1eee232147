package main

import (
	"bytes"
	"log/slog"
	"net/netip"
	"strings"
	"testing"

	"cistern/services/ingest/senders"
	"cistern/services/store/tsdb"
)

// What is refused is in the log once, with the worst sender, and again only when there is more.
func TestRefusalsAreLogged(t *testing.T) {
	var out bytes.Buffer
	s := &server{log: slog.New(slog.NewTextHandler(&out, nil)), config: defaults()}
	s.config.Data = t.TempDir()
	s.readInputs()
	s.senders = s.openSenders()
	l := refusalLog{server: s, before: map[string]map[tsdb.Reason]uint64{}}
	l.write()
	s.senders["statsd"].Refused(netip.MustParseAddr("192.0.2.1"), tsdb.SenderSeriesRate, 2)
	s.senders["statsd"].Refused(netip.MustParseAddr("192.0.2.2"), tsdb.SenderSeriesRate, 5)
	s.senders["graphite"].Refused(netip.MustParseAddr("192.0.2.3"), senders.NetworkNotAllowed, 1)
	s.senders["graphite"].Refused(netip.MustParseAddr("192.0.2.3"), tsdb.TooOld, 1)
	l.write()
	l.write()
	text := out.String()
	if strings.Count(text, "\n") != 2 || !strings.Contains(text, "input=statsd from=192.0.2.2 reason=sender_series_rate samples=7") ||
		!strings.Contains(text, "input=graphite from=192.0.2.3 reason=network_not_allowed samples=1") {
		t.Error(text)
	}
}
