package main

// Queries over HTTP, and how long they take.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"time"
)

func escape(text string) string { return url.QueryEscape(text) }

// scalar asks an instant query whose answer is one number; 0 when it is empty.
func (s *server) scalar(ctx context.Context, path string) (float64, error) {
	text, err := s.get(ctx, path)
	if err != nil {
		return 0, err
	}
	var answer struct {
		Data struct {
			Result []struct{ Value [2]any }
		}
	}
	if err := json.Unmarshal(text, &answer); err != nil {
		return 0, err
	}
	if len(answer.Data.Result) == 0 {
		return 0, nil
	}
	value, ok := answer.Data.Result[0].Value[1].(string)
	if !ok {
		return 0, fmt.Errorf("no number in %.200s", text)
	}
	return strconv.ParseFloat(value, 64)
}

// question is one query in the words of every system.
type question struct {
	name string
	// paths are for each system; one that is missing cannot be asked.
	paths map[string]string
	// extract reads a number of the answer, to see whether the systems agree.
	extract func(system string, text []byte) (float64, error)
}

type asked struct {
	times  []float64 // seconds
	cpu    float64   // seconds a query
	value  float64
	bytes  int
	text   []byte // the first answer
	failed error
}

// ask asks every system in turns, at least runs times each; systems that are slow stop after the time limit, with five
// runs at least. The first, cold answer is not counted.
func ask(ctx context.Context, servers map[string]*server, q question, runs int, limit time.Duration) map[string]*asked {
	results := map[string]*asked{}
	used := map[string]time.Duration{}
	cpu := map[string]float64{}
	for system := range servers {
		if q.paths[system] != "" {
			results[system] = &asked{}
		}
	}
	for round := -1; round < runs; round++ {
		for _, system := range []string{cistern, victoria, prometheus} {
			r := results[system]
			if r == nil || r.failed != nil || round >= 5 && used[system] > limit {
				continue
			}
			if ctx.Err() != nil {
				r.failed = context.Cause(ctx)
				continue
			}
			server := servers[system]
			before, began := server.cpu(), time.Now()
			text, err := server.get(ctx, q.paths[system])
			took := time.Since(began)
			if err == nil && len(text) == 0 {
				err = errors.New("the answer is empty")
			}
			if err != nil {
				r.failed = err
				continue
			}
			if round < 0 {
				if q.extract != nil {
					if r.value, err = q.extract(system, text); err != nil {
						r.failed = fmt.Errorf("%w in the answer %.200s", err, text)
					}
				}
				r.bytes, r.text = len(text), text
				continue
			}
			cpu[system] += server.cpu() - before
			used[system] += took
			r.times = append(r.times, took.Seconds())
		}
	}
	for system, r := range results {
		if len(r.times) > 0 {
			r.cpu = cpu[system] / float64(len(r.times))
		}
	}
	return results
}

// put writes a question's results into the section: the median and the worst.
func (s *section) put(name string, results map[string]*asked, goals ...goal) {
	half, worst := s.add(name+", median", "ms", goals...), s.add(name+", worst", "ms")
	for system, r := range results {
		if r.failed != nil {
			s.fail(system+", "+name, r.failed)
			continue
		}
		half.put(system, median(r.times)*1000)
		worst.put(system, slices.Max(r.times)*1000)
	}
}

// lastOf reads the last value of the first series in a Prometheus matrix.
func lastOf(text []byte) (float64, error) {
	var answer struct {
		Data struct {
			Result []struct{ Values [][2]any }
		}
	}
	if err := json.Unmarshal(text, &answer); err != nil {
		return 0, err
	}
	if len(answer.Data.Result) == 0 || len(answer.Data.Result[0].Values) == 0 {
		return 0, errors.New("nothing found")
	}
	values := answer.Data.Result[0].Values
	value, ok := values[len(values)-1][1].(string)
	if !ok {
		return 0, errors.New("no number")
	}
	return strconv.ParseFloat(value, 64)
}
