package main

// Recording rules: their settings, their routes below /admin, and their own figures.

import (
	"bufio"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"time"

	"cistern/services/daemon/problem"
	"cistern/services/store/rules"
	"cistern/services/store/tsdb"
)

type rulesConfig struct {
	Files   []string
	Delay   duration
	CatchUp duration `toml:"catch_up"`
}

func rulesDefaults() rulesConfig {
	return rulesConfig{Files: []string{}, Delay: duration(5 * time.Second), CatchUp: duration(10 * time.Minute)}
}

func (c *rulesConfig) check() error {
	if c.Delay < 0 || c.Delay > duration(time.Hour) {
		return fmt.Errorf("rules.delay is %v; it must be from 0s to 1h", time.Duration(c.Delay))
	}
	if c.CatchUp < 0 || c.CatchUp > duration(24*time.Hour) {
		return fmt.Errorf("rules.catch_up is %v; it must be from 0s to 24h", time.Duration(c.CatchUp))
	}
	return nil
}

// openRules reads the rules of files, and those that were kept.
func (s *server) openRules(c *config) (err error) {
	var fixed []rules.Rule
	for _, path := range c.Rules.Files {
		text, err := os.ReadFile(path)
		if err != nil {
			return fmt.Errorf("rules.files: %w", err)
		}
		list, not, err := rules.ReadFile(text, s.queries.Parse)
		if err != nil {
			return fmt.Errorf("rules.files: %s: %w", path, err)
		}
		if len(not) > 0 {
			return fmt.Errorf("rules.files: %s, line %d: %s: %s", path, not[0].Line, not[0].What, not[0].Reason)
		}
		fixed = append(fixed, list...)
	}
	s.rules, err = rules.Open(s.store, s.queries, rules.Options{Folder: c.Data, Log: s.log,
		Delay: time.Duration(c.Rules.Delay), CatchUp: time.Duration(c.Rules.CatchUp), Fixed: fixed})
	return err
}

// ruleRoutes are akd's, which says who may.
func (s *server) ruleRoutes(mux *routeTable) {
	mux.HandleFunc("GET /admin/recording-rules", here(s.getRules))
	mux.HandleFunc("PUT /admin/recording-rules", here(s.putRules))
	mux.HandleFunc("POST /admin/recording-rules/preview", here(s.previewRule))
	mux.HandleFunc("POST /admin/recording-rules/read-file", here(s.readRuleFile))
	mux.HandleFunc("POST /admin/recording-rules/{id}/fill", here(s.fillRule))
	mux.HandleFunc("DELETE /admin/recording-rules/{id}/fill", here(s.cancelFill))
}

func (s *server) getRules(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, map[string]any{"rules": s.rules.Rules()})
}

// maxRulesBody holds 2,000 rules with long expressions and descriptions.
const maxRulesBody = 32 << 20

func (s *server) putRules(w http.ResponseWriter, r *http.Request) {
	var wanted struct {
		Rules []rules.Rule `json:"rules"`
	}
	if !problem.Decode(w, r, &wanted, maxRulesBody) {
		return
	}
	if err := s.rules.Set(wanted.Rules); err != nil {
		refuseRules(w, err)
		return
	}
	s.getRules(w, r)
}

// refuseRules answers why rules cannot be.
func refuseRules(w http.ResponseWriter, err error) {
	var refused *rules.Refused
	if !errors.As(err, &refused) {
		problem.Write(w, http.StatusServiceUnavailable, "service_unavailable", "The rules could not be saved: "+err.Error()+".",
			"Nothing was changed. Look whether the pool is full or suspended.")
		return
	}
	var fields []problem.Field
	for _, f := range refused.Fields {
		fields = append(fields, problem.Field{Path: fmt.Sprintf("rules/%d/%s", f.Index, f.Name), Message: f.Message})
	}
	problem.Write(w, http.StatusBadRequest, "invalid_request", "The rules were refused: "+refused.Error()+".", "Nothing was changed.", fields...)
}

func (s *server) previewRule(w http.ResponseWriter, r *http.Request) {
	var wanted struct {
		Rule     rules.Rule `json:"rule"`
		Replaced string     `json:"replaced"`
	}
	if !problem.Decode(w, r, &wanted, maxRulesBody) {
		return
	}
	shown, err := s.rules.Preview(r.Context(), wanted.Rule, wanted.Replaced)
	var refused *rules.Refused
	switch {
	case errors.As(err, &refused):
		refuseRules(w, err)
	case err != nil:
		problem.Write(w, http.StatusBadRequest, "invalid_request", "The expression cannot be evaluated: "+err.Error()+".", "",
			problem.Field{Path: "rules/0/expression", Message: err.Error()})
	default:
		writeJSON(w, shown)
	}
}

