package log

// Keys are those of all lines of the log, akd's too (appliance-kit/src/base/log-keys.ts), and what each one's value is; a
// test finds others. One thing has one key.
var Keys = map[string]string{
	// What goes on.
	"attempts": "how often it was tried",
	"error":    "what went wrong, with the cause",
	"givenUp":  "whether it is not tried again",
	"reason":   "why something was done, or refused",
	"signal":   "a signal that the process was sent",
	"stack":    "where a request's handler panicked",
	"status":   "another service's answer, as HTTP has it",
	"text":     "what another program printed",

	// Whom it is about.
	"from":   "the address of a client",
	"group":  "a group of the operating system",
	"host":   "another machine",
	"input":  "a way in for samples",
	"method": "an HTTP method",
	"path":   "a file, a socket, or an HTTP path",
	"pid":    "a process",
	"sender": "who replicates to here",
	"sha256": "the fingerprint of a certificate",
	"target": "the dataset that is replicated to",
	"user":   "who has signed in",

	// What akd works on.
	"alert":       "an alert",
	"dataset":     "a dataset",
	"destination": "where alerts are sent",
	"entry":       "an entry of the timetable",
	"event":       "an event that is sent",
	"job":         "a job",
	"kind":        "which kind of job or action",
	"op":          "what the journal was asked to do",
	"output":      "where samples are sent on",
	"pool":        "a pool of ZFS",
	"replication": "a replication",
	"rule":        "a rule of thresholds",
	"schedule":    "a schedule of snapshots",
	"service":     "a service of this machine",

	// The daemon itself, in its line "ready".
	"bundles":       "the folder of bundles",
	"data":          "the folder of the store",
	"otlpGrpc":      "the address of OpenTelemetry's metrics over gRPC",
	"platform":      "which operating system it drives",
	"listens":       "the sockets and addresses that HTTP is served on",
	"statsd":        "the address of statsd",
	"statsdAdmin":   "the address of statsd's text interface",
	"statsdBuffer":  "the kernel's buffer of a socket of statsd, in bytes",
	"statsdSockets": "how many sockets statsd reads",
	"version":       "of the daemon",

	// Figures.
	"after":          "bytes that are left",
	"bytes":          "a size",
	"entries":        "entries of the journal",
	"damagedBytes":   "bytes of the journal that could not be read",
	"damagedEntries": "entries of the journal that could not be read",
	"hours":          "how long rollups of an hour are kept",
	"minutes":        "how long rollups of a minute are kept",
	"of":             "of how many",
	"samples":        "how many samples; of retention: how long they are kept",
	"seconds":        "how long it took, or may take",

	// The store and what is measured.
	"block":    "a block's name",
	"blocks":   "how many blocks, or where they end in the journal",
	"datasets": "how many datasets of tracerd",
	"end":      "where the journal ends",
	"snapshot": "a snapshot of ZFS",
}
