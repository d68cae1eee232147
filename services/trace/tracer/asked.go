package tracer

// What is asked from outside: listing, watching, recording, suspending and destroying datasets.

import (
	"fmt"
	"net/http"
	"time"

	"cistern/services/daemon/problem"
	"cistern/services/trace/statistics"
)

// View is a dataset as the API shows it.
type View struct {
	Name         string      `json:"name"`
	Statistic    string      `json:"statistic"`
	Filters      [][2]string `json:"filters"`
	Breakdown    *string     `json:"breakdown"`
	Kind         string      `json:"kind"`
	Unit         string      `json:"unit"`
	Metric       string      `json:"metric"`
	Selector     string      `json:"selector"`
	State        State       `json:"state"`
	OverBudget   bool        `json:"overBudget"`
	Since        time.Time   `json:"since"`
	Reason       *string     `json:"reason"`
	Recorded     bool        `json:"recorded"`
	Watched      bool        `json:"watched"`
	CPURatio     float64     `json:"cpuRatio"`
	Samples      uint64      `json:"samples"`
	SeriesNow    int         `json:"seriesNow"`
	Drops        uint64      `json:"drops"`
	Restarts     uint64      `json:"restarts"`
	RestIncluded bool        `json:"restIncluded"`
}

func (t *Tracer) view(d *dataset) View {
	v := View{
		Name: d.name, Statistic: d.Statistic.Name, Filters: [][2]string{}, Kind: d.Kind(), Unit: d.Unit(), Metric: d.Statistic.Metric(), Selector: d.Selector(),
		State: d.state, OverBudget: d.overBudget, Since: d.since.UTC().Truncate(time.Millisecond), Recorded: d.recorded || d.always, Watched: t.now().Before(d.lease),
		CPURatio: d.cost.ratio, Samples: d.samples, Drops: d.drops, Restarts: d.restarts, RestIncluded: d.writer.restAt != 0,
	}
	for _, f := range d.Filters {
		v.Filters = append(v.Filters, [2]string{f.Name, statistics.Label(f.Value)})
	}
	if d.By != nil {
		v.Breakdown = &d.By.Name
	}
	reason := d.reason
	if d.state == Recording {
		v.SeriesNow = d.writer.seriesNow()
		if reason == "" {
			reason = t.sender.Reason()
		}
	}
	if reason != "" {
		v.Reason = &reason
	}
	return v
}

// List is all datasets by name.
func (t *Tracer) List() []View {
	t.mu.Lock()
	defer t.mu.Unlock()
	list := []View{}
	for _, name := range sortedKeys(t.datasets) {
		list = append(list, t.view(t.datasets[name]))
	}
	return list
}

// find is a dataset that is there; the error is a problem document.
func (t *Tracer) find(text string) (*dataset, error) {
	parsed, err := statistics.Parse(text)
	if err != nil {
		return nil, err
	}
	if d := t.datasets[parsed.String()]; d != nil {
		return d, nil
	}
	return nil, problem.New(http.StatusNotFound, "not_found", fmt.Sprintf("The dataset %s is not measured.", parsed), "Watch or record it first.")
}

// Get is one dataset.
func (t *Tracer) Get(text string) (View, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	d, err := t.find(text)
	if err != nil {
		return View{}, err
	}
	return t.view(d), nil
}

