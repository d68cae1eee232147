package api

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
)

// listHosts is the hosts that metrics come from, or those of them that have changed since an answer before.
func (a *API) listHosts(w http.ResponseWriter, r *http.Request) {
	epoch, since, err := readHostsVersion(r.FormValue("since"))
	if err != nil {
		badRequest(w, "since", err, "Give the version of an answer before, or leave it out for all hosts.")
		return
	}
	found := a.store.Hosts(epoch, since)
	type host struct {
		Name     string            `json:"name"`
		By       []string          `json:"by"`
		First    jsonSeconds       `json:"firstTime"`
		Last     jsonSeconds       `json:"lastTime"`
		Heard    jsonSeconds       `json:"heardTime"`
		Interval float64           `json:"intervalSeconds"`
		Series   int               `json:"series"`
		Inputs   []string          `json:"inputs"`
		Labels   map[string]string `json:"labels"`
	}
	hosts := make([]host, 0, len(found.List))
	for _, one := range found.List {
		labels := make(map[string]string, len(one.Labels))
		for _, l := range one.Labels {
			labels[l.Name] = l.Value
		}
		hosts = append(hosts, host{one.Name, one.By, jsonSeconds(one.First), jsonSeconds(one.Last), jsonSeconds(one.Heard),
			one.Interval.Seconds(), one.Series, one.Inputs, labels})
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{
		"version": fmt.Sprintf("%d-%d", found.Epoch, found.Version), "full": found.Full, "now": jsonSeconds(a.now().UnixMilli()),
		"hosts": hosts, "gone": found.Gone,
	})
}

// jsonSeconds is milliseconds that are written as seconds.
type jsonSeconds int64

// MarshalJSON implements json.Marshaler.
func (t jsonSeconds) MarshalJSON() ([]byte, error) { return appendTime(nil, int64(t)), nil }

func readHostsVersion(text string) (epoch int64, since uint64, err error) {
	if text == "" {
		return 0, 0, nil
	}
	before, after, _ := strings.Cut(text, "-")
	if epoch, err = strconv.ParseInt(before, 10, 64); err == nil {
		since, err = strconv.ParseUint(after, 10, 64)
	}
	if err != nil {
		return 0, 0, fmt.Errorf("%.60q is no version of the list of hosts", text)
	}
	return epoch, since, nil
}
