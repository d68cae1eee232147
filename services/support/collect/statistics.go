package collect

// The last day of the appliance's own statistics, asked of the store and written as the viewer reads it.

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// lastDay is what is drawn: one chart for each, what is recorded from the start on every appliance.
var lastDay = []struct{ title, unit, query string }{
	{"CPU utilization", "percent", `cistern_cpu_utilization{dataset="cpu.utilization[mode]"}`},
	{"Memory", "bytes", `cistern_memory_bytes{dataset="memory.bytes[component]"}`},
	{"Disk operations", "operations", `cistern_disk_ops{dataset="disk.ops[disk]"}`},
	{"Disk bytes", "bytes", `cistern_disk_bytes{dataset="disk.bytes[type]"}`},
	{"Disk utilization", "percent", `cistern_disk_utilization{dataset="disk.utilization[disk]"}`},
	{"ZFS cache accesses", "operations", `cistern_arc_accesses{dataset="arc.accesses[result]"}`},
	{"ZFS cache size", "bytes", `cistern_arc_bytes{dataset="arc.bytes[component]"}`},
	{"Percent of capacity used", "percent", `cistern_capacity_percent{dataset="capacity.percent[pool]"}`},
	{"Network bytes", "bytes", `cistern_net_bytes{dataset="net.bytes[device]"}`},
	{"HTTP requests", "requests", `cistern_http_requests{dataset="http.requests"}`},
	{"Samples stored", "samples", `cistern_store_samples{dataset="store.samples[input]"}`},
	{"Samples refused", "samples", `cistern_store_rejected{dataset="store.rejected[reason]"}`},
	{"Journal lag", "seconds", `cistern_store_lag{dataset="store.lag"}`},
}

type chartSeries struct {
	Label  string       `json:"label"`
	Values [][2]float64 `json:"values"`
}

type chart struct {
	Title  string        `json:"title"`
	Unit   string        `json:"unit"`
	Series []chartSeries `json:"series"`
}

// maxSeries are drawn in one chart; a machine has sixty disks, and nobody reads sixty lines.
const maxSeries = 16

// dayOfStatistics is a step. The store reads five minutes for each point, so that a day is 288 of them.
func dayOfStatistics(p Paths) Step {
	return Step{Name: "last-day.json", Category: "statistics", Deadline: 60 * time.Second, Limit: UsualLimit, Collect: func(ctx context.Context, limit int64, w io.Writer) error {
		client := dial(filepath.Join(p.Run, "storaged/http.sock"))
		const step = 300
		end := time.Now().Unix() // not on the grid: an appliance that has just started has only the last minutes
		start := end - 24*3600
		charts := []chart{}
		var failed error
		for _, one := range lastDay {
			form := url.Values{"query": {"avg_over_time(" + one.query + "[5m])"}, "start": {strconv.FormatInt(start, 10)}, "end": {strconv.FormatInt(end, 10)}, "step": {strconv.Itoa(step)}, "limit": {strconv.Itoa(maxSeries)}}
			series, err := queryRange(ctx, client, form)
			if err != nil {
				failed = fmt.Errorf("%s: %w", one.title, err)
				if ctx.Err() != nil || len(charts) == 0 {
					break // the store does not answer: no use in asking on
				}
				continue
			}
			if len(series) > 0 {
				charts = append(charts, chart{one.title, one.unit, series})
			}
		}
		if failed != nil && len(charts) == 0 {
			return failed
		}
		content, err := json.Marshal(map[string]any{"start": start, "end": end, "step": step, "charts": charts})
		if err != nil {
			return err
		}
		if int64(len(content)) > limit {
			return ErrCut
		}
		if _, err := w.Write(content); err != nil {
			return err
		}
		return failed
	}}
}

func queryRange(ctx context.Context, client *http.Client, form url.Values) ([]chartSeries, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://storaged/api/v1/query_range?"+form.Encode(), nil)
	if err != nil {
		return nil, err
	}
	response, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	var answer struct {
		Status string `json:"status"`
		Error  string `json:"error"`
		Data   struct {
			Result []struct {
				Metric map[string]string `json:"metric"`
				Values [][2]any          `json:"values"`
			} `json:"result"`
		} `json:"data"`
	}
	if err := json.NewDecoder(io.LimitReader(response.Body, UsualLimit)).Decode(&answer); err != nil {
		return nil, fmt.Errorf("the store answered %s: %w", response.Status, err)
	}
	if answer.Status != "success" {
		return nil, fmt.Errorf("the store answered: %s", answer.Error)
	}
	var series []chartSeries
	for _, r := range answer.Data.Result {
		one := chartSeries{Label: labelOf(r.Metric)}
		for _, v := range r.Values {
			at, _ := v[0].(float64)
			text, _ := v[1].(string)
			value, err := strconv.ParseFloat(text, 64)
			if err == nil && !math.IsNaN(value) && !math.IsInf(value, 0) {
				one.Values = append(one.Values, [2]float64{at, value})
			}
		}
		if len(one.Values) > 0 && len(series) < maxSeries {
			series = append(series, one)
		}
	}
	return series, nil
}

func labelOf(metric map[string]string) string {
	var values []string
	for _, name := range slices.Sorted(maps.Keys(metric)) {
		if name != "__name__" && name != "dataset" {
			values = append(values, metric[name])
		}
	}
	return strings.Join(values, " ")
}