// open is a dataset, made when it is not there.
func (t *Tracer) open(text string) (*dataset, error) {
	parsed, err := statistics.Parse(text)
	if err != nil {
		return nil, err
	}
	if reason := t.unavailable(parsed.Statistic); reason != "" {
		return nil, problem.New(http.StatusConflict, "not_available", fmt.Sprintf("%s cannot be measured here. %s", parsed.Statistic.Name, reason), "")
	}
	if parsed.Statistic.Source == statistics.DTrace {
		if _, err := statistics.Render(platform, []*statistics.Dataset{parsed}); err != nil {
			return nil, problem.New(http.StatusConflict, "not_available", err.Error()+".", "")
		}
	}
	name := parsed.String()
	now := t.now()
	if d := t.datasets[name]; d != nil && (d.wanted(now) || d.suspended) {
		return d, nil
	}
	all, traced := 0, 0
	for _, d := range t.datasets {
		if d.wanted(now) && !d.always {
			all++
			if d.Statistic.Source == statistics.DTrace {
				traced++
			}
		}
	}
	if all >= t.config.MaxDatasets || traced >= t.config.MaxTraced && parsed.Statistic.Source == statistics.DTrace {
		return nil, problem.New(http.StatusConflict, "too_many_datasets", fmt.Sprintf("%d datasets are measured on request, %d of them traced; %d and %d are the limits.", all, traced, t.config.MaxDatasets, t.config.MaxTraced),
			"Close a chart, or stop recording a dataset.")
	}
	if len(t.datasets) > 1000 { // looked at once and not forgotten yet
		for name, d := range t.datasets {
			if d.state == Stopped && !d.always {
				delete(t.datasets, name)
			}
		}
	}
	return t.add(parsed), nil
}

// Watch keeps a dataset for half a minute more.
func (t *Tracer) Watch(text string) (View, error) {
	return t.change(text, true, func(d *dataset) { d.lease = t.now().Add(leaseFor) })
}

// Record keeps a dataset until it is switched off.
func (t *Tracer) Record(text string, recording bool) (View, error) {
	return t.change(text, recording, func(d *dataset) { d.recorded = recording })
}

// Suspend stops measuring until Resume; both are kept over restarts.
func (t *Tracer) Suspend(text string) (View, error) {
	return t.change(text, false, func(d *dataset) {
		d.suspended, d.overBudget, d.reason = true, false, "Somebody suspended it."
		t.sender.put(d.writer.end())
		d.run, d.next = nil, nil
		d.set(Suspended, d.reason, t.now())
	})
}

// Resume measures again what was suspended.
func (t *Tracer) Resume(text string) (View, error) {
	return t.change(text, false, func(d *dataset) {
		if d.suspended {
			d.suspended, d.overBudget, d.failures, d.retry = false, false, 0, time.Time{}
			d.set(Stopped, "", t.now())
			if d.wanted(t.now()) {
				d.set(Starting, "", t.now())
			}
		}
	})
}

func (t *Tracer) change(text string, make bool, change func(*dataset)) (View, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	find := t.find
	if make {
		find = t.open
	}
	d, err := find(text)
	if err != nil {
		return View{}, err
	}
	kept := [2]bool{d.recorded, d.suspended}
	change(d)
	if d.state == Stopped && d.wanted(t.now()) {
		d.set(Starting, "", t.now())
	}
	if kept != [2]bool{d.recorded, d.suspended} {
		if err := t.save(); err != nil {
			return View{}, problem.New(http.StatusServiceUnavailable, "service_unavailable", "What is recorded could not be kept: "+err.Error()+".", "Is the system pool full?")
		}
	}
	if d.Statistic.Source == statistics.DTrace {
		t.nudge()
	}
	return t.view(d), nil
}

// Destroy stops and forgets a dataset. Its series stay.
func (t *Tracer) Destroy(text string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	d, err := t.find(text)
	if err != nil {
		return err
	}
	if d.always {
		return problem.New(http.StatusConflict, "conflict", fmt.Sprintf("%s is always recorded; it costs nearly nothing.", d.name), "It can be suspended.")
	}
	t.sender.put(d.writer.end())
	d.run, d.next, d.recorded, d.lease = nil, nil, false, time.Time{}
	delete(t.datasets, d.name)
	t.nudge()
	if err := t.save(); err != nil {
		return problem.New(http.StatusServiceUnavailable, "service_unavailable", "That the dataset is gone could not be kept: "+err.Error()+".", "Is the system pool full?")
	}
	return nil
}
