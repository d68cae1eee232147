package cli

// From --flags to a JSON body or a query, by the description's schemas.

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// kebab is a field's name as a flag: raiseForSeconds → raise-for-seconds.
func kebab(name string) string {
	var b strings.Builder
	for _, r := range name {
		if unicode.IsUpper(r) {
			b.WriteByte('-')
			r = unicode.ToLower(r)
		}
		b.WriteRune(r)
	}
	return b.String()
}

// fieldOf is the property that a flag means, and its schema.
func fieldOf(s schema, flag string) (string, schema, bool) {
	for _, name := range s.order {
		if name == flag || kebab(name) == flag {
			return name, s.Properties[name], true
		}
	}
	return "", schema{}, false
}

// secret fields are asked for or read from standard input when their value is "-", so that they need not be seen in the
// list of processes.
func isSecret(name string) bool {
	name = strings.ToLower(name)
	return strings.Contains(name, "password") || strings.Contains(name, "passphrase") || name == "community" || name == "secret"
}

// asker reads a secret: from the terminal without showing it, or a line of standard input.
type asker func(what string) (string, error)

// parsed is what the arguments of a command say.
type parsed struct {
	positional []string
	body       map[string]any
	query      url.Values
	header     http.Header
}

// parse reads the arguments of a command; own are those of the command line itself, which are taken out before.
func (d *description) parse(c command, arguments []string, ask asker) (parsed, error) {
	p := parsed{body: map[string]any{}, query: url.Values{}, header: http.Header{}}
	body := d.resolve(c.operation.RequestBody.Content["application/json"].Schema)
	query := schema{Properties: map[string]schema{}}
	headers := map[string]string{}
	for _, parameter := range c.operation.Parameters {
		if parameter.In == "header" {
			headers[strings.ToLower(parameter.Name)] = parameter.Name
		}
		if parameter.In == "query" {
			query.Properties[parameter.Name] = parameter.Schema
			query.order = append(query.order, parameter.Name)
			if parameter.Required {
				query.Required = append(query.Required, parameter.Name)
			}
		}
	}
	for i := 0; i < len(arguments); i++ {
		argument := arguments[i]
		if argument == "--" {
			p.positional = append(p.positional, arguments[i+1:]...)
			break
		}
		flag, ok := strings.CutPrefix(argument, "--")
		if !ok {
			p.positional = append(p.positional, argument)
			continue
		}
		flag, value, hasValue := strings.Cut(flag, "=")
		next := func() (string, error) {
			if hasValue {
				return value, nil
			}
			if i+1 >= len(arguments) {
				return "", usage("--%s needs a value", flag)
			}
			i++
			return arguments[i], nil
		}
		if flag == "body" {
			text, err := next()
			if err != nil {
				return p, err
			}
			if err := readBody(text, p.body); err != nil {
				return p, err
			}
			continue
		}
		if name, found := headers[flag]; found {
			text, err := next()
			if err != nil {
				return p, err
			}
			p.header.Set(name, text)
			continue
		}
		if name, s, found := fieldOf(query, flag); found {
			text, err := next()
			if err != nil {
				return p, err
			}
			if _, err := d.value(d.resolve(s), text, flag, true); err != nil {
				return p, err
			}
			p.query.Add(name, text)
			continue
		}
		if err := d.setField(p.body, body, strings.Split(flag, "."), flag, hasValue, next, ask); err != nil {
			return p, err
		}
	}
	if len(p.positional) < len(c.arguments) {
		return p, usage("“%s” needs %s", c.name(), strings.ToUpper(strings.Join(c.arguments[len(p.positional):], " ")))
	}
	if len(p.positional) > len(c.arguments) {
		return p, usage("“%s” does not take “%s”", c.name(), p.positional[len(c.arguments)])
	}
	if missing := missingIn(body, p.body); len(missing) > 0 {
		return p, usage("“%s” needs %s; see %s --help", c.name(), strings.Join(missing, ", "), c.name())
	}
	for _, name := range query.Required {
		if !p.query.Has(name) {
			return p, usage("“%s” needs --%s", c.name(), kebab(name))
		}
	}
	return p, nil
}

func missingIn(s schema, body map[string]any) []string {
	var missing []string
	for _, name := range s.Required {
		if _, ok := body[name]; !ok {
			missing = append(missing, "--"+kebab(name))
		}
	}
	return missing
}

