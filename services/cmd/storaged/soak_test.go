package main

// A storaged under a steady load for hours: numbers, histograms, queries and recording rules. What grows that should not shows
// itself as a slope of memory, descriptors or goroutines.

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"math"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"cistern/services/store/tsdb"
)

// soakMemory is storaged's memory_mib. What it has in memory may be a twentieth more.
const soakMemory = 1024

// soakBody is a request of a sample for each of its series, in Cistern's own form (package importer), which is made once and
// changed in place.
type soakBody struct {
	text   []byte
	timeAt int
	values []int // where the numbers are
	count  int
}

// newSoakBody makes the body for series from first on; histograms have three bins.
func newSoakBody(t *testing.T, name string, kind tsdb.Kind, first, count int) *soakBody {
	t.Helper()
	b := &soakBody{text: []byte("CISTSMP2"), count: count}
	b.text = binary.AppendUvarint(b.text, uint64(count))
	for i := range count {
		key, err := tsdb.AppendKey(nil, []tsdb.Label{{Name: tsdb.NameLabel, Value: name}, {Name: "job", Value: strconv.Itoa((first + i) % 10)}, {Name: "i", Value: strconv.Itoa(first + i)}})
		if err != nil {
			t.Fatal(err)
		}
		b.text = append(binary.AppendUvarint(append(b.text, byte(kind)), uint64(len(key))), key...)
	}
	b.text = binary.AppendUvarint(b.text, uint64(count))
	for i := range count {
		b.text = binary.AppendVarint(b.text, int64(min(i, 1)))
		if i == 0 {
			b.timeAt = len(b.text)
			b.text = binary.AppendVarint(b.text, time.Now().UnixMilli()) // six bytes until the year 2039
		} else {
			b.text = binary.AppendVarint(b.text, 0)
		}
		if kind == tsdb.Histogram {
			b.text = binary.AppendUvarint(b.text, 2*3)
			b.text = binary.AppendVarint(b.text, int64(11_700+i%50))
			b.text = append(b.text, 3, 9, 40, 7, 1) // two steps, three counts
			continue
		}
		b.values = append(b.values, len(b.text))
		b.text = append(b.text, make([]byte, 8)...)
	}
	return b
}

// at is the body for a second.
func (b *soakBody) at(second int64) []byte {
	binary.PutVarint(b.text[b.timeAt:], second*1000)
	for i, at := range b.values {
		binary.LittleEndian.PutUint64(b.text[at:], math.Float64bits(float64(second%100_000)*float64(1+i%7)+float64(i)))
	}
	return b.text
}

// soakReading is how storaged is at a time.
type soakReading struct {
	seconds                                 float64 // since the beginning
	resident, descriptors, goroutines, disk float64
	blocks                                  float64 // their files stay open; they become one when their six hours have passed
}

func (d *process) soakReading(began time.Time, data string) (soakReading, error) {
	r := soakReading{seconds: time.Since(began).Seconds(), resident: float64(resident(d.command.Process.Pid))}
	list, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", d.command.Process.Pid))
	if err != nil {
		return r, err
	}
	known := map[string]bool{}
	for _, one := range list {
		// A second one of the same block, and one of a block that was removed, would be a leak. One that was closed meanwhile is counted.
		to, _ := os.Readlink(fmt.Sprintf("/proc/%d/fd/%s", d.command.Process.Pid, one.Name()))
		if strings.HasSuffix(to, ".block") && !known[to] {
			known[to] = true
			r.blocks++
		} else {
			r.descriptors++
		}
	}
	answer, err := d.client.Get("http://storaged/metrics")
	if err != nil {
		return r, err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return r, err
	}
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, "cistern_storaged_goroutines "); ok {
			r.goroutines, _ = strconv.ParseFloat(strings.TrimSpace(value), 64)
		}
	}
	err = filepath.WalkDir(data, func(_ string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			if info, err := entry.Info(); err == nil { // a block that is merged goes away meanwhile
				r.disk += float64(info.Size())
			}
		}
		return nil
	})
	return r, err
}

