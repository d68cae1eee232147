package api

// What the store says about itself in Prometheus' words.

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"os"
	"runtime"
	"runtime/debug"
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
		"query.lookback-delta": model.Duration(lookback).String(), "query.timeout": model.Duration(Timeout).String(), "query.max-concurrency": strconv.Itoa(a.pool.Limits().Running),
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

func figures(list []tsdb.Figure) []figure {
	lines := make([]figure, len(list))
	for i, one := range list {
		lines[i] = figure{one.Name, one.Count}
	}
	return lines
}

func (a *API) statusTSDB(r *http.Request) (answer, error) {
	most, err := parseLimit(r)
	if err != nil {
		return answer{}, err
	}
	if most == 0 {
		most = 10
	}
	one, err := a.enter(r)
	if err != nil {
		return answer{}, err
	}
	defer one.end()
	return timely(one, func(ctx context.Context) (answer, error) { return a.figuresOf(ctx, most) }, func(answer) {})
}

func (a *API) figuresOf(ctx context.Context, most int) (answer, error) {
	status := a.store.Status()
	now := a.now().UnixMilli()
	from := now - 2*3_600_000
	if status.HeadMinTime > 0 {
		from = min(from, status.HeadMinTime)
	}
	found, err := a.store.Cardinality(ctx, from, now, min(most, maxFigures))
	if err != nil {
		return answer{}, err
	}
	type headStats struct {
		Series     int   `json:"numSeries"`
		LabelPairs int   `json:"numLabelPairs"`
		Chunks     int64 `json:"chunkCount"` // a series is in one piece, about
		MinTime    int64 `json:"minTime"`
		MaxTime    int64 `json:"maxTime"`
	}
	return answer{data: map[string]any{
		"headStats":                   headStats{status.Series, found.Pairs, int64(status.Series), status.HeadMinTime, status.HeadMaxTime},
		"seriesCountByMetricName":     figures(found.Names),
		"labelValueCountByLabelName":  figures(found.Values),
		"memoryInBytesByLabelName":    figures(found.Bytes),
		"seriesCountByLabelValuePair": figures(found.Series),
	}}, nil
}

// maxFigures is how many lines status/tsdb's lists have at most: Prometheus allows as many.
const maxFigures = 10_000

// listSizes is what the series of each value of a label take; label is one that few series have, such as "dataset".
func (a *API) listSizes(w http.ResponseWriter, r *http.Request) {
	label := r.FormValue("label")
	if label == "" {
		badRequest(w, "label", errors.New("a label's name is needed"), "Say of which label's values the sizes are wanted, as in ?label=dataset.")
		return
	}
	one, err := a.enter(r)
	if err != nil {
		failed(w, err)
		return
	}
	defer one.end()
	list, err := timely(one, func(ctx context.Context) ([]tsdb.Size, error) { return a.store.Sizes(ctx, label) }, func([]tsdb.Size) {})
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
