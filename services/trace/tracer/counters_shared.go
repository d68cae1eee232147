package tracer

// What is read alike on every system: zpool for what is nowhere else, storaged's own figures, and the names of users.

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os/user"
	"strconv"
	"strings"
	"sync"
	"time"

	"cistern/services/platform/command"
)

type shared struct {
	zpool string
	store *http.Client
	// storaged's figures are read once for all statistics of a second.
	figures   []figure
	figuresAt time.Time
	users     map[uint32]string
	// capacities of all pools, for two statistics.
	capacities poll
	// What was read since together began; nil outside of it.
	texts  map[string]string
	tables map[string]map[string]float64
}

// together calls read; what several statistics are made of is read once during that time.
func (s *shared) together(read func()) {
	s.texts, s.tables = map[string]string{}, map[string]map[string]float64{}
	defer func() { s.texts, s.tables = nil, nil }()
	read()
}

func newShared(config Config) *shared {
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", config.Storaged)
	}
	s := &shared{
		zpool: config.ZPool, users: map[uint32]string{},
		store: &http.Client{Transport: &http.Transport{DialContext: dial, MaxIdleConns: 1}, Timeout: 800 * time.Millisecond},
	}
	s.capacities = poll{who: "zpool", every: 30 * time.Second, read: s.listPools}
	return s
}

// reader is that of a statistic which is read alike everywhere; any other is an error each time it is read.
func (s *shared) reader(p partition) reader {
	switch p.statistic {
	case "capacity.bytes", "capacity.percent":
		return reader{levels, s.capacity(p.statistic == "capacity.percent")}
	case "store.samples":
		return reader{totals, s.storeFigure("cistern_storaged_samples_total", "input")}
	case "store.rejected":
		return reader{totals, s.storeFigure("cistern_storaged_rejected_total", "reason")}
	case "store.series":
		return reader{levels, s.storeFigure("cistern_storaged_series", "")}
	case "store.lag":
		return reader{levels, s.storeFigure("cistern_storaged_journal_lag_seconds", "")}
	}
	return reader{levels, func(time.Duration) ([]row, error) { return nil, fmt.Errorf("%s has no counter", p.statistic) }}
}

func number(text string) float64 {
	v, _ := strconv.ParseFloat(text, 64)
	return v
}

func (s *shared) user(uid uint32) string {
	if name, known := s.users[uid]; known {
		return name
	}
	name := strconv.FormatUint(uint64(uid), 10)
	if account, err := user.LookupId(name); err == nil {
		name = account.Username
	}
	s.users[uid] = name
	return name
}

// poll is a reading that may take long, because it asks a program that may wait for a disk: it is done beside, and the
// second gets what was found last.
type poll struct {
	who   string // is asked
	every time.Duration
	read  func() ([]row, error)

	mu      sync.Mutex
	busy    bool
	started time.Time
	done    time.Time
	rows    []row
	err     error
}

func (p *poll) latest(time.Duration) ([]row, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.busy && time.Since(p.started) >= p.every-100*time.Millisecond {
		p.busy, p.started = true, time.Now()
		go func() {
			rows, err := p.read()
			p.mu.Lock()
			defer p.mu.Unlock()
			p.busy, p.done, p.rows, p.err = false, time.Now(), rows, err
		}()
	}
	switch {
	case p.done.IsZero():
		return nil, errNotYet
	case p.err != nil:
		return nil, p.err
	case time.Since(p.done) > 3*p.every+10*time.Second:
		return nil, fmt.Errorf("%s has not answered for %.0f seconds", p.who, time.Since(p.done).Seconds())
	}
	return p.rows, nil
}

func (s *shared) run(arguments ...string) (string, error) {
	result, err := command.Run(context.Background(), 10*time.Second, 4<<20, append([]string{s.zpool}, arguments...)...)
	return string(result.Stdout), err
}