// slope is the rise in an hour, by least squares over the last two thirds: in the first one the head fills.
func slope(readings []soakReading, of func(soakReading) float64) float64 {
	readings = readings[len(readings)/3:]
	var n, x, y, xx, xy float64
	for _, r := range readings {
		t := r.seconds / 3600
		n, x, y, xx, xy = n+1, x+t, y+of(r), xx+t*t, xy+t*of(r)
	}
	if d := n*xx - x*x; d > 0 {
		return (n*xy - x*y) / d
	}
	return 0
}

// TestSoak runs for CISTERN_SOAK_MINUTES with CISTERN_SOAK_SAMPLES a second; without them for some seconds, which shows that it can.
func TestSoak(t *testing.T) {
	minutes, rate := setting(t, "CISTERN_SOAK_MINUTES", 0), int(setting(t, "CISTERN_SOAK_SAMPLES", 20_000))
	length, every := time.Duration(minutes)*time.Minute, max(time.Duration(minutes)*time.Minute/120, time.Second)
	if minutes == 0 {
		length = 8 * time.Second
	}
	folder := t.TempDir()
	config := filepath.Join(folder, "storaged.toml")
	write(t, config, fmt.Sprintf("[limits]\nmemory_mib = %d\n[import]\ndurability = 'interval'\nseries_per_second = 0\nsender_series_per_second = 0\n[statistics]\nhost = false\n", soakMemory))
	d := launch(t, folder, "--config", config)
	const rules = `{"rules":[{"id":"a","group":"soak","name":"job:soak:rate1m","expression":"sum by (job) (rate(soak_total[1m]))","labels":{},"intervalSeconds":10,"description":"","enabled":true},` +
		`{"id":"b","group":"soak","name":"soak:p99","expression":"histogram_quantile(0.99, sum(soak_seconds))","labels":{},"intervalSeconds":10,"description":"","enabled":true}]}`
	if status, text := d.sendText(t, "PUT", "/admin/recording-rules", rules); status != http.StatusOK {
		t.Fatal(text)
	}

	const each = 5_000
	var bodies []*soakBody
	for first := 0; first < rate; first += each {
		name, kind := "soak_total", tsdb.Counter
		if first/each%5 == 4 {
			name, kind = "soak", tsdb.Gauge
		}
		bodies = append(bodies, newSoakBody(t, name, kind, first, min(each, rate-first)))
	}
	bodies = append(bodies, newSoakBody(t, "soak_seconds", tsdb.Histogram, 0, 500))

	began, stop := time.Now(), make(chan struct{})
	var all sync.WaitGroup
	var sent, asked atomic.Int64
	var slowest atomic.Int64 // of a request that sends, in ns
	wrong := make(chan string, 100)
	complain := func(text string, arguments ...any) {
		select {
		case wrong <- fmt.Sprintf(text, arguments...):
		default:
		}
	}
	const senders = 4
	for sender := range senders {
		all.Go(func() {
			for second := began.Unix(); ; second++ {
				select {
				case <-stop:
					return
				case <-time.After(time.Until(time.Unix(second, int64(sender)*int64(time.Second)/senders))):
				}
				for i := sender; i < len(bodies); i += senders {
					asking := time.Now()
					r, _ := http.NewRequest("POST", "http://storaged/api/v1/import", bytes.NewReader(bodies[i].at(second)))
					r.Header.Set("Content-Type", "application/vnd.cistern.samples")
					answer, err := d.client.Do(r)
					if err != nil {
						complain("sending: %v", err)
						return
					}
					var reply struct{ Accepted, RejectedCount int }
					err = json.NewDecoder(answer.Body).Decode(&reply)
					answer.Body.Close()
					if took := int64(time.Since(asking)); took > slowest.Load() {
						slowest.Store(took)
					}
					sent.Add(int64(reply.Accepted))
					if err != nil || answer.StatusCode != http.StatusOK || reply.RejectedCount > 0 {
						complain("sending: %d %v %+v", answer.StatusCode, err, reply)
					}
				}
			}
		})
	}
	all.Go(func() {
		for n := 0; ; n++ {
			select {
			case <-stop:
				return
			case <-time.After(500 * time.Millisecond):
			}
			now := time.Now().Unix()
			query := func(text string) string { return "query=" + url.QueryEscape(text) }
			span := fmt.Sprintf("&start=%d&end=%d&step=10", now-600, now)
			paths := []string{
				"query?" + query("sum by (job) (rate(soak_total[1m]))"), "query_range?" + query(`sum(rate(soak_total{job="3"}[1m]))`) + span,
				"query?" + query("topk(5, soak)"), "columns?" + query(`max by (job) (soak{job=~"1|2"})`) + span,
				"query?" + query("histogram_quantile(0.99, sum(soak_seconds))"), "query_range?" + query("job:soak:rate1m") + span,
				"series?match[]=" + url.QueryEscape(`soak{job="7"}`) + "&limit=1000", "status/tsdb", "labels",
			}
			path := paths[n%len(paths)]
			answer, err := d.client.Get("http://storaged/api/v1/" + path)
			if err != nil {
				complain("%s: %v", path, err)
				continue
			}
			text, _ := io.ReadAll(answer.Body)
			answer.Body.Close()
			asked.Add(1)
			if answer.StatusCode != http.StatusOK {
				complain("%s: %d %.300s", path, answer.StatusCode, text)
			}
		}
	})

	var readings []soakReading
	for tick := time.NewTicker(every); time.Since(began) < length; <-tick.C {
		reading, err := d.soakReading(began, filepath.Join(folder, "data"))
		if err != nil {
			t.Error(err)
			break
		}
		readings = append(readings, reading)
		if minutes > 0 && len(readings)%10 == 1 {
			fmt.Fprintf(os.Stderr, "%5.1f min: %4.0f MiB resident, %3.0f blocks, %3.0f other descriptors, %3.0f goroutines, %6.0f MiB on disk, %d samples\n",
				reading.seconds/60, reading.resident/(1<<20), reading.blocks, reading.descriptors, reading.goroutines, reading.disk/(1<<20), sent.Load())
		}
	}
	close(stop)
	all.Wait()
	close(wrong)
	for text := range wrong {
		t.Error(text)
	}
	if err := d.command.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-d.exited:
		if err != nil {
			t.Errorf("it ended with %v", err)
		}
	case <-time.After(2 * time.Minute):
		t.Error("it did not end within two minutes")
	}

	most := 0.0
	for _, r := range readings {
		most = max(most, r.resident)
	}
	last := readings[len(readings)-1]
	memory := slope(readings, func(r soakReading) float64 { return r.resident / (1 << 20) })
	descriptors := slope(readings, func(r soakReading) float64 { return r.descriptors })
	goroutines := slope(readings, func(r soakReading) float64 { return r.goroutines })
	disk := slope(readings, func(r soakReading) float64 { return r.disk / (1 << 20) })
	t.Logf("%.1f minutes, %d samples (%.0f a second), %d queries; slowest request of a sender %v", last.seconds/60, sent.Load(), float64(sent.Load())/last.seconds, asked.Load(), time.Duration(slowest.Load()))
	t.Logf("in an hour: %+.1f MiB resident (%.0f at most), %+.1f descriptors (%.0f in the end, beside %.0f blocks), %+.1f goroutines (%.0f), %+.0f MiB on disk (%.2f bytes a sample)",
		memory, most/(1<<20), descriptors, last.descriptors, last.blocks, goroutines, last.goroutines, disk, last.disk/float64(max(sent.Load(), 1)))
	if sent.Load() < int64(last.seconds*float64(rate)*3/4) {
		t.Errorf("%d samples were taken in %.0f s, of %d a second", sent.Load(), last.seconds, rate)
	}
	if most > soakMemory<<20*105/100 {
		t.Errorf("%.0f MiB were resident, of %d", most/(1<<20), soakMemory)
	}
	// A leak is something for each request, of which there are tens of thousands.
	if minutes >= 10 && (descriptors*last.seconds/3600 > 30 || goroutines*last.seconds/3600 > 30) {
		t.Error("descriptors or goroutines grow")
	}
}
