package main

// The synthetic fleet: pods of jobs, each with the same two hundred series, with labels as Kubernetes' service discovery
// makes them and values like those of real exporters. What the values' random processes hold in information is known, so
// that compression can be held against it.

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"sync"
)

const seriesPerPod = 200

var (
	jobs = []string{"api-gateway", "billing", "catalogue", "checkout", "identity", "inventory", "kubelet", "mailer", "node-exporter",
		"orders", "payments", "postgres-exporter", "pricing", "recommendation", "redis-exporter", "reporting", "scheduler", "search", "session",
		"shipping", "storefront", "telemetry-relay", "thumbnailer", "translation", "warehouse"}
	subsystems = []string{"http_server", "http_client", "grpc_server", "go_gc", "process", "db_pool", "cache", "queue", "worker", "tls",
		"dns", "filesystem", "network", "scheduler", "container", "jvm", "session", "ratelimiter", "circuit_breaker", "kafka_consumer",
		"retry", "batch", "index", "upload", "auth"}
	nouns = []string{"requests", "connections", "operations", "messages", "bytes", "errors", "duration_seconds", "pending", "entries", "evictions"}
	extra = []struct {
		name   string
		values []string
	}{
		{"code", []string{"200", "201", "204", "301", "400", "404", "500", "503"}},
		{"handler", []string{"/api/v1/items", "/api/v1/items/:id", "/api/v1/search", "/healthz", "/login", "/logout", "/metrics", "/static"}},
		{"le", []string{"0.005", "0.01", "0.025", "0.1", "0.25", "1", "2.5", "+Inf"}},
		{"device", []string{"eth0", "eth1", "lo", "nvme0n1", "nvme1n1", "sda", "sdb", "tmpfs"}},
	}
)

// mix scrambles a number: everything about the fleet follows from indices, so that nothing has to be kept.
func mix(n uint64) uint64 {
	n += 0x9e3779b97f4a7c15
	n = (n ^ n>>30) * 0xbf58476d1ce4e5b9
	n = (n ^ n>>27) * 0x94d049bb133111eb
	return n ^ n>>31
}

type kind uint8

const (
	intCounter kind = iota
	floatCounter
	constant
	onOff
	walk
	pages
	full
)

// kindWeights is how much of the fleet is of which kind, in percent.
var kindWeights = []struct {
	kind   kind
	weight int
	suffix string
}{{intCounter, 42, "_total"}, {floatCounter, 4, "_seconds_total"}, {constant, 12, "_limit"}, {onOff, 5, "_up"},
	{walk, 28, "_current"}, {pages, 5, "_resident_bytes"}, {full, 4, "_ratio"}}

// family is what eight series of a pod have in common: index 0…24.
func familyKind(job, family int) (kind, string) {
	n := int(mix(uint64(job)<<16|uint64(family)) % 100)
	for _, w := range kindWeights {
		if n < w.weight {
			return w.kind, w.suffix
		}
		n -= w.weight
	}
	return constant, "_limit"
}

// fleetLabels writes the labels of series i of a pod in its n-th life, as remote-write fields.
func fleetLabels(to []byte, pod, life, i int) []byte {
	job := pod % len(jobs)
	family, variant := i/8, i%8
	_, suffix := familyKind(job, family)
	hash := mix(uint64(pod)<<20 | uint64(life))
	name := subsystems[(family+job)%len(subsystems)] + "_" + nouns[mix(uint64(job)<<8|uint64(family))%uint64(len(nouns))] + suffix
	more := extra[family%len(extra)]
	labels := [...]label{
		{"__name__", name},
		{"cluster", "prod-eu-west-1" + string('a'+rune(pod%3))},
		{"container", jobs[job]},
		{more.name, more.values[variant]},
		{"instance", "10." + strconv.Itoa(int(hash>>8&63)) + "." + strconv.Itoa(int(hash>>16&255)) + "." + strconv.Itoa(int(hash>>24&255)) + ":9102"},
		{"job", "production/" + jobs[job]},
		{"namespace", "team-" + strconv.Itoa(job%7)},
		{"node", fmt.Sprintf("ip-10-%d-%d-17.internal", pod/16%64, pod/8%32)},
		{"pod", podName(pod, life)},
		{"subsystem", subsystems[(family+job)%len(subsystems)]}, // also makes series unique without their names, which functions drop
	}
	// All but one stand in order; that one goes where its name belongs.
	for k := 3; k+1 < len(labels) && labels[k].name > labels[k+1].name; k++ {
		labels[k], labels[k+1] = labels[k+1], labels[k]
	}
	for k := 3; labels[k].name < labels[k-1].name; k-- {
		labels[k], labels[k-1] = labels[k-1], labels[k]
	}
	return appendLabels(to, labels[:])
}