func (s *server) readRuleFile(w http.ResponseWriter, r *http.Request) {
	var wanted struct {
		Text string `json:"text"`
	}
	if !problem.Decode(w, r, &wanted, maxRulesBody) {
		return
	}
	taken, not, err := rules.ReadFile([]byte(wanted.Text), s.queries.Parse)
	if err != nil {
		problem.Write(w, http.StatusBadRequest, "invalid_request", "The rule file cannot be read: "+err.Error()+".", "Choose a rule file of Prometheus, in YAML.")
		return
	}
	if taken == nil {
		taken = []rules.Rule{}
	}
	if not == nil {
		not = []rules.NotTaken{}
	}
	writeJSON(w, map[string]any{"rules": taken, "notTaken": not})
}

func (s *server) fillRule(w http.ResponseWriter, r *http.Request) {
	var wanted struct {
		FromSeconds float64  `json:"fromSeconds"`
		ToSeconds   *float64 `json:"toSeconds"`
	}
	if !problem.Decode(w, r, &wanted, 4<<10) {
		return
	}
	const most = 9e9 // beyond it is no time that anything is kept of
	if !(wanted.FromSeconds >= 0 && wanted.FromSeconds <= most) || wanted.ToSeconds != nil && !(*wanted.ToSeconds >= 0 && *wanted.ToSeconds <= most) {
		problem.Write(w, http.StatusBadRequest, "invalid_request", "The beginning and the end are times in seconds since 1970.", "")
		return
	}
	var to time.Time
	if wanted.ToSeconds != nil {
		to = time.UnixMilli(int64(*wanted.ToSeconds * 1000))
	}
	fill, err := s.rules.StartFill(r.PathValue("id"), time.UnixMilli(int64(wanted.FromSeconds*1000)), to)
	answerFill(w, fill, err)
}

func (s *server) cancelFill(w http.ResponseWriter, r *http.Request) {
	fill, err := s.rules.CancelFill(r.PathValue("id"))
	answerFill(w, fill, err)
}

func answerFill(w http.ResponseWriter, fill rules.Fill, err error) {
	var cannot *rules.CannotFill
	switch {
	case errors.As(err, &cannot) && cannot.Missing:
		problem.Write(w, http.StatusNotFound, "not_found", err.Error(), "")
	case errors.As(err, &cannot):
		problem.Write(w, http.StatusConflict, "conflict", err.Error(), "")
	case err != nil:
		problem.Write(w, http.StatusServiceUnavailable, "service_unavailable", err.Error(), "")
	default:
		writeJSON(w, fill)
	}
}

// ruleFigures are each rule's, named cistern_rule_….
var ruleFigures = []struct {
	name string
	kind tsdb.Kind
	help string
	of   func(*rules.State) float64
}{
	{"evaluations_total", tsdb.Counter, "Evaluations of a recording rule, those that failed too.", func(s *rules.State) float64 { return float64(s.Evaluations) }},
	{"failures_total", tsdb.Counter, "Evaluations that failed.", func(s *rules.State) float64 { return float64(s.Failures) }},
	{"missed_total", tsdb.Counter, "Evaluations that were not made in time, nor made up.", func(s *rules.State) float64 { return float64(s.Missed) }},
	{"refused_samples_total", tsdb.Counter, "Results that the store did not take.", func(s *rules.State) float64 { return float64(s.RefusedTotal) }},
	{"duration_seconds", tsdb.Gauge, "How long the last evaluation took.", func(s *rules.State) float64 { return s.DurationSeconds }},
	{"samples", tsdb.Gauge, "Results of the last evaluation.", func(s *rules.State) float64 { return float64(s.Samples) }},
}

// enabled is the rules that are evaluated, with the labels of their figures.
func (st *statistics) enabled() (list []rules.Evaluated, labels [][]tsdb.Label) {
	for _, r := range st.server.rules.Rules() {
		if r.Enabled {
			list = append(list, r)
			labels = append(labels, []tsdb.Label{{Name: "group", Value: r.Group}, {Name: "id", Value: r.ID}, {Name: "rule", Value: r.Name}})
		}
	}
	return list, labels
}

// ofRules appends the figures of the recording rules, as samples of time ms.
func (st *statistics) ofRules(samples []tsdb.Sample, ms int64) []tsdb.Sample {
	list, labels := st.enabled()
	for i := range list {
		for _, f := range ruleFigures {
			samples = st.keys.sample(samples, rulePrefix+f.name, labels[i], f.kind, ms, f.of(&list[i].State))
		}
	}
	return samples
}

const rulePrefix = tsdb.OwnPrefix + "rule_"

// exposeRules writes them in Prometheus' text format.
func (st *statistics) exposeRules(out *bufio.Writer) {
	list, labels := st.enabled()
	for _, f := range ruleFigures {
		for i := range list {
			if i == 0 {
				fmt.Fprintf(out, "# HELP %s%s %s\n# TYPE %s%s %s\n", rulePrefix, f.name, f.help, rulePrefix, f.name, f.kind)
			}
			fmt.Fprintf(out, "%s%s%s %s\n", rulePrefix, f.name, tsdb.FormatLabels(labels[i]), strconv.FormatFloat(f.of(&list[i].State), 'g', -1, 64))
		}
	}
}
