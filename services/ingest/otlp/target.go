package otlp

// target_info: what is known of a resource beyond job and instance, as the specification of OpenTelemetry's compatibility
// with Prometheus has it. A query takes from it what is no label of the series themselves:
// rate(x[5m]) * on (job, instance) group_left ("telemetry.sdk.language") target_info

import (
	"fmt"
	"math"
	"slices"

	"cistern/services/store/tsdb"

	resource "go.opentelemetry.io/proto/otlp/resource/v1"
)

const (
	targetName = "target_info"
	// targetEvery is how far its samples are apart at most where a request spans a long time: half of what a query looks back.
	targetEvery = 150_000
	// maxTargets bounds its samples of one resource in one request.
	maxTargets = 1000
)

// target adds the resource's target_info, from the first to the last of its points.
func (t *translation) target(r *resource.Resource) {
	if t.earliest > t.latest || t.keys > maxKeys {
		return // none of its points is stored
	}
	identity := targetLabels(r)
	if len(identity) == 0 {
		return // nothing could be joined with it
	}
	var labels []tsdb.Label
	var original []string
	for _, a := range r.GetAttributes() {
		name, value := a.GetKey(), text(a.GetValue())
		if value == "" || slices.Contains(identifying, name) || slices.Contains(original, name) {
			continue
		}
		if translated := t.rules.names.label(name); name == "" || len(name) > tsdb.MaxLabelName || translated == tsdb.NameLabel || translated == "job" || translated == "instance" {
			t.warnTarget(fmt.Sprintf("the attribute %.80q is left out: it cannot be a label", name))
			continue
		}
		if len(value) > tsdb.MaxLabelValue {
			t.warnTarget(fmt.Sprintf("the attribute %s is left out: its value has %d bytes, %d are the limit", name, len(value), tsdb.MaxLabelValue))
			continue
		}
		if len(labels)+len(identity)+1 >= tsdb.MaxLabels {
			t.warnTarget(fmt.Sprintf("the attribute %s and those after it are left out: %d labels are the limit", name, tsdb.MaxLabels))
			break
		}
		labels, original = append(labels, tsdb.Label{Name: t.rules.names.label(name), Value: value}), append(original, name)
	}
	if len(labels) == 0 {
		return // job and instance are on every series
	}
	labels = append(append(t.rules.names.joined(labels, original), identity...), tsdb.Label{Name: tsdb.NameLabel, Value: targetName})
	key, err := tsdb.AppendKey(nil, tsdb.ReplaceLabels(labels, t.forced))
	if err != nil {
		t.warnTarget(err.Error())
		return
	}
	t.keys += len(key)
	earliest, latest := t.earliest, t.latest
	apart := max(targetEvery, int64(math.Ceil(float64(latest-earliest)/maxTargets)))
	for at := earliest; ; at = min(at+apart, latest) {
		t.samples = append(t.samples, tsdb.Sample{Key: key, Kind: tsdb.Gauge, Time: at, Value: 1})
		t.points, t.names = append(t.points, beside), append(t.names, targetName)
		if at == latest {
			break
		}
	}
	if !slices.ContainsFunc(t.metadata, func(m tsdb.Metadata) bool { return m.Name == targetName }) {
		t.metadata = append(t.metadata, tsdb.Metadata{Name: targetName, Type: "info", Help: "What sent metrics: the attributes of its resource."})
	}
}

func (t *translation) warnTarget(detail string) {
	t.warnings = append(t.warnings, rejection{t.point, BadTarget, targetName + ": " + detail})
}
