package api

// What the store says about itself in Prometheus' words.

import (
	"cmp"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"time"

	"cistern/services/store/tsdb"

	"github.com/prometheus/common/model"
)

func (a *API) buildInfo(*http.Request) (answer, error) {
	// Grafana reads the version to choose what it may ask: it is that of the API's model, not Cistern's.
	return answer{data: map[string]string{"version": "3.0.0", "revision": "", "branch": "", "buildUser": "", "buildDate": "",
		"goVersion": runtime.Version(), "application": "cistern", "cisternVersion": a.version}}, nil
}

// Settings are what the daemon was started with, without secrets.
type Settings struct {
	YAML  string            // all of them, as Prometheus answers its configuration
	Flags map[string]string // by name, among them those of Prometheus' own flags that mean something here
}

func (a *API) statusConfig(*http.Request) (answer, error) {
	return answer{data: map[string]string{"yaml": a.settings().YAML}}, nil
}

func (a *API) statusFlags(*http.Request) (answer, error) {
	flags := map[string]string{
		"query.lookback-delta": model.Duration(lookback).String(), "query.timeout": model.Duration(Timeout).String(), "query.max-concurrency": strconv.Itoa(atOnce),
		"web.enable-admin-api": "true", "web.enable-remote-write-receiver": "true",
	}
	maps.Copy(flags, a.settings().Flags)
	return answer{data: flags}, nil
}

func (a *API) settings() Settings {
	if a.Settings == nil {
		return Settings{}
	}
	return a.Settings()
}

func (a *API) runtimeInfo(*http.Request) (answer, error) {
	status := a.store.Status()
	host, _ := os.Hostname()
	return answer{data: map[string]any{
		"startTime": status.Started.UTC().Format(time.RFC3339Nano), "serverTime": a.now().UTC().Format(time.RFC3339Nano),
		"hostname": host, "reloadConfigSuccess": true, "lastConfigTime": status.Started.UTC().Format(time.RFC3339Nano),
		"corruptionCount": len(status.Damaged), "goroutineCount": runtime.NumGoroutine(), "GOMAXPROCS": runtime.GOMAXPROCS(0),
		"GOGC": os.Getenv("GOGC"), "GODEBUG": os.Getenv("GODEBUG"),
		"GOMEMLIMIT": debug.SetMemoryLimit(-1), "storageRetention": a.settings().Flags["storage.tsdb.retention.time"],
	}}, nil
}

// figure is one line of status/tsdb's lists.
type figure struct {
	Name  string `json:"name"`
	Value uint64 `json:"value"`
}

func greatest(list []figure, most int) []figure {
	slices.SortFunc(list, func(x, y figure) int {
		if c := cmp.Compare(y.Value, x.Value); c != 0 {
			return c
		}
		return cmp.Compare(x.Name, y.Name)
	})
	if list == nil {
		list = []figure{}
	}
	return list[:min(most, len(list))]
}

// Above so many series the pairs of labels are not counted: that would read them all.
const countPairsUpTo = 200_000

func (a *API) statusTSDB(r *http.Request) (answer, error) {
	most, err := parseLimit(r)
	if err != nil {
		return answer{}, err
	}
	if most == 0 {
		most = 10
	}
	ctx, cancel, err := deadline(r)
	if err != nil {
		return answer{}, err
	}
	defer cancel()
	status := a.store.Status()
	now := a.now().UnixMilli()
	from := now - 2*3_600_000
	if status.HeadMinTime > 0 {
		from = min(from, status.HeadMinTime)
	}
	names, err := a.store.LabelNames(ctx, from, now)
	if err != nil {
		return answer{}, err
	}
	var valueCounts, bytes, byName, pairs []figure
	for _, name := range names {
		values, err := a.store.LabelValues(ctx, name, from, now)
		if err != nil {
			return answer{}, err
		}
		size := 0
		for _, v := range values {
			size += len(v)
		}
		valueCounts, bytes = append(valueCounts, figure{name, uint64(len(values))}), append(bytes, figure{name, uint64(size)})
	}
	metrics, err := a.store.Metrics("", 0)
	if err != nil {
		return answer{}, err
	}
	pairCount := 0
	for _, f := range valueCounts {
		pairCount += int(f.Value)
	}
	count := map[string]uint64{}
	for _, m := range metrics {
		byName = append(byName, figure{m.Name, uint64(m.Series)})
		count[tsdb.NameLabel+"="+m.Name] = uint64(m.Series)
	}
	if status.Series <= countPairsUpTo && len(names) > 0 {
		clear(count)
		for _, m := range metrics {
			matchers, err := a.parser.ParseMetricSelector(`{__name__=` + string(appendString(nil, m.Name)) + `}`)
			if err != nil {
				continue
			}
			list, release, err := a.store.Select(ctx, from, now, matchers...)
			if err != nil {
				release()
				return answer{}, err
			}
			for _, s := range list {
				for _, l := range s.Labels {
					count[l.Name+"="+l.Value]++
				}
			}
			release()
		}
	}
	for pair, n := range maps.All(count) {
		pairs = append(pairs, figure{pair, n})
	}
	type headStats struct {
		Series     int   `json:"numSeries"`
		LabelPairs int   `json:"numLabelPairs"`
		Chunks     int64 `json:"chunkCount"` // a series is in one piece, about
		MinTime    int64 `json:"minTime"`
		MaxTime    int64 `json:"maxTime"`
	}
	return answer{data: map[string]any{
		"headStats":                   headStats{status.Series, pairCount, int64(status.Series), status.HeadMinTime, status.HeadMaxTime},
		"seriesCountByMetricName":     greatest(byName, most),
		"labelValueCountByLabelName":  greatest(valueCounts, most),
		"memoryInBytesByLabelName":    greatest(bytes, most),
		"seriesCountByLabelValuePair": greatest(pairs, most),
	}}, nil
}

// listSizes is what the series of each value of a label take; label is one that few series have, such as "dataset".
func (a *API) listSizes(w http.ResponseWriter, r *http.Request) {
	label := r.FormValue("label")
	if label == "" {
		badRequest(w, "label", errors.New("a label's name is needed"), "Say of which label's values the sizes are wanted, as in ?label=dataset.")
		return
	}
	ctx, cancel, err := deadline(r)
	if err != nil {
		badRequest(w, "timeout", err, "")
		return
	}
	defer cancel()
	list, err := a.store.Sizes(ctx, label)
	if err != nil {
		failed(w, err)
		return
	}
	type size struct {
		Value       string `json:"value"`
		Series      int    `json:"series"`
		Samples     uint64 `json:"samples"`
		DiskBytes   int64  `json:"diskBytes"`
		MemoryBytes int64  `json:"memoryBytes"`
	}
	sizes := make([]size, 0, len(list))
	for _, one := range list {
		sizes = append(sizes, size{one.Value, one.Series, one.Samples, one.Disk, one.Memory})
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{"sizes": sizes})
}
