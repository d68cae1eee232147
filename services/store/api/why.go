package api

// Why these? GET /api/v1/why?query=SELECTOR&start&end&from&until&above&below: which labels tell what lies in a box on a heatmap
// from what lies around it.

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"

	"cistern/services/store/query/explain"
	"cistern/services/store/tsdb"
)

// What an answer has at most: of labels, and of each label's values. How many there are stands beside them.
const (
	whyLabels = 10
	whyValues = 10
)

// boxOf reads the box. Without from and until what lies around it is what is above and below.
func boxOf(r *http.Request) (explain.Box, string, error) {
	box := explain.Box{Above: math.Inf(-1), Below: math.Inf(1)}
	for _, one := range []struct {
		name string
		to   *int64
	}{{"start", &box.Start}, {"end", &box.End}, {"from", &box.From}, {"until", &box.Until}} {
		switch {
		case r.FormValue(one.name) != "" || one.name == "start" || one.name == "end":
			t, err := neededTime(r, one.name)
			if err != nil {
				return box, one.name, err
			}
			*one.to = t.UnixMilli()
		case one.name == "from":
			box.From = box.Start
		default:
			box.Until = box.End
		}
	}
	if box.End <= box.Start {
		return box, "end", errors.New("end: must be later than start")
	}
	if box.From > box.Start {
		return box, "from", errors.New("from: must not be later than start")
	}
	if box.Until < box.End {
		return box, "until", errors.New("until: must not be earlier than end")
	}
	for _, one := range []struct {
		name string
		to   *float64
	}{{"above", &box.Above}, {"below", &box.Below}} {
		text := r.FormValue(one.name)
		if text == "" {
			continue
		}
		v, err := strconv.ParseFloat(text, 64)
		if err != nil || math.IsNaN(v) {
			return box, one.name, fmt.Errorf("%s: %q is not a number", one.name, shorten(text))
		}
		*one.to = v
	}
	if box.Above >= box.Below {
		return box, "below", errors.New("below: must be greater than above")
	}
	return box, "", nil
}

func (a *API) why(w http.ResponseWriter, r *http.Request) {
	matchers, err := a.selector(r)
	if err != nil {
		badRequest(w, "query", err, "")
		return
	}
	box, field, err := boxOf(r)
	if err != nil {
		badRequest(w, field, err, "")
		return
	}
	one, err := a.enter(r)
	if err != nil {
		failed(w, err)
		return
	}
	defer func() { one.end() }()
	var warnings tsdb.Warnings
	found, err := timely(one, func(ctx context.Context) (explain.Found, error) {
		ctx = tsdb.WithWarnings(ctx, &warnings)
		back := lookback.Milliseconds() + a.store.Granularity(box.From, box.Until-1).Milliseconds()
		list, release, err := a.store.Select(ctx, box.From-back, box.Until-1, matchers...)
		defer release()
		if err != nil {
			return explain.Found{}, err
		}
		return explain.Labels(ctx, list, box, back)
	}, func(explain.Found) {})
	if err != nil {
		failed(w, err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	o := &out{w: w, b: make([]byte, 0, 8192)}
	o.b = appendFloat(append(o.b, `{"inside":`...), found.Inside)
	o.b = appendFloat(append(o.b, `,"outside":`...), found.Outside)
	o.b = strconv.AppendInt(append(o.b, `,"series":`...), int64(found.Series), 10)
	o.b = strconv.AppendInt(append(o.b, `,"of":`...), int64(len(found.Labels)), 10)
	o.b = append(o.b, `,"labels":[`...)
	for i, label := range found.Labels[:min(whyLabels, len(found.Labels))] {
		if i > 0 {
			o.b = append(o.b, ',')
		}
		o.b = appendString(append(o.b, `{"label":`...), label.Name)
		o.b = appendFloat(append(o.b, `,"score":`...), label.Score)
		o.b = strconv.AppendInt(append(o.b, `,"of":`...), int64(len(label.Values)), 10)
		o.b = append(o.b, `,"values":[`...)
		for k, v := range label.Values[:min(whyValues, len(label.Values))] {
			if k > 0 {
				o.b = append(o.b, ',')
			}
			o.b = appendString(append(o.b, `{"value":`...), v.Text)
			o.b = appendFloat(append(o.b, `,"inside":`...), v.Inside)
			o.b = appendFloat(append(o.b, `,"outside":`...), v.Outside)
			o.b = append(appendFloat(append(o.b, `,"score":`...), v.Score), '}')
		}
		o.b = append(o.b, "]}"...)
	}
	o.b = append(o.b, ']')
	notes(o, found.Approximate, warnings.List())
}

// notes ends an answer with what is remarked of it.
func notes(o *out, approximate bool, warnings []string) {
	if approximate {
		o.b = append(o.b, `,"approximate":true`...)
	}
	o.b = append(appendWarnings(o.b, warnings), "}\n"...)
	o.flush()
}

func appendWarnings(b []byte, warnings []string) []byte {
	if len(warnings) == 0 {
		return b
	}
	b = append(b, `,"warnings":[`...)
	for i, text := range warnings {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendString(b, text)
	}
	return append(b, ']')
}
