package otlp

// What can be set.

import (
	"fmt"
	"slices"
	"strings"

	"github.com/prometheus/otlptranslator"
)

// Options are what can be set of the input.
type Options struct {
	// Promote names the resource attributes that become labels of each series; the others are in target_info only.
	Promote []string
	// Translation is how names are written, by the names of Prometheus' own setting: one of Translations. "" is the first.
	Translation string
	// TotalsBytes bounds the memory of the running totals of deltas; 0 is 64 MiB.
	TotalsBytes int
}

// Translations are the ways of writing names, by the words of Prometheus' translation_strategy.
var Translations = []string{
	string(otlptranslator.NoTranslation), string(otlptranslator.NoUTF8EscapingWithSuffixes),
	string(otlptranslator.UnderscoreEscapingWithSuffixes), string(otlptranslator.UnderscoreEscapingWithoutSuffixes),
}

// DefaultPromote is the resource attributes that say where something runs. The others (the SDK's version, a process'
// arguments, …) describe, and would multiply series with every restart.
func DefaultPromote() []string {
	return []string{
		"cloud.account.id", "cloud.availability_zone", "cloud.provider", "cloud.region",
		"container.name", "deployment.environment", "deployment.environment.name", "host.name",
		"k8s.cluster.name", "k8s.container.name", "k8s.cronjob.name", "k8s.daemonset.name", "k8s.deployment.name",
		"k8s.job.name", "k8s.namespace.name", "k8s.node.name", "k8s.pod.name", "k8s.replicaset.name", "k8s.statefulset.name",
		"service.version",
	}
}

// Defaults are the options of a file that says nothing.
func Defaults() Options {
	return Options{Promote: DefaultPromote(), Translation: Translations[0]}
}

// maxPromoted leaves room for the labels of data points: a series has 64 at most.
const maxPromoted = 48

// Check says what cannot be.
func (o Options) Check() error {
	if o.Translation != "" && !slices.Contains(Translations, o.Translation) {
		return fmt.Errorf("%q is no translation_strategy: %s are", o.Translation, strings.Join(Translations, ", "))
	}
	if len(o.Promote) > maxPromoted {
		return fmt.Errorf("promote_resource_attributes names %d attributes; %d are the limit, because a series has 64 labels at most", len(o.Promote), maxPromoted)
	}
	seen := map[string]bool{}
	for _, name := range o.Promote {
		switch {
		case name == "":
			return fmt.Errorf("promote_resource_attributes has an empty name")
		case seen[name]:
			return fmt.Errorf("promote_resource_attributes names %s twice", name)
		case slices.Contains(identifying, name):
			return fmt.Errorf("promote_resource_attributes names %s, which is in job and instance already", name)
		}
		seen[name] = true
	}
	return nil
}
