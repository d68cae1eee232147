package otlp

// Names of metrics and labels. As they come, suffixes and all (docs/decisions/0010), or translated as Prometheus does.

import (
	"slices"

	"cistern/services/store/tsdb"

	"github.com/prometheus/otlptranslator"
	metrics "go.opentelemetry.io/proto/otlp/metrics/v1"
)

type naming struct {
	asSent  bool
	escapes bool
	metrics otlptranslator.MetricNamer
	labels  otlptranslator.LabelNamer
}

func newNaming(strategy string) naming {
	of := otlptranslator.TranslationStrategyOption(strategy)
	return naming{
		asSent: strategy == "" || of == otlptranslator.NoTranslation, escapes: of.ShouldEscape(),
		metrics: otlptranslator.NewMetricNamer("", of), labels: otlptranslator.LabelNamer{UTF8Allowed: !of.ShouldEscape()},
	}
}

// metric is the name that a metric's series have.
func (n *naming) metric(m *metrics.Metric) (string, error) {
	if n.asSent || m.GetName() == "" {
		return m.GetName(), nil
	}
	kind := otlptranslator.MetricTypeUnknown
	switch data := m.GetData().(type) {
	case *metrics.Metric_Gauge:
		kind = otlptranslator.MetricTypeGauge
	case *metrics.Metric_Sum:
		kind = otlptranslator.MetricTypeNonMonotonicCounter
		if data.Sum.GetIsMonotonic() {
			kind = otlptranslator.MetricTypeMonotonicCounter
		}
	case *metrics.Metric_Histogram:
		kind = otlptranslator.MetricTypeHistogram
	case *metrics.Metric_ExponentialHistogram:
		kind = otlptranslator.MetricTypeExponentialHistogram
	case *metrics.Metric_Summary:
		kind = otlptranslator.MetricTypeSummary
	}
	return n.metrics.Build(otlptranslator.Metric{Name: m.GetName(), Unit: m.GetUnit(), Type: otlptranslator.MetricType(kind)})
}

// label is an attribute's name as a label's; one of which nothing would be left stays as it is, and is refused by the store.
func (n *naming) label(name string) string {
	if !n.escapes || name == tsdb.NameLabel {
		return name
	}
	translated, err := n.labels.Build(name)
	if err != nil {
		return name
	}
	return translated
}

// joined puts the values of labels together that have the same name only since they are translated, as Prometheus does: in
// the order of their own names, with a semicolon between.
func (n *naming) joined(labels []tsdb.Label, original []string) []tsdb.Label {
	if !n.escapes {
		return labels
	}
	order := make([]int, len(labels))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		if original[a] < original[b] {
			return -1
		} else if original[a] > original[b] {
			return 1
		}
		return 0
	})
	kept := make([]tsdb.Label, 0, len(labels))
	of := make([]string, 0, len(labels))
	for _, i := range order {
		at := slices.IndexFunc(kept, func(l tsdb.Label) bool { return l.Name == labels[i].Name })
		if at < 0 || of[at] == original[i] { // one that was there twice before stays wrong
			kept, of = append(kept, labels[i]), append(of, original[i])
		} else {
			kept[at].Value += ";" + labels[i].Value
		}
	}
	return kept
}
