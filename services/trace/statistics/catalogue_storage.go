package statistics

// Disks and ZFS.

const (
	// A finished request of the block layer, counted as the kernel's own counters do: what has a partition is accounted.
	blockDone = "rawtp:block::block_rq_complete"
	blockWhen = "((struct request *)arg0)->part != NULL"
	blockType = `(((struct request *)arg0)->cmd_flags & 0xff) == 0 ? "read" : (((struct request *)arg0)->cmd_flags & 0xff) == 1 ? "write" : ` +
		`(((struct request *)arg0)->cmd_flags & 0xff) == 3 ? "discard" : "other"`
	ioType = `args[0]->b_flags & B_READ ? "read" : "write"`
)

func traced(title, check, read string, amountLinux, amountIllumos string) *Statistic {
	return &Statistic{
		Title: title, Kind: Amount, Source: DTrace, Cost: "medium", Check: check, Read: read,
		Next: []string{"disk.utilization", "vdev.ops"},
		Breakdowns: []Breakdown{
			choice("type", "by type", "read", "write", "discard", "other"),
			{Name: "disk", Title: "by disk"},
			byProcess,
			latency("by latency"),
			{Name: "size", Title: "by size", Distribution: true, Unit: "bytes"},
			{Name: "offset", Title: "by offset on the disk", Distribution: true, Unit: "bytes"},
		},
		Programs: map[Platform]*Program{
			Linux: {
				// Who asked is known when a request begins; when it is done, any process is interrupted. The kernel uses its
				// requests again, so there are never many.
				Setup: []Clause{{For: []string{"process"}, Text: "rawtp:block::block_io_start\n{\n\tcisternAsked[arg0] = execname;\n}"}},
				Points: []Point{{Probe: blockDone, When: blockWhen, Amount: amountLinux, Fields: map[string]string{
					"type": blockType, "disk": "stringof(((struct request *)arg0)->q->disk->disk_name)", "process": "cisternAsked[arg0]",
					"latency": "timestamp - ((struct request *)arg0)->start_time_ns", "size": "arg2",
					"offset": "((struct request *)arg0)->__sector * 512",
				}}},
			},
			Illumos: {
				Setup: []Clause{
					{For: []string{"process"}, Text: "io:::start\n{\n\tcisternAsked[arg0] = execname;\n}"},
					{For: []string{"latency"}, Text: "io:::start\n{\n\tcisternBegan[arg0] = timestamp;\n}"},
				},
				Points: []Point{{Probe: "io:::done", Amount: amountIllumos, Fields: map[string]string{
					"type": ioType, "disk": "args[1]->dev_statname", "process": "cisternAsked[arg0]",
					"latency": "cisternBegan[arg0] ? timestamp - cisternBegan[arg0] : 0", "size": "args[0]->b_bcount",
					"offset": "args[0]->b_lblkno * 512",
				}}},
				Cleanup: []Clause{
					{For: []string{"process"}, Text: "io:::done\n{\n\tcisternAsked[arg0] = 0;\n}"},
					{For: []string{"latency"}, Text: "io:::done\n{\n\tcisternBegan[arg0] = 0;\n}"},
				},
			},
		},
	}
}

func named(name, unit string, s *Statistic) *Statistic {
	s.Name, s.Unit = name, unit
	return s
}

var byDisk = Breakdown{Name: "disk", Title: "by disk"}

var disks = []*Statistic{
	named("io.ops", "operations", traced("Disk I/O operations",
		"Something that reads or writes is slow.",
		"Requests that disks have finished. By latency: a second band far above the first is a disk that is failing or overloaded: narrow by disk to find it. By offset: a line that wanders is reading in order.",
		"", "")),
	named("io.bytes", "bytes", traced("Disk I/O bytes",
		"To see what the bandwidth of the disks goes to.",
		"Bytes of the requests that disks have finished. Many operations with few bytes are small ones, which cost a disk most.",
		"arg2", "args[0]->b_bcount")),
	{
		Name: "disk.ops", Title: "Disk operations", Unit: "operations", Kind: Amount, Source: Counter, Cost: "none", Always: []string{"", "disk", "type"},
		Check:      "To see at a glance what the disks do, without tracing.",
		Read:       "Requests that each disk has finished, as the kernel counts them. Sides of one mirror should look alike.",
		Next:       []string{"io.ops", "disk.utilization"},
		Breakdowns: []Breakdown{byDisk, choice("type", "by type", "read", "write", "discard")},
	},
	{
		Name: "disk.bytes", Title: "Disk bytes", Unit: "bytes", Kind: Amount, Source: Counter, Cost: "none", Always: []string{"", "disk", "type"},
		Check:      "To see at a glance what the disks read and write, without tracing.",
		Read:       "Bytes that each disk has read and written. What ZFS writes is more than what was asked of it: mirrors, parity and its own bookkeeping.",
		Next:       []string{"io.bytes", "arc.accesses"},
		Breakdowns: []Breakdown{byDisk, choice("type", "by type", "read", "write", "discard")},
	},
	{
		Name: "disk.utilization", Title: "Disk utilization", Unit: "percent", Kind: Level, Average: "disk", Source: Counter, Cost: "none", Always: []string{"", "disk", "utilization"},
		Check: "One slow disk holds up a whole pool.",
		Read:  "The share of the second during which a disk had something to do. By utilization it is a heatmap with a mark for each disk: one that goes its own way shows as a line of its own. 100 % of a disk with many queues is not its limit; look at latency too.",
		Next:  []string{"io.ops"},
		Breakdowns: []Breakdown{
			byDisk, {Name: "utilization", Title: "by utilization", Distribution: true, Unit: "percent"},
		},
	},
}

