package otlp

// Labels: of the resource, of the scope, and of the data point.

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"

	"cistern/services/store/tsdb"

	common "go.opentelemetry.io/proto/otlp/common/v1"
	metrics "go.opentelemetry.io/proto/otlp/metrics/v1"
	resource "go.opentelemetry.io/proto/otlp/resource/v1"
)

// resourceNames are the resource attributes that are kept as labels: those that say where something runs. The others
// (the SDK's version, a process' arguments, …) describe, and would multiply series with every restart.
var resourceNames = []string{
	"cloud.account.id", "cloud.availability_zone", "cloud.provider", "cloud.region",
	"container.name", "deployment.environment", "deployment.environment.name", "host.name",
	"k8s.cluster.name", "k8s.container.name", "k8s.cronjob.name", "k8s.daemonset.name", "k8s.deployment.name",
	"k8s.job.name", "k8s.namespace.name", "k8s.node.name", "k8s.pod.name", "k8s.replicaset.name", "k8s.statefulset.name",
	"service.version",
}

// resourceLabels are job, instance and the attributes above. Of an attribute that is there twice the first counts.
func resourceLabels(r *resource.Resource) []tsdb.Label {
	attribute := func(name string) string {
		for _, a := range r.GetAttributes() {
			if a.GetKey() == name {
				return text(a.GetValue())
			}
		}
		return ""
	}
	var labels []tsdb.Label
	add := func(name, value string) {
		if value != "" {
			labels = append(labels, tsdb.Label{Name: name, Value: value})
		}
	}
	job := attribute("service.name")
	if space := attribute("service.namespace"); space != "" && job != "" {
		job = space + "/" + job
	}
	add("job", job)
	add("instance", attribute("service.instance.id"))
	for _, name := range resourceNames {
		add(name, attribute(name))
	}
	return labels
}

// scopePrefix is what OpenTelemetry's specification puts before what it makes labels of in a scope.
const scopePrefix = "otel_scope_"

// scopeLabels tell a scope from others: its name, version and schema, and its attributes, of which one that is called like
// these is left out, as the specification says. Of an attribute that is there twice the first counts.
func scopeLabels(scope *common.InstrumentationScope, schema string) []tsdb.Label {
	var labels []tsdb.Label
	add := func(name, value string) {
		if value != "" {
			labels = append(labels, tsdb.Label{Name: scopePrefix + name, Value: value})
		}
	}
	add("name", scope.GetName())
	add("version", scope.GetVersion())
	add("schema_url", schema)
	seen := []string{"name", "version", "schema_url"}
	for _, a := range scope.GetAttributes() {
		if len(labels) > 2*tsdb.MaxLabels { // refused anyway
			break
		}
		if !slices.Contains(seen, a.GetKey()) {
			seen = append(seen, a.GetKey())
			add(a.GetKey(), text(a.GetValue()))
		}
	}
	return labels
}

// ours says whether a label is one that a data point's attribute does not replace: such an attribute is kept as exported_….
func ours(name string) bool {
	return name == "job" || name == "instance" || strings.HasPrefix(name, scopePrefix)
}

// key is the series of a data point; what is wrong with it was rejected when ok is false.
func (t *translation) key(attributes []*common.KeyValue, name string, more ...tsdb.Label) (key []byte, ok bool) {
	if t.keys > maxKeys { // the request is refused
		return nil, false
	}
	if len(attributes) > 2*tsdb.MaxLabels { // not worth looking at
		t.reject(tsdb.TooManyLabels, strconv.Itoa(len(attributes))+" attributes are too many")
		return nil, false
	}
	labels := make([]tsdb.Label, 0, len(t.base)+len(attributes)+len(more)+1)
	labels = append(labels, tsdb.Label{Name: tsdb.NameLabel, Value: name})
	labels = append(labels, more...)
	for _, a := range attributes {
		l := tsdb.Label{Name: a.GetKey(), Value: text(a.GetValue())}
		if ours(l.Name) && slices.ContainsFunc(t.base, func(b tsdb.Label) bool { return b.Name == l.Name }) {
			l.Name = "exported_" + l.Name
		}
		labels = append(labels, l)
	}
	for _, b := range t.base {
		if !slices.ContainsFunc(attributes, func(a *common.KeyValue) bool { return a.GetKey() == b.Name }) || ours(b.Name) {
			labels = append(labels, b)
		}
	}
	key, err := tsdb.AppendKey(nil, labels)
	if err != nil {
		t.rejectKey(err)
		return nil, false
	}
	t.keys += len(key)
	return key, true
}

// text is an attribute's value as a label's: strings as they are, lists and maps as JSON.
func text(v *common.AnyValue) string {
	switch v := v.GetValue().(type) {
	case *common.AnyValue_StringValue:
		return v.StringValue
	case *common.AnyValue_BytesValue:
		return base64.StdEncoding.EncodeToString(v.BytesValue)
	case *common.AnyValue_ArrayValue, *common.AnyValue_KvlistValue:
	case nil:
		return ""
	}
	return string(appendJSON(nil, v))
}