// listPools asks zpool every thirty seconds: a pool hardly fills quicker than that, and starting a program costs. Each row
// has a pool's name, and its size, what is allocated and what is free.
func (s *shared) listPools() ([]row, error) {
	text, err := s.run("list", "-Hp", "-o", "name,size,allocated,free")
	if err != nil {
		return nil, err
	}
	var rows []row
	for line := range strings.Lines(text) {
		fields := strings.Split(strings.TrimSpace(line), "\t")
		if len(fields) == 4 && number(fields[1]) > 0 {
			rows = append(rows, row{at: []string{fields[0]}, number: []float64{number(fields[1]), number(fields[2]), number(fields[3])}})
		}
	}
	return rows, nil
}

func (s *shared) capacity(percent bool) func(time.Duration) ([]row, error) {
	return func(elapsed time.Duration) ([]row, error) {
		pools, err := s.capacities.latest(elapsed)
		if err != nil {
			return nil, err
		}
		var rows []row
		for _, p := range pools {
			if percent {
				rows = append(rows, row{at: p.at, value: 100 * p.number[1] / p.number[0]})
				continue
			}
			rows = append(rows, row{at: []string{p.at[0], "allocated"}, value: p.number[1]}, row{at: []string{p.at[0], "free"}, value: p.number[2]})
		}
		return rows, nil
	}
}

// figure is one of storaged's own.
type figure struct {
	name, label, value string // the value of the only label it may have
	number             float64
}

// storeFigure reads a figure of storaged's /metrics.
func (s *shared) storeFigure(name, label string) func(time.Duration) ([]row, error) {
	return func(time.Duration) ([]row, error) {
		if time.Since(s.figuresAt) > 500*time.Millisecond {
			list, err := s.readFigures()
			if err != nil {
				return nil, err
			}
			s.figures, s.figuresAt = list, time.Now()
		}
		var rows []row
		for _, f := range s.figures {
			if f.name != name {
				continue
			}
			r := row{value: f.number}
			if label != "" {
				r.at = []string{f.value}
			}
			rows = append(rows, r)
		}
		return rows, nil
	}
}

func (s *shared) readFigures() ([]figure, error) {
	response, err := s.store.Get("http://storaged/metrics")
	if err != nil {
		var op *net.OpError
		if errors.As(err, &op) {
			err = op
		}
		return nil, fmt.Errorf("the telemetry store does not answer: %w", err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the telemetry store answers %s", response.Status)
	}
	var list []figure
	lines := bufio.NewScanner(io.LimitReader(response.Body, 1<<20))
	for lines.Scan() {
		line := lines.Text()
		at := strings.LastIndexByte(line, ' ')
		if strings.HasPrefix(line, "#") || at < 0 {
			continue
		}
		f := figure{name: line[:at], number: number(line[at+1:])}
		if name, rest, ok := strings.Cut(f.name, "{"); ok {
			f.name = name
			label, value, _ := strings.Cut(strings.TrimSuffix(rest, "}"), "=")
			f.label = label
			f.value, _ = strconv.Unquote(value)
		}
		list = append(list, f)
	}
	return list, lines.Err()
}

// arcAccesses and arcBytes read arcstats, whose names are the same everywhere.
func arcAccesses(values map[string]float64) []row {
	var rows []row
	for kind, prefix := range map[string]string{"data": "demand_data", "metadata": "demand_metadata", "prefetch data": "prefetch_data", "prefetch metadata": "prefetch_metadata"} {
		rows = append(rows,
			// What is on its way from the disk already (iohits) need not be read again.
			row{at: []string{"hit", kind}, value: values[prefix+"_hits"] + values[prefix+"_iohits"]},
			row{at: []string{"miss", kind}, value: values[prefix+"_misses"]})
	}
	return rows
}

func arcBytes(values map[string]float64) []row {
	other := values["size"]
	var rows []row
	for component, name := range map[string]string{"data": "data_size", "metadata": "metadata_size", "headers": "hdr_size", "dbuf": "dbuf_size", "dnode": "dnode_size", "bonus": "bonus_size"} {
		rows = append(rows, row{at: []string{component}, value: values[name]})
		other -= values[name]
	}
	return append(rows, row{at: []string{"other"}, value: max(0, other)})
}
