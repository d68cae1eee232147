package api

// The list of metrics.

import (
	"net/http"
	"strconv"
)

func (a *API) listMetrics(w http.ResponseWriter, r *http.Request) {
	most, err := parseLimit(r)
	if err != nil {
		badRequest(w, "limit", err, "")
		return
	}
	list, err := a.store.Metrics(r.FormValue("match"), most)
	if err != nil {
		failed(w, err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	o := &out{w: w, b: append(make([]byte, 0, 4096), `{"metrics":[`...)}
	for i, m := range list {
		if i > 0 {
			o.b = append(o.b, ',')
		}
		o.b = appendString(append(o.b, `{"name":`...), m.Name)
		o.b = append(append(append(o.b, `,"type":"`...), m.Kind.String()...), `","series":`...)
		o.b = strconv.AppendInt(o.b, int64(m.Series), 10)
		o.b = append(appendTime(append(o.b, `,"lastTime":`...), m.LastTime), '}')
		o.spill()
	}
	o.b = append(o.b, "]}\n"...)
	o.flush()
}
