package main

import (
	"fmt"
	"math"
	"net"
	"net/url"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"
)

// A hundred timers of 10 ms have the mean of 10 ms wherever it is asked for, also when the process was killed, and from blocks.
func TestSumsOfTimers(t *testing.T) {
	folder := t.TempDir()
	port := freePort(t)
	more := []string{"--host-statistics=false", "--statsd-addr", fmt.Sprintf("127.0.0.1:%d", port)}
	d := launch(t, folder, more...)
	sender, err := net.Dial("udp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		t.Fatal(err)
	}
	defer sender.Close()
	began := time.Now()
	for range 100 {
		if _, err := sender.Write([]byte("t.ten:10|ms\nt.whole:10:11:12:109|ms\nt.parts:10.25:10.5|ms|@0.5\nt.sizes:1500|d|#a:b")); err != nil {
			t.Fatal(err)
		}
	}
	promql := func(query string) (v float64, ok bool) {
		var answer struct {
			Data struct {
				Result []struct{ Value [2]any }
			}
		}
		d.get(t, "/api/v1/query?query="+url.QueryEscape(query), &answer)
		if len(answer.Data.Result) != 1 {
			return 0, false
		}
		v, err := strconv.ParseFloat(answer.Data.Result[0].Value[1].(string), 64)
		if err != nil {
			t.Fatal(err)
		}
		return v, true
	}
	deadline := time.Now().Add(time.Minute)
	for n := 0.0; n < 100; n, _ = promql(`histogram_count(sum_over_time({"t.sizes"}[10m]))`) {
		if time.Now().After(deadline) {
			t.Fatalf("%v of 100 have come", n)
		}
		time.Sleep(50 * time.Millisecond)
	}
	check := func(step string) {
		t.Helper()
		for name, want := range map[string][2]float64{"t.ten": {100, 0.010}, "t.whole": {400, 0.0355}, "t.parts": {400, 0.010375}, "t.sizes": {100, 1500}} {
			n, mean := want[0], want[1]
			same := func(what string, got, want float64) {
				t.Helper()
				if math.Abs(got/want-1) > 1e-14 {
					t.Errorf("%s: %s of %s is %v, want %v", step, what, name, got, want)
				}
			}
			for query, want := range map[string]float64{
				`histogram_avg(sum_over_time({"NAME"}[10m]))`:                                                       mean,
				`histogram_sum(sum_over_time({"NAME"}[10m]))`:                                                       n * mean,
				`histogram_avg(sum(rate({"NAME"}[10m])))`:                                                           mean,
				`histogram_sum(increase({"NAME"}[10m])) / histogram_count(increase({"NAME"}[10m]))`:                 mean,
				`sum_over_time(histogram_sum({"NAME"})[10m:1s]) / sum_over_time(histogram_count({"NAME"})[10m:1s])`: mean,
			} {
				query = strings.ReplaceAll(query, "NAME", name)
				got, ok := promql(query)
				if !ok {
					t.Fatalf("%s: %s has no answer", step, query)
				}
				same(query, got, want)
			}
			var shape struct {
				Count     uint64
				Sum, Mean float64
			}
			d.get(t, "/api/v1/histogram/distribution?"+url.Values{"query": {fmt.Sprintf("{%q}", name)},
				"start": {fmt.Sprint(began.Unix() - 5)}, "end": {fmt.Sprint(time.Now().Unix() + 5)}}.Encode(), &shape)
			if float64(shape.Count) != n {
				t.Errorf("%s: %d of %s", step, shape.Count, name)
			}
			same("the distribution's mean", shape.Mean, mean)
			same("the distribution's sum", shape.Sum, n*mean)
		}
		if got, _ := promql(`histogram_avg(sum_over_time({"t.ten"}[10m]))`); got != 0.010 {
			t.Errorf("%s: the mean of 10 ms is %v", step, got)
		}
	}
	check("in memory")
	if err := d.end(t, os.Kill); err == nil {
		t.Error("it was killed, and ended well")
	}
	d = launch(t, folder, more...)
	check("killed")
	if code, said := d.sendText(t, "POST", "/admin/flush", ""); code >= 300 {
		t.Fatal(code, said)
	}
	check("in a block")
	// What leaves as JSON comes back with its sum.
	line := []byte(`{"samples":[{"name":"back","time":` + fmt.Sprint(began.Unix()) + `,"histogram":{"bins":{"0.01":4},"sum":0.04}}]}`)
	if code, said := d.sendText(t, "POST", "/api/v1/import", string(line)); code >= 300 {
		t.Fatal(code, said)
	}
	if got, _ := promql(`histogram_sum(sum_over_time(back[10m]))`); got != 0.04 {
		t.Errorf("the sum that was imported is %v", got)
	}
}