// podName is as a deployment's pods are named.
func podName(pod, life int) string {
	job := pod % len(jobs)
	return fmt.Sprintf("%s-%08x-%05x", jobs[job], uint32(mix(uint64(job)*7+uint64(life))), mix(uint64(pod)<<20|uint64(life))>>44)
}

// process is one series' values.
type process struct {
	kind     kind
	decimals uint8
	rate     float32 // mean increment of a counter, size of a step of a walk
	moves    float32 // how often it moves at all
	units    int64
	level    float64
}

var powers = [...]float64{1, 10, 100, 1000}

func newProcess(pod, life, i int) process {
	k, _ := familyKind(pod%len(jobs), i/8)
	r := rand.New(rand.NewPCG(uint64(pod)<<32|uint64(life), uint64(i)))
	logUniform := func(from, to float64) float32 { return float32(from * math.Pow(to/from, r.Float64())) }
	p := process{kind: k, moves: 1}
	switch k {
	case intCounter:
		p.rate = logUniform(0.003, 300)
		p.units = int64(float64(p.rate) * 1e4 * r.Float64())
	case floatCounter:
		p.rate, p.decimals = logUniform(1, 1000), 2
		p.units = int64(float64(p.rate) * 1e4 * r.Float64())
	case constant:
		p.units = int64(r.IntN(4096)) * 256
	case onOff:
		p.units = int64(r.IntN(2))
		p.rate = 0.001
	case walk:
		p.decimals = uint8(1 + r.IntN(3))
		p.rate = logUniform(0.5, 30)
		p.units = int64(powers[p.decimals] * (10 + 990*r.Float64()))
		if r.IntN(2) == 0 {
			p.moves = 0.3
		}
	case pages:
		p.rate, p.units = logUniform(2, 50), int64(10_000+r.IntN(100_000))
	case full:
		p.level = 0.5 + r.Float64()
	}
	return p
}

func (p *process) next(r *rand.Rand) float64 {
	switch p.kind {
	case intCounter, floatCounter:
		p.units += poisson(r, float64(p.rate))
	case onOff:
		if r.Float64() < float64(p.rate) {
			p.units ^= 1
		}
	case walk, pages:
		if p.moves == 1 || r.Float64() < float64(p.moves) {
			p.units += int64(math.Round(r.NormFloat64() * float64(p.rate)))
		}
		if p.kind == pages {
			return float64(p.units * 4096)
		}
	case full:
		return p.level * (1 + 0.1*r.NormFloat64())
	}
	return float64(p.units) / powers[p.decimals]
}

func poisson(r *rand.Rand, mean float64) int64 {
	if mean > 30 {
		return max(0, int64(math.Round(mean+math.Sqrt(mean)*r.NormFloat64())))
	}
	u, p, n := r.Float64(), math.Exp(-mean), int64(0)
	for u > p && n < 200 {
		u -= p
		n++
		p *= mean / float64(n)
	}
	return n
}

// entropy is how many bits a sample of the process holds beyond what came before it.
func (p *process) entropy() float64 {
	switch p.kind {
	case intCounter, floatCounter:
		return poissonEntropy(float64(p.rate))
	case onOff:
		return binaryEntropy(float64(p.rate))
	case walk, pages:
		if p.moves == 1 {
			return roundedNormalEntropy(float64(p.rate))
		}
		// Not moving and a step of zero look the same.
		return roundedNormalMixture(float64(p.rate), float64(p.moves))
	case full:
		// The density's entropy, and how fine doubles lie where the values are.
		width := 0.0
		for i := range 200 {
			x := p.level * (1 + 0.1*math.Sqrt2*math.Erfinv((float64(i)+0.5)/100-1))
			_, exponent := math.Frexp(x)
			width += float64(exponent-1-52) / 200
		}
		return math.Log2(0.1*p.level*math.Sqrt(2*math.Pi*math.E)) - width
	}
	return 0
}

func binaryEntropy(p float64) float64 { return -p*math.Log2(p) - (1-p)*math.Log2(1-p) }

func poissonEntropy(mean float64) float64 {
	if mean > 30 {
		return roundedNormalEntropy(math.Sqrt(mean))
	}
	p, sum := math.Exp(-mean), 0.0
	for n := 1; n < 200; n++ {
		if p > 0 {
			sum -= p * math.Log2(p)
		}
		p *= mean / float64(n)
	}
	return sum
}

func roundedNormalEntropy(sigma float64) float64 { return roundedNormalMixture(sigma, 1) }