// appendJSON writes a value as JSON. The message's depth is bounded where it is decoded, its length by a label's limit.
func appendJSON(buffer []byte, v *common.AnyValue) []byte {
	if len(buffer) > tsdb.MaxLabelValue {
		return buffer // too long already, and refused for it
	}
	quote := func(s string) {
		quoted, _ := json.Marshal(s)
		buffer = append(buffer, quoted...)
	}
	switch v := v.GetValue().(type) {
	case *common.AnyValue_StringValue:
		quote(v.StringValue)
	case *common.AnyValue_BytesValue:
		quote(base64.StdEncoding.EncodeToString(v.BytesValue))
	case *common.AnyValue_BoolValue:
		buffer = strconv.AppendBool(buffer, v.BoolValue)
	case *common.AnyValue_IntValue:
		buffer = strconv.AppendInt(buffer, v.IntValue, 10)
	case *common.AnyValue_DoubleValue:
		buffer = appendDouble(buffer, v.DoubleValue)
	case *common.AnyValue_ArrayValue:
		buffer = append(buffer, '[')
		for i, one := range v.ArrayValue.GetValues() {
			if i > 0 {
				buffer = append(buffer, ',')
			}
			buffer = appendJSON(buffer, one)
		}
		buffer = append(buffer, ']')
	case *common.AnyValue_KvlistValue:
		buffer = append(buffer, '{')
		for i, one := range v.KvlistValue.GetValues() {
			if i > 0 {
				buffer = append(buffer, ',')
			}
			quote(one.GetKey())
			buffer = append(buffer, ':')
			buffer = appendJSON(buffer, one.GetValue())
		}
		buffer = append(buffer, '}')
	default:
		buffer = append(buffer, "null"...)
	}
	return buffer
}

func appendDouble(buffer []byte, v float64) []byte {
	if math.Abs(v) < 1e15 && v == math.Trunc(v) {
		return strconv.AppendFloat(buffer, v, 'f', -1, 64)
	}
	return strconv.AppendFloat(buffer, v, 'g', -1, 64)
}

// examples keeps a series' exemplars, with their trace.
func (t *translation) examples(key []byte, list []*metrics.Exemplar) {
	for _, e := range list {
		one := tsdb.Exemplar{Key: key, Time: int64(e.GetTimeUnixNano() / 1e6)}
		switch v := e.GetValue().(type) {
		case *metrics.Exemplar_AsDouble:
			one.Value = v.AsDouble
		case *metrics.Exemplar_AsInt:
			one.Value = float64(v.AsInt)
		default:
			continue
		}
		if len(e.GetTraceId()) > 0 {
			one.Labels = append(one.Labels, tsdb.Label{Name: "trace_id", Value: hex.EncodeToString(e.GetTraceId())})
		}
		if len(e.GetSpanId()) > 0 {
			one.Labels = append(one.Labels, tsdb.Label{Name: "span_id", Value: hex.EncodeToString(e.GetSpanId())})
		}
		for _, a := range e.GetFilteredAttributes() {
			one.Labels = append(one.Labels, tsdb.Label{Name: a.GetKey(), Value: text(a.GetValue())})
		}
		t.exemplars = append(t.exemplars, one)
	}
}

// hexIdentifiers corrects the identifiers of what was read as JSON: OpenTelemetry writes them in hexadecimal there, where
// protobuf's JSON has base64. Of the right length both are valid base64, so that reading was without loss.
func hexIdentifiers(data *metrics.MetricsData) {
	correct := func(list []*metrics.Exemplar) {
		for _, e := range list {
			e.TraceId, e.SpanId = fromHex(e.TraceId, 16), fromHex(e.SpanId, 8)
		}
	}
	for _, r := range data.GetResourceMetrics() {
		for _, s := range r.GetScopeMetrics() {
			for _, m := range s.GetMetrics() {
				for _, p := range slices.Concat(m.GetGauge().GetDataPoints(), m.GetSum().GetDataPoints()) {
					correct(p.GetExemplars())
				}
				for _, p := range m.GetHistogram().GetDataPoints() {
					correct(p.GetExemplars())
				}
				for _, p := range m.GetExponentialHistogram().GetDataPoints() {
					correct(p.GetExemplars())
				}
			}
		}
	}
}

// fromHex is the identifier of size bytes whose hexadecimal form was read as base64; others stay as they are.
func fromHex(read []byte, size int) []byte {
	if len(read) != 2*size*3/4 {
		return read
	}
	id, err := hex.DecodeString(base64.StdEncoding.EncodeToString(read))
	if err != nil {
		return read
	}
	return id
}
