package otlp

// Labels: of the resource, of the scope, and of the data point.

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"cistern/services/store/tsdb"

	common "go.opentelemetry.io/proto/otlp/common/v1"
	metrics "go.opentelemetry.io/proto/otlp/metrics/v1"
	resource "go.opentelemetry.io/proto/otlp/resource/v1"
)

// identifying are the resource attributes that become job and instance.
var identifying = []string{"service.namespace", "service.name", "service.instance.id"}

// targetLabels are job and instance, as the specification makes them of a resource.
func targetLabels(r *resource.Resource) []tsdb.Label {
	var labels []tsdb.Label
	add := func(name, value string) {
		if value != "" {
			labels = append(labels, tsdb.Label{Name: name, Value: value})
		}
	}
	job := attribute(r, "service.name")
	if space := attribute(r, "service.namespace"); space != "" && job != "" {
		job = space + "/" + job
	}
	add("job", job)
	add("instance", attribute(r, "service.instance.id"))
	return labels
}

// attribute is the value of a resource's attribute, or "". Of one that is there twice the first counts.
func attribute(r *resource.Resource, name string) string {
	for _, a := range r.GetAttributes() {
		if a.GetKey() == name {
			return text(a.GetValue())
		}
	}
	return ""
}

// resourceLabels are job, instance and the promoted attributes.
func (o *rules) resourceLabels(r *resource.Resource) []tsdb.Label {
	labels := targetLabels(r)
	var promoted []tsdb.Label
	var original []string
	for _, name := range o.promote {
		if value := attribute(r, name); value != "" {
			promoted, original = append(promoted, tsdb.Label{Name: o.names.label(name), Value: value}), append(original, name)
		}
	}
	return append(labels, o.names.joined(promoted, original)...)
}

// scopePrefix is what OpenTelemetry's specification puts before what it makes labels of in a scope.
const scopePrefix = "otel_scope_"

// scopeLabels tell a scope from others: its name, version and schema, and its attributes, of which one that is called like
// these is left out, as the specification says. Of an attribute that is there twice the first counts.
func (o *rules) scopeLabels(scope *common.InstrumentationScope, schema string) []tsdb.Label {
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
	if o.names.escapes {
		original := make([]string, len(labels))
		for i, l := range labels {
			original[i], labels[i].Name = l.Name, o.names.label(l.Name)
		}
		return o.names.joined(labels, original)
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
	own := t.rules.pointLabels(attributes)
	for _, l := range own {
		if ours(l.Name) && slices.ContainsFunc(t.base, func(b tsdb.Label) bool { return b.Name == l.Name }) {
			l.Name = "exported_" + l.Name
		}
		labels = append(labels, l)
	}
	for _, b := range t.base {
		if !slices.ContainsFunc(own, func(l tsdb.Label) bool { return l.Name == b.Name }) || ours(b.Name) {
			labels = append(labels, b)
		}
	}
	key, err := tsdb.AppendKey(nil, tsdb.ReplaceLabels(labels, t.forced))
	if err != nil {
		t.rejectKey(err)
		return nil, false
	}
	t.keys += len(key)
	return key, true
}

// pointLabels are a data point's attributes, with their names as labels.
func (o *rules) pointLabels(attributes []*common.KeyValue) []tsdb.Label {
	labels := make([]tsdb.Label, 0, len(attributes))
	var original []string
	for _, a := range attributes {
		labels = append(labels, tsdb.Label{Name: o.names.label(a.GetKey()), Value: text(a.GetValue())})
		if o.names.escapes {
			original = append(original, a.GetKey())
		}
	}
	return o.names.joined(labels, original)
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
			t.warn(BadExemplar, "an exemplar has no value")
			continue
		}
		if size := exemplarSize(e); size > maxExemplar {
			t.warn(BadExemplar, fmt.Sprintf("the labels of an exemplar have %d bytes; %d are the limit", size, maxExemplar))
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

// maxExemplar is how many bytes of names and values the store keeps of an exemplar.
const maxExemplar = 1024

// exemplarSize is what the labels of an exemplar take.
func exemplarSize(e *metrics.Exemplar) int {
	size := 0
	if n := len(e.GetTraceId()); n > 0 {
		size += len("trace_id") + 2*n
	}
	if n := len(e.GetSpanId()); n > 0 {
		size += len("span_id") + 2*n
	}
	for _, a := range e.GetFilteredAttributes() {
		size += len(a.GetKey()) + len(text(a.GetValue()))
	}
	return size
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
