package main

// What inputs refuse of their senders, in the log: most of these senders are never told.

import (
	"context"
	"time"

	"cistern/services/ingest/senders"
	"cistern/services/ingest/tlsport"
	"cistern/services/store/tsdb"
)

// logged are the reasons that somebody has to do something about, with what that is.
var logged = []struct {
	reason tsdb.Reason
	text   string
}{
	{tsdb.SenderSeriesRate, "a sender makes new series too fast: find out which part of its names or labels changes each time, or raise the input's sender_series_per_second"},
	{tsdb.InputSeriesRate, "senders together make new series too fast: find out who does, or raise the input's series_per_second"},
	{tsdb.SenderSampleRate, "a sender sends too much: find out what it sends and how often, or raise the input's sender_samples_per_second"},
	{senders.NetworkNotAllowed, "something comes from a network that may not send: add it to the input's networks, or stop the sender"},
	{tlsport.Handshake, "a sender does not get through TLS: it sends plain text to the TLS port, or does not trust the certificate"},
	{tlsport.ClientCertificate, "a sender shows no certificate that the TLS port accepts: give it one of the CA that is set there"},
	{tsdb.ReservedName, "a sender uses a name of the appliance's own series: it must send under another one"},
}

// refusalLog remembers what was logged.
type refusalLog struct {
	server *server
	before map[string]map[tsdb.Reason]uint64 // by input
}

// run logs once a minute what was refused since, until ctx ends.
func (l *refusalLog) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(time.Minute):
		}
		l.write()
	}
}

func (l *refusalLog) write() {
	for _, in := range inputs {
		refused := l.server.senders[in.name].Status(0).Refused
		for _, one := range logged {
			n := refused[one.reason] - l.before[in.name][one.reason]
			if n == 0 {
				continue
			}
			l.server.log.Warn(one.text, "input", in.name, "from", l.server.senders[in.name].Worst(one.reason), "reason", string(one.reason), "samples", n)
		}
		l.before[in.name] = refused
	}
}
