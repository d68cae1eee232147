package api

// The list of metrics.

import (
	"fmt"
	"net/http"
	"strconv"

	"cistern/services/store/tsdb"
)

func (a *API) listMetrics(w http.ResponseWriter, r *http.Request) {
	most, err := parseLimit(r)
	if err != nil {
		badRequest(w, "limit", err, "")
		return
	}
	q := tsdb.MetricQuery{Match: r.FormValue("match"), Limit: most}
	switch of := r.FormValue("of"); of {
	case "":
	case "own":
		q.Own = true
	case "sent":
		q.Sent = true
	default:
		badRequest(w, "of", fmt.Errorf("%q is neither own nor sent", of), "Leave it out for all metrics.")
		return
	}
	found, err := a.store.Metrics(q)
	if err != nil {
		failed(w, err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	o := &out{w: w, b: append(make([]byte, 0, 4096), `{"metrics":[`...)}
	for i, m := range found.Metrics {
		if i > 0 {
			o.b = append(o.b, ',')
		}
		o.b = appendString(append(o.b, `{"name":`...), m.Name)
		o.b = append(append(append(o.b, `,"type":"`...), m.Kind.String()...), `","series":`...)
		o.b = strconv.AppendInt(o.b, int64(m.Series), 10)
		o.b = appendTime(append(o.b, `,"firstTime":`...), m.FirstTime)
		o.b = appendTime(append(o.b, `,"lastTime":`...), m.LastTime)
		o.b = append(appendMeaning(o.b, a.meaningOf(m.Name)), '}')
		o.spill()
	}
	o.b = strconv.AppendInt(append(o.b, `],"total":`...), int64(found.Total), 10)
	o.b = append(appendTime(append(o.b, `,"oldest":`...), found.Oldest), "}\n"...)
	o.flush()
}

// appendMeaning leaves out what is not known.
func appendMeaning(b []byte, m meaning) []byte {
	if m.unit != "" {
		b = appendString(append(b, `,"unit":`...), m.unit)
		b = append(append(append(b, `,"unitFrom":"`...), m.from...), '"')
	}
	if m.description != "" {
		b = appendString(append(b, `,"description":`...), m.description)
	}
	if m.limit != nil {
		b = strconv.AppendFloat(append(b, `,"limit":`...), *m.limit, 'g', -1, 64)
	}
	return b
}
