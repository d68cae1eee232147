package rules

// Prometheus' rule files: what of them becomes recording rules, and what does not.

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/prometheus/common/model"
	"go.yaml.in/yaml/v3"
)

// NotTaken is a part of a rule file that became nothing, and why.
type NotTaken struct {
	Line   int    `json:"line"` // 0: of no line in particular
	What   string `json:"what"`
	Reason string `json:"reason"`
}

// maxFile is how many bytes a rule file may have.
const maxFile = 4 << 20

type fileRule struct {
	Record, Alert string
	Expr          string
	For           string
	KeepFiringFor string `yaml:"keep_firing_for"`
	Labels        map[string]string
	Annotations   map[string]string
}

var ruleKeys = map[string]bool{"record": true, "alert": true, "expr": true, "for": true, "keep_firing_for": true, "labels": true, "annotations": true}

// ReadFile reads a rule file. Rules that cannot be are not taken, nor are those that cannot be together with others; all of what is not
// taken is named. An error means that it is no rule file.
func ReadFile(text []byte, parse Parse) (taken []Rule, not []NotTaken, err error) {
	if len(text) > maxFile {
		return nil, nil, fmt.Errorf("the file has %d bytes; %d is the limit", len(text), maxFile)
	}
	var document struct{ Groups []yaml.Node }
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	if err := decoder.Decode(&document); errors.Is(err, io.EOF) {
		return nil, nil, errors.New("the file is empty")
	} else if err != nil {
		return nil, nil, fmt.Errorf("this is no rule file: %w", err)
	}
	if len(document.Groups) == 0 {
		return nil, nil, errors.New("this is no rule file: it has no groups")
	}
	var lines []int // of what is taken
	for i := range document.Groups {
		node := &document.Groups[i]
		var g struct {
			Name        string
			Interval    string
			QueryOffset string `yaml:"query_offset"`
			Limit       int
			Labels      map[string]string
			Rules       []yaml.Node
		}
		if err := node.Decode(&g); err != nil {
			not = append(not, NotTaken{node.Line, fmt.Sprintf("the group %d", i+1), err.Error()})
			continue
		}
		of := "the group “" + g.Name + "”"
		not = append(not, unknown(node, of, map[string]bool{"name": true, "interval": true, "query_offset": true, "limit": true, "labels": true, "rules": true})...)
		if g.QueryOffset != "" {
			not = append(not, NotTaken{node.Line, "query_offset of " + of, "how late samples may be is one setting of the store, rules.delay"})
		}
		if g.Limit != 0 {
			not = append(not, NotTaken{node.Line, "limit of " + of, fmt.Sprintf("every rule gives %d series at most", maxResults)})
		}
		interval := defaultIntervalSec
		if g.Interval != "" {
			d, err := model.ParseDuration(g.Interval)
			interval = int(time.Duration(d) / time.Second)
			if err != nil || time.Duration(d)%time.Second != 0 || interval < ShortestInterval || interval > LongestInterval {
				not = append(not, NotTaken{node.Line, of, fmt.Sprintf("its interval, %q, is not from %d s to %d s", g.Interval, ShortestInterval, LongestInterval)})
				continue
			}
		}
		if g.Name == "" {
			g.Name = groupOfNone
		}
		for k := range g.Rules {
			var one *Rule
			if one, not = takeRule(not, &g.Rules[k], g.Name, g.Labels, interval, parse); one != nil {
				taken, lines = append(taken, *one), append(lines, g.Rules[k].Line)
			}
		}
	}
	if len(taken) > MaxRules {
		return nil, nil, fmt.Errorf("the file has %d recording rules; %d is the limit", len(taken), MaxRules)
	}
	// What cannot be together with the others is left out, until the rest can.
	for {
		_, err := Check(taken, parse)
		refused := (*Refused)(nil)
		if !errors.As(err, &refused) {
			slices.SortStableFunc(not, func(a, b NotTaken) int { return a.Line - b.Line })
			return taken, not, nil
		}
		wrong := map[int]bool{}
		for _, f := range refused.Fields {
			if wrong[f.Index] {
				continue
			}
			wrong[f.Index] = true
			not = append(not, NotTaken{lines[f.Index], "the rule " + taken[f.Index].Name, f.Name + ": " + f.Message})
		}
		var kept []Rule
		var keptLines []int
		for i := range taken {
			if !wrong[i] {
				kept, keptLines = append(kept, taken[i]), append(keptLines, lines[i])
			}
		}
		taken, lines = kept, keptLines
	}
}

// takeRule is the recording rule of a node, or nil.
func takeRule(not []NotTaken, node *yaml.Node, group string, groupLabels map[string]string, interval int, parse Parse) (*Rule, []NotTaken) {
	var one fileRule
	if err := node.Decode(&one); err != nil {
		return nil, append(not, NotTaken{node.Line, "a rule of the group “" + group + "”", err.Error()})
	}
	if one.Alert != "" {
		return nil, append(not, NotTaken{node.Line, "the alert rule " + one.Alert, "alert rules are thresholds here: make one of its expression"})
	}
	of := "the rule " + one.Record
	not = append(not, unknown(node, of, ruleKeys)...)
	for what, given := range map[string]bool{"for": one.For != "", "keep_firing_for": one.KeepFiringFor != "", "annotations": len(one.Annotations) > 0} {
		if given {
			not = append(not, NotTaken{node.Line, what + " of " + of, "a recording rule has none"})
		}
	}
	labels := maps.Clone(groupLabels)
	if labels == nil {
		labels = map[string]string{}
	}
	maps.Copy(labels, one.Labels)
	r := Rule{Group: group, Name: one.Record, Expression: one.Expr, Labels: labels, IntervalSeconds: interval, Enabled: true}
	r.ID = r.idOf()
	_, err := Check([]Rule{r}, parse)
	if refused := (*Refused)(nil); errors.As(err, &refused) {
		return nil, append(not, NotTaken{node.Line, of, refused.Fields[0].Name + ": " + refused.Fields[0].Message})
	}
	return &r, not
}

// idOf is an id that stays as long as the result and the group do: that of a rule of a file.
func (r *Rule) idOf() string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q %q", r.Group, r.Name, r.Labels))
	return "file-" + hex.EncodeToString(sum[:8])
}

// unknown is the keys of a mapping that are not known.
func unknown(node *yaml.Node, of string, known map[string]bool) (not []NotTaken) {
	for i := 0; node.Kind == yaml.MappingNode && i+1 < len(node.Content); i += 2 {
		if key := node.Content[i]; !known[key.Value] {
			not = append(not, NotTaken{key.Line, fmt.Sprintf("%.80s of %s", key.Value, of), "it is not known"})
		}
	}
	return not
}
