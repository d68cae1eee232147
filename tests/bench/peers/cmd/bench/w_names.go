package main

// names: a sender that makes up new names all the time, as one does that puts a request's id into them. What counts is that
// the memory limit is kept, and that questions are still answered.

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/url"
	"strconv"
	"time"
)

const (
	namesMemory    = 1024 // MiB, for both
	namesInAll     = 660_000
	linesPerSecond = 23_000
	namesMinutes   = 25 // unless the bench is told otherwise
	namesQuick     = 4
)

func namesWorkload(ctx context.Context, b *bench, sections map[string]*section) error {
	s := sections["names"]
	s.systems = []string{cistern, victoria}
	minutes := namesMinutes
	if b.quick {
		minutes = namesQuick
	}
	if b.minutes > 0 {
		minutes = b.minutes
	}
	// A tenth of the names would not reach the limit: there are as many in less time.
	length, perSecond := time.Duration(minutes)*time.Minute, namesInAll/(60*minutes)
	s.about = fmt.Sprintf("One sender over TCP, for %s: %s lines a second, %d of them with a new name, the others with one of those before; memory is limited to %d MiB. Cistern gets them as statsd, every second one a timer with its histogram; VictoriaMetrics, which takes no statsd, as Graphite's plain text, a number each. Both are asked meanwhile.",
		length, number(linesPerSecond), perSecond, namesMemory)
	s.note("As delivered, statsd takes 200,000 new names of one sender and then 50 a second; here as many as memory allows, which is what is measured.")
	// Once: it is long, and what it shows is no question of some percent.
	b.each(ctx, s, s.systems, 1, func(ctx context.Context, system string) error {
		return namesOf(ctx, b, s, system, length, perSecond)
	})
	return nil
}

func namesOf(ctx context.Context, b *bench, s *section, system string, length time.Duration, perSecond int) error {
	server, err := b.run(ctx, system, serverOptions{statsd: true, graphite: true, memory: namesMemory,
		settings: "[statsd]\nseries_per_second = 0\nsender_series_per_second = 0\n"})
	if err != nil {
		return err
	}
	defer server.remove()
	address := server.inputs["statsd"]
	if system == victoria {
		address = server.inputs["graphite"]
	}
	connection, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
	if err != nil {
		return err
	}
	defer connection.Close()
	empty, _ := server.status("VmRSS")
	before := server.cpu()

	// How long a question takes while names come, one after the other.
	asking, stop := context.WithCancel(ctx)
	defer stop()
	path := func(query string) string { return "/api/v1/query?query=" + url.QueryEscape(query) }
	type answers struct {
		times  []float64
		failed int
		last   error
	}
	asked := make(chan answers, 1)
	go func() {
		var a answers
		for asking.Err() == nil {
			began := time.Now()
			_, err := server.get(asking, path(`count({__name__=~"names.*77.*"})`))
			switch {
			case asking.Err() != nil:
			case err != nil:
				a.failed, a.last = a.failed+1, err
			default:
				a.times = append(a.times, time.Since(began).Seconds())
			}
			select {
			case <-asking.Done():
			case <-time.After(time.Second):
			}
		}
		asked <- a
	}()

	r := rand.New(rand.NewPCG(7, 7))
	w := bufio.NewWriterSize(connection, 1<<20)
	known, lines := 0, 0
	began := time.Now()
	for second := 0; time.Since(began) < length; second++ {
		now := time.Now().Unix()
		for i := range linesPerSecond {
			n := known
			if i >= perSecond && known > 0 {
				n = r.IntN(known)
			} else if i < perSecond {
				known++
			}
			_, _ = w.WriteString("names.of.requests.")
			_, _ = w.WriteString(strconv.Itoa(n))
			switch {
			case system == victoria:
				fmt.Fprintf(w, " %d.5 %d\n", i%300, now)
			case n%2 == 0:
				fmt.Fprintf(w, ":%d.5|ms\n", i%300)
			default:
				fmt.Fprintf(w, ":%d.5|g\n", i%300)
			}
		}
		lines += linesPerSecond
		if err := w.Flush(); err != nil {
			return fmt.Errorf("sending in second %d, %d names: %w\n%s", second, known, err, server.tail())
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Until(began.Add(time.Duration(second+1) * time.Second))):
		}
	}
	took := time.Since(began).Seconds()
	stop()
	a := <-asked
	cpu := server.cpu() - before
	now, _ := server.status("VmRSS")
	peak, _ := server.peak()
	more := func(name, unit string, value float64) {
		f := s.row(name, unit)
		f.higher = true
		f.put(system, value)
	}
	more("new names", "", float64(known))
	more("lines taken in", "/s", float64(lines)/took)
	s.row("resident at the end", "MiB", goal{"", namesMemory * 1.05, 0}).put(system, float64(now)/(1<<20))
	s.row("resident at most", "MiB", goal{"", namesMemory * 1.05, 0}).put(system, float64(peak)/(1<<20))
	// 1.2 KB a timer, and 0.8 a number.
	s.row("memory", "B a name", goal{"", 1000, 0}).put(system, float64(now-empty)/float64(known))
	s.row("CPU", "cores").put(system, cpu/took)
	half := s.row("a regular expression over the names, median while they come", "ms", goal{victoria, 0, 1})
	if len(a.times) > 0 {
		half.put(system, median(a.times)*1000)
	}
	s.row("… of them refused or late", "%").put(system, 100*float64(a.failed)/float64(max(1, a.failed+len(a.times))))
	if a.failed > 0 {
		s.fail(system+", a question while names come", a.last)
	}
	tooMuch(ctx, s, server)
	// In ten parts: all at once is more than Cistern lets one question hold of 1,024 MiB, when most of them are taken.
	found := 0.0
	for digit := range 10 {
		n, err := server.scalar(ctx, path(fmt.Sprintf(`count({__name__=~"names.*%d"})`, digit)))
		if err != nil {
			s.fail(system+", counting all names", err)
			return nil
		}
		found += n
	}
	more("names that ten questions find in the end", "%", 100*found/float64(known))
	return nil
}

// tooMuch asks for more than fits into memory: who is refused should not have to wait for it.
func tooMuch(ctx context.Context, s *section, server *server) {
	f := s.row("until a question for too much is refused", "ms", goal{victoria, 1, 5})
	began := time.Now()
	_, err := server.get(ctx, "/api/v1/query?timeout=60s&query="+url.QueryEscape(`max_over_time({__name__=~"names.*"}[30m:1s])`))
	var refused *httpError
	switch {
	case err == nil:
		f.said[server.system] = fmt.Sprintf("answered in %.1f s", time.Since(began).Seconds())
	case !errors.As(err, &refused):
		s.fail(server.system+", a question for too much", err)
	default:
		f.put(server.system, time.Since(began).Seconds()*1000)
		s.note("%s refused a question for too much with %v", server.system, refused)
	}
}