func ofDatasets(name, title, unit, check, read string) *Statistic {
	return &Statistic{
		Name: name, Title: title, Unit: unit, Kind: Amount, Source: Counter, Cost: "low",
		Missing: map[Platform]string{Illumos: "The kstats of datasets that illumos has are not read yet."},
		Check:   check, Read: read,
		Next: []string{"arc.accesses", "disk.bytes"},
		// The label "dataset" is the name of what is recorded.
		Breakdowns: []Breakdown{{Name: "filesystem", Title: "by dataset"}, {Name: "pool", Title: "by pool"}, choice("type", "by type", "read", "write")},
	}
}

var zfs = []*Statistic{
	{
		Name: "arc.accesses", Title: "ZFS cache accesses", Unit: "operations", Kind: Amount, Source: Counter, Cost: "none", Always: []string{"", "result"},
		Check: "Disks read much: does the cache not do its work?",
		Read:  "What was looked for in the ARC. Misses are read from disks. Prefetch that misses is ZFS reading ahead, which is as it should be.",
		Next:  []string{"arc.bytes", "io.ops"},
		Breakdowns: []Breakdown{
			choice("result", "by result", "hit", "miss"),
			choice("type", "by type", "data", "metadata", "prefetch data", "prefetch metadata"),
		},
	},
	{
		Name: "arc.bytes", Title: "ZFS cache size", Unit: "bytes", Kind: Level, Source: Counter, Cost: "none", Always: []string{"", "component"},
		Check: "Memory is short, or the cache seems small.",
		Read:  "What the ARC holds in memory: data, metadata, and what it needs to know where all that is.",
		Next:  []string{"arc.accesses", "memory.bytes"},
		Breakdowns: []Breakdown{
			choice("component", "by component", "data", "metadata", "headers", "dbuf", "dnode", "bonus", "other"),
		},
	},
	{
		Name: "vdev.ops", Title: "ZFS I/O by vdev", Unit: "operations", Kind: Amount, Source: Counter, Cost: "low",
		Missing: map[Platform]string{Illumos: "The latencies by vdev that the zpool of illumos tells are not read yet."},
		Check:   "Disks answer quickly and ZFS is slow all the same: do requests wait in its queues?",
		Read:    "Requests of ZFS to its vdevs. By latency: how long they took with the time in ZFS' own queues. ZFS counts latencies in powers of two: the bands are wide.",
		Next:    []string{"io.ops", "txg.syncs"},
		Breakdowns: []Breakdown{
			{Name: "pool", Title: "by pool"}, {Name: "vdev", Title: "by vdev"}, choice("type", "by type", "read", "write"),
			latency("by latency"),
		},
	},
	ofDatasets("dataset.ops", "ZFS I/O by dataset", "operations",
		"Which file system or volume is it that is busy?",
		"Reads and writes that programs have asked of each mounted file system and each volume, before the cache: what the ARC answers is in it, and no disk has seen it."),
	ofDatasets("dataset.bytes", "ZFS bytes by dataset", "bytes",
		"To see what is read and written, dataset by dataset: beside the compression ratio and the processors it says what a compression saves, and costs.",
		"Bytes that programs have read from and written to each dataset, before compression and before the cache. What disks get is less where data is compressed, and more by mirrors and parity."),
	{
		Name: "txg.syncs", Title: "ZFS transaction groups", Unit: "operations", Kind: Amount, Source: Counter, Cost: "low",
		Missing: map[Platform]string{Illumos: "illumos keeps no table of transaction groups."},
		Check:   "Writes stop every few seconds.",
		Read:    "ZFS gathers writes and brings them to disk together, every five seconds or sooner. By duration: how long that took; more than five seconds means that disks cannot keep up. By size: how much was written each time.",
		Next:    []string{"zil.commits", "io.ops"},
		Breakdowns: []Breakdown{
			{Name: "pool", Title: "by pool"},
			latency("by duration"),
			{Name: "size", Title: "by size", Distribution: true, Unit: "bytes"},
		},
	},
	{
		Name: "txg.time", Title: "ZFS transaction group times", Unit: "seconds", Kind: Amount, Source: Counter, Cost: "low",
		Missing: map[Platform]string{Illumos: "illumos keeps no table of transaction groups."},
		Check:   "Transaction groups take long, and it is not known in which state.",
		Read:    "How long the groups that ended in this second were open, quiescing, waiting for the one before, and syncing.",
		Next:    []string{"txg.syncs"},
		Breakdowns: []Breakdown{
			{Name: "pool", Title: "by pool"}, choice("state", "by state", "open", "quiescing", "waiting", "syncing"),
		},
	},
	{
		Name: "zil.commits", Title: "ZFS intent log commits", Unit: "operations", Kind: Amount, Source: Counter, Cost: "none", Always: []string{""},
		Missing: map[Platform]string{Illumos: "illumos does not count these."},
		Check:   "Something that syncs (a database, this appliance's own store) is slow.",
		Read:    "How often a program waited until what it had written was on disk.",
		Next:    []string{"zil.bytes", "io.ops"},
	},
	{
		Name: "zil.bytes", Title: "ZFS intent log bytes", Unit: "bytes", Kind: Amount, Source: Counter, Cost: "none", Always: []string{""},
		Missing:    map[Platform]string{Illumos: "illumos does not count these."},
		Check:      "To see whether a log device would help: it takes what is written here.",
		Read:       "What was written to the intent log, to the pool's own disks (normal) or to log devices (slog).",
		Next:       []string{"zil.commits"},
		Breakdowns: []Breakdown{choice("device", "by device", "normal", "slog")},
	},
}