func roundedNormalMixture(sigma, moves float64) float64 {
	cumulative := func(x float64) float64 { return 0.5 * math.Erfc(-x/sigma/math.Sqrt2) }
	sum := 0.0
	for n := -int(8*sigma) - 2; n <= int(8*sigma)+2; n++ {
		p := moves * (cumulative(float64(n)+0.5) - cumulative(float64(n)-0.5))
		if n == 0 {
			p += 1 - moves
		}
		if p > 0 {
			sum -= p * math.Log2(p)
		}
	}
	return sum
}

// fleet is a workload of remote writing.
type fleet struct {
	pods     int
	ticks    int   // how many samples each series has
	interval int64 // ms between them
	start    int64 // ms
	request  int   // samples in one request
	lanes    int
	// churn is how many of the pods are replaced every minute.
	churn float64
	// plain values rise by one each time: for runs that are about series, not about values.
	plain bool
	// lean renders labels whenever they are needed: memory for five million would be more than the servers'.
	lean bool
}

// encode makes the fleet's requests: at every tick every pod is scraped, and shards of pods make up a request. It also
// says what a sample holds in information, in bytes, and how many series there were.
func (f *fleet) encode(folder string) (b *bodies, entropy float64, series int64, err error) {
	if b, err = newBodies(folder, f.lanes, "/api/v1/write", remoteWriteHeaders); err != nil {
		return nil, 0, 0, err
	}
	podsPerRequest := max(1, f.request/seriesPerPod)
	shards := (f.pods + podsPerRequest - 1) / podsPerRequest
	var group sync.WaitGroup
	errs := make([]error, f.lanes)
	bits, made := make([]float64, f.lanes), make([]int64, f.lanes)
	for lane := range f.lanes {
		group.Go(func() {
			type pod struct {
				life      int
				labels    []byte
				ends      []int32
				processes []process
				random    *rand.Rand
			}
			state := map[int]*pod{}
			var message, packed, scratch []byte
			begin := func(n, life int) *pod {
				p := &pod{life: life, random: rand.New(rand.NewPCG(uint64(n), uint64(life)))}
				made[lane] += seriesPerPod
				if !f.lean {
					for i := range seriesPerPod {
						p.labels = fleetLabels(p.labels, n, life, i)
						p.ends = append(p.ends, int32(len(p.labels)))
					}
				}
				if !f.plain {
					for i := range seriesPerPod {
						p.processes = append(p.processes, newProcess(n, life, i))
					}
				}
				return p
			}
			for tick := range f.ticks {
				for shard := lane; shard < shards; shard += f.lanes {
					message = message[:0]
					count := 0
					for n := shard * podsPerRequest; n < min(f.pods, (shard+1)*podsPerRequest); n++ {
						life := 0
						if f.churn > 0 {
							// Pod n is replaced every 1/churn minutes, at a minute of its own.
							period := int(math.Round(1 / f.churn))
							minute := int(int64(tick) * f.interval / 60_000)
							life = (minute + n%period) / period
						}
						p := state[n]
						if p == nil || p.life != life {
							p = begin(n, life)
							state[n] = p
						}
						// Each target has its own moment within the interval and keeps to it, as Prometheus' scraper does.
						at := f.start + int64(tick)*f.interval + int64(mix(uint64(n))%uint64(f.interval))
						for i := range seriesPerPod {
							value := float64(tick)
							if !f.plain {
								value = p.processes[i].next(p.random)
							}
							labels := scratch
							if f.lean {
								scratch = fleetLabels(scratch[:0], n, life, i)
								labels = scratch
							} else {
								from := int32(0)
								if i > 0 {
									from = p.ends[i-1]
								}
								labels = p.labels[from:p.ends[i]]
							}
							message = appendOne(message, labels, value, at)
							count++
						}
					}
					packed = compress(message, packed)
					if errs[lane] = b.add(lane, packed, count); errs[lane] != nil {
						return
					}
				}
			}
			// A sample of the pods is enough for the mean.
			sampled := 0.0
			for n, p := range state {
				if n/f.lanes%7 != 0 && len(state) > 50 {
					continue
				}
				for i := range p.processes {
					fresh := newProcess(n, p.life, i)
					bits[lane] += fresh.entropy()
					sampled++
				}
			}
			if sampled > 0 {
				bits[lane] /= sampled
			}
		})
	}
	group.Wait()
	for lane := range f.lanes {
		if errs[lane] != nil {
			b.close()
			return nil, 0, 0, errs[lane]
		}
		entropy += bits[lane] / 8 / float64(f.lanes)
		series += made[lane]
	}
	return b, entropy, series, nil
}