func readBody(name string, into map[string]any) error {
	var content []byte
	var err error
	if name == "-" {
		content, err = io.ReadAll(io.LimitReader(os.Stdin, 1<<20))
	} else {
		content, err = os.ReadFile(name)
	}
	if err != nil {
		return usage("--body: %v", err)
	}
	if err := json.Unmarshal(content, &into); err != nil {
		return usage("--body: %s is no JSON object: %v", name, err)
	}
	return nil
}

// setField puts the value of --a.b.c into body.
func (d *description) setField(into map[string]any, s schema, path []string, flag string, hasValue bool, next func() (string, error), ask asker) error {
	negative := false
	name, found, ok := fieldOf(s, path[0])
	if !ok {
		if bare, no := strings.CutPrefix(path[0], "no-"); no && len(path) == 1 {
			if name, found, ok = fieldOf(s, bare); ok && d.resolve(found).Type == "boolean" {
				negative = true
			} else {
				ok = false
			}
		}
	}
	if !ok {
		var known []string
		for _, one := range s.order {
			known = append(known, "--"+kebab(one))
		}
		if len(known) == 0 {
			return usage("--%s is not known here; this command takes no fields", flag)
		}
		return usage("--%s is not known here; there are %s", flag, strings.Join(known, ", "))
	}
	inner := d.resolve(found)
	switch {
	case len(path) > 1:
		if inner.Type != "object" {
			return usage("--%s: %s has no fields", flag, kebab(name))
		}
		object, ok := into[name].(map[string]any)
		if !ok {
			object = map[string]any{}
			into[name] = object
		}
		return d.setField(object, inner, path[1:], flag, hasValue, next, ask)
	case negative:
		into[name] = false
		return nil
	case inner.Type == "boolean" && !hasValue:
		into[name] = true
		return nil
	}
	text, err := next()
	if err != nil {
		return err
	}
	if text == "-" && isSecret(name) {
		if text, err = ask(kebab(name)); err != nil {
			return err
		}
	}
	value, err := d.value(inner, text, flag, false)
	if err != nil {
		return err
	}
	if inner.Type == "array" {
		list, _ := into[name].([]any)
		into[name] = append(list, value)
		return nil
	}
	into[name] = value
	return nil
}

// value reads a text as a schema wants it; of an array, one item. The appliance checks the rest.
func (d *description) value(s schema, text, flag string, query bool) (any, error) {
	switch s.Type {
	case "array":
		if s.Items == nil {
			return text, nil
		}
		return d.value(d.resolve(*s.Items), text, flag, query)
	case "integer":
		n, err := strconv.ParseInt(text, 10, 64)
		if err == nil {
			return n, nil
		}
		if bytes, ok := sizeOf(text); ok && strings.Contains(s.Description, "bytes") {
			return bytes, nil
		}
		return nil, usage("--%s is a whole number, not “%s”", flag, text)
	case "number":
		x, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return nil, usage("--%s is a number, not “%s”", flag, text)
		}
		return x, nil
	case "boolean":
		b, err := strconv.ParseBool(text)
		if err != nil {
			return nil, usage("--%s is true or false, not “%s”", flag, text)
		}
		return b, nil
	case "object":
		if query {
			return text, nil
		}
		var object map[string]any
		if err := json.Unmarshal([]byte(text), &object); err != nil {
			return nil, usage("--%s is a JSON object, or its fields are given one by one (--%s.…): %v", flag, flag, err)
		}
		return object, nil
	}
	if len(s.Enum) > 0 && !slices.Contains(s.Enum, any(text)) {
		var words []string
		for _, one := range s.Enum {
			words = append(words, fmt.Sprint(one))
		}
		return nil, usage("--%s is one of %s, not “%s”", flag, strings.Join(words, ", "), text)
	}
	return text, nil
}

// sizeOf reads 10G, 512MiB: powers of 1024, as ZFS and the pages count.
func sizeOf(text string) (int64, bool) {
	digits := strings.TrimRightFunc(text, unicode.IsLetter)
	unit := strings.ToUpper(strings.TrimSuffix(strings.TrimSuffix(text[len(digits):], "iB"), "B"))
	shift := map[string]uint{"K": 10, "M": 20, "G": 30, "T": 40, "P": 50}[unit]
	x, err := strconv.ParseFloat(digits, 64)
	if err != nil || shift == 0 || x < 0 || x*float64(uint64(1)<<shift) >= 1<<63 {
		return 0, false
	}
	return int64(x * float64(uint64(1)<<shift)), true
}
