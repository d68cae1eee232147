package influx

// Lines over TCP and UDP, as Telegraf's socket_writer and InfluxDB's own clients send them. Timestamps are nanoseconds, and
// a line ends with its newline, also within a text.

import (
	"time"

	"cistern/services/ingest/lines"
	"cistern/services/ingest/senders"
	"cistern/services/journal"
	"cistern/services/store/tsdb"
)

// Listen opens the sockets and serves them until Close. from is who may send; nil for everybody.
func Listen(address string, store tsdb.Ingester, durability journal.Durability, from *senders.Input) (*lines.Server, error) {
	return lines.Listen(store, socketOptions(address, durability, from))
}

func socketOptions(address string, durability journal.Durability, from *senders.Input) lines.Options {
	return lines.Options{
		Name: "influx_socket", Title: "InfluxDB's line protocol", Address: address, TooLong: TooLong, NotStored: NotStored,
		Durability: durability, Senders: from,
		Line: func(b *lines.Batch, text []byte, now int64) {
			p := parser{now: now, unit: int64(time.Nanosecond)}
			if _, wrong := p.line(text, toBatch{b}); wrong != nil {
				b.Refuse(wrong.reason)
			}
		},
	}
}

type toBatch struct{ *lines.Batch }

func (b toBatch) add(labels []tsdb.Label, sample tsdb.Sample) {
	b.Labels = append(b.Labels[:0], labels...)
	b.Add(sample)
}

func (b toBatch) text() { b.Refuse(Text) }
