package main

// Whether the systems answer the same: a quick answer that is wrong is no result.

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// point is a value of a series at a time, in ms; answers without times have 0.
type point struct {
	at    int64
	value float64
}

// answered is an answer by series: what Prometheus' vectors and matrices hold, and lists of series without points.
type answered map[string][]point

// readAnswer reads a vector, a matrix or a list of series; with the metrics' names, or without, as not all systems drop them
// after the same functions.
func readAnswer(text []byte, named bool) (answered, error) {
	nameOf := func(labels map[string]string) string {
		if !named {
			delete(labels, "__name__")
		}
		return nameOf(labels)
	}
	var answer struct{ Data json.RawMessage }
	if err := json.Unmarshal(text, &answer); err != nil {
		return nil, err
	}
	result := answered{}
	if len(answer.Data) > 0 && answer.Data[0] == '[' {
		var list []map[string]string
		if err := json.Unmarshal(answer.Data, &list); err != nil {
			return nil, err
		}
		for _, labels := range list {
			result[nameOf(labels)] = nil
		}
		return result, nil
	}
	var data struct {
		Result []struct {
			Metric map[string]string
			Value  *[2]any
			Values [][2]any
		}
	}
	if err := json.Unmarshal(answer.Data, &data); err != nil {
		return nil, err
	}
	for _, one := range data.Result {
		if one.Value != nil {
			one.Values = append(one.Values, *one.Value)
		}
		points := make([]point, 0, len(one.Values))
		for _, pair := range one.Values {
			at, ok := pair[0].(float64)
			text, ok2 := pair[1].(string)
			value, err := strconv.ParseFloat(text, 64)
			if !ok || !ok2 || err != nil {
				return nil, fmt.Errorf("%v is no point", pair)
			}
			points = append(points, point{int64(math.Round(at * 1000)), value})
		}
		result[nameOf(one.Metric)] = points
	}
	return result, nil
}

func nameOf(labels map[string]string) string {
	var text strings.Builder
	for _, name := range slices.Sorted(maps.Keys(labels)) {
		fmt.Fprintf(&text, "%s=%q,", name, labels[name])
	}
	return text.String()
}

// differ says where two answers differ by more than a share of their values; "" when they do not.
func differ(ours, theirs answered, share float64) string {
	if len(ours) != len(theirs) {
		return fmt.Sprintf("%d series instead of %d", len(ours), len(theirs))
	}
	for name, want := range theirs {
		got, ok := ours[name]
		if !ok {
			return fmt.Sprintf("{%s} is missing", name)
		}
		if len(got) != len(want) {
			return fmt.Sprintf("{%s} has %d points instead of %d", name, len(got), len(want))
		}
		for i := range want {
			if got[i].at != want[i].at || math.Abs(got[i].value-want[i].value) > share*max(math.Abs(got[i].value), math.Abs(want[i].value)) {
				return fmt.Sprintf("{%s} is %v at %d instead of %v at %d", name, got[i].value, got[i].at, want[i].value, want[i].at)
			}
		}
	}
	return ""
}

// values is the answer without its labels: for what is free to choose among equal series, as topk is.
func (a answered) values() answered {
	var all []point
	for _, points := range a {
		all = append(all, points...)
	}
	slices.SortFunc(all, func(a, b point) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.value, b.value)) })
	return answered{"": all}
}

// exact is what sums may differ by that were added up in another order.
const exact = 1e-9

// agree compares Cistern's first answer with the peers': with Prometheus' it is the same, point by point; from
// VictoriaMetrics', whose rates are of other samples by design, it may differ by a share.
func (q *cpuQuestion) agree(results map[string]*asked) error {
	if q.compare != nil {
		return q.compare(results)
	}
	answers := map[string]answered{}
	for system, r := range results {
		if r.failed != nil {
			continue // which is reported already
		}
		answer, err := readAnswer(r.text, q.loose == 0)
		if err != nil {
			return fmt.Errorf("%s's answer: %w", system, err)
		}
		if len(answer) == 0 {
			return fmt.Errorf("%s found nothing", system)
		}
		if q.anyOf {
			answer = answer.values()
		}
		answers[system] = answer
	}
	ours := answers[cistern]
	if ours == nil {
		return nil
	}
	for system, share := range map[string]float64{prometheus: exact, victoria: max(exact, q.loose)} {
		if theirs := answers[system]; theirs != nil {
			if text := differ(ours, theirs, share); text != "" {
				return fmt.Errorf("Cistern's answer differs from %s': %s", system, text)
			}
		}
	}
	return nil
}

// sameNumber compares one number of each answer; the systems' may differ by a share.
func sameNumber(share float64, read func(system string, text []byte) (float64, error)) func(map[string]*asked) error {
	return func(results map[string]*asked) error {
		least, most := math.Inf(1), math.Inf(-1)
		var text []string
		for _, system := range []string{cistern, victoria, prometheus} {
			r := results[system]
			if r == nil || r.failed != nil {
				continue
			}
			value, err := read(system, r.text)
			if err != nil {
				return fmt.Errorf("%s's answer: %w", system, err)
			}
			least, most = min(least, value), max(most, value)
			text = append(text, fmt.Sprintf("%s %v", system, value))
		}
		if math.IsNaN(most) || most-least > share*math.Abs(most) {
			return errors.New("the answers differ: " + strings.Join(text, ", "))
		}
		return nil
	}
}
