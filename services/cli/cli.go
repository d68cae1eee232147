// Package cli is the command line over the management API. It has no list of commands of its own: they are the
// routes of the API's own description (/api/openapi.json) of the appliance that is asked, so that whatever the web page
// can do the command line can, by the same names, also with an older or newer appliance.
//
// How a route becomes a command:
//
//	GET    /api/pools                → pools list            --flags are the query
//	GET    /api/pools/{name}         → pools show NAME
//	POST   /api/pools                → pools create          --flags are the body's fields
//	POST   /api/pools/{name}/scrub   → pools scrub NAME
//	PUT    /api/pools/{name}         → pools set NAME
//	DELETE /api/pools/{name}         → pools delete NAME
//
// Path parameters are given in their order, fields as --field VALUE (--no-field for false, again for each item of a list,
// --email.host for a field of a field, --body FILE for a whole JSON body), a header as --if-match ETAG: what “show” and “list
// --json” gave as etag, so that a change somebody else has made since is not undone. What takes long is a job: its steps are shown
// until it ends. Exit codes are the caller's: an Error is a refusal of the appliance, ErrUsage a mistake in the arguments.
package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"sort"
	"strings"
)

// Streams is where a command reads and writes.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
}

// ErrUsage is wrapped by every error about the arguments.
var ErrUsage = errors.New("wrong arguments")

func usage(format string, values ...any) error {
	return fmt.Errorf("%w: %s", ErrUsage, fmt.Sprintf(format, values...))
}

// schema is as much of JSON Schema as the API's description uses.
type schema struct {
	Ref         string            `json:"$ref"`
	Type        string            `json:"type"`
	Description string            `json:"description"`
	Enum        []any             `json:"enum"`
	Properties  map[string]schema `json:"properties"`
	Required    []string          `json:"required"`
	Items       *schema           `json:"items"`
	AnyOf       []schema          `json:"anyOf"`
	order       []string          // the properties as they are written
}

// UnmarshalJSON also keeps the order of the properties, which is the order that people are shown them in.
func (s *schema) UnmarshalJSON(text []byte) error {
	type plain schema
	if err := json.Unmarshal(text, (*plain)(s)); err != nil {
		return err
	}
	var raw struct {
		Properties json.RawMessage `json:"properties"`
	}
	if err := json.Unmarshal(text, &raw); err != nil || raw.Properties == nil {
		return err
	}
	s.order = keysOf(raw.Properties)
	return nil
}

// keysOf are an object's keys in the order of the text.
func keysOf(object json.RawMessage) []string {
	decoder := json.NewDecoder(strings.NewReader(string(object)))
	var keys []string
	if _, err := decoder.Token(); err != nil {
		return nil
	}
	for decoder.More() {
		key, err := decoder.Token()
		name, ok := key.(string)
		if err != nil || !ok {
			return keys
		}
		keys = append(keys, name)
		var skipped json.RawMessage
		if decoder.Decode(&skipped) != nil {
			return keys
		}
	}
	return keys
}

type operation struct {
	Summary     string `json:"summary"`
	Description string `json:"description"`
	Parameters  []struct {
		Name        string `json:"name"`
		In          string `json:"in"`
		Required    bool   `json:"required"`
		Description string `json:"description"`
		Schema      schema `json:"schema"`
	} `json:"parameters"`
	RequestBody struct {
		Content map[string]struct {
			Schema schema `json:"schema"`
		} `json:"content"`
	} `json:"requestBody"`
	Responses map[string]struct {
		Content map[string]struct {
			Schema schema `json:"schema"`
		} `json:"content"`
	} `json:"responses"`
}

// description is the API's description of itself.
type description struct {
	Info struct {
		Version string `json:"version"`
	} `json:"info"`
	Paths      map[string]map[string]operation `json:"paths"`
	Components struct {
		Schemas map[string]schema `json:"schemas"`
	} `json:"components"`
}

// resolve follows references, and sees through "this or null".
func (d *description) resolve(s schema) schema {
	for range 16 { // a description does not nest references deeper; one that refers to itself ends here
		switch {
		case s.Ref != "":
			s = d.Components.Schemas[strings.TrimPrefix(s.Ref, "#/components/schemas/")]
		case len(s.AnyOf) > 0:
			i := slices.IndexFunc(s.AnyOf, func(one schema) bool { return one.Type != "null" })
			if i < 0 {
				return s
			}
			inner := s.AnyOf[i]
			if inner.Description == "" {
				inner.Description = s.Description
			}
			s = inner
		default:
			return s
		}
	}
	return s
}

// command is one route as a command.
type command struct {
	words     []string // as they are typed
	method    string
	path      string
	arguments []string // the path's parameters
	operation operation
}

func (c command) name() string { return strings.Join(c.words, " ") }

// not for people at a command line: the first-time set-up is the wizard's, signing in has its own commands or needs a browser, and the
// stream of changes tells pages to read anew.
var hidden = []string{"/api/setup", "/api/session", "/api/passkeys", "/api/sign-in-requests", "/api/openapi.json", "/api/events"}

// commands are all commands of an appliance, sorted by their words.
func (d *description) commands() []command {
	var all []command
	for path, methods := range d.Paths {
		if slices.ContainsFunc(hidden, func(p string) bool { return path == p || strings.HasPrefix(path, p+"/") }) {
			continue
		}
		for method, operation := range methods {
			all = append(all, d.command(strings.ToUpper(method), path, operation))
		}
	}
	sort.Slice(all, func(a, b int) bool { return all[a].name() < all[b].name() })
	return all
}

func (d *description) command(method, path string, o operation) command {
	c := command{method: method, path: path, operation: o}
	parts := strings.Split(strings.TrimPrefix(path, "/api/"), "/")
	for _, part := range parts {
		if strings.HasPrefix(part, "{") {
			c.arguments = append(c.arguments, strings.Trim(part, "{}"))
		} else {
			c.words = append(c.words, part)
		}
	}
	endsInParameter := strings.HasPrefix(parts[len(parts)-1], "{")
	switch method {
	case "GET":
		switch {
		case endsInParameter:
			c.words = append(c.words, "show")
		case strings.HasSuffix(path, "-preview"): // what it would hit is part of the answer
		case d.isList(o):
			c.words = append(c.words, "list")
		case len(d.Paths[path]) > 1:
			c.words = append(c.words, "show")
		}
	case "POST":
		// An action has a name of its own; what can be listed at the same place is created.
		if get, ok := d.Paths[path]["get"]; ok && d.isList(get) {
			c.words = append(c.words, "create")
		}
	case "PUT", "PATCH":
		c.words = append(c.words, "set")
	case "DELETE":
		c.words = append(c.words, "delete")
	}
	return c
}

func (d *description) isList(o operation) bool {
	_, ok := d.resolve(d.answer(o)).Properties["items"]
	return ok
}

// answer is the schema of what a route answers when all went well.
func (d *description) answer(o operation) schema {
	for status, response := range o.Responses {
		if strings.HasPrefix(status, "2") {
			return response.Content["application/json"].Schema
		}
	}
	return schema{}
}

// short are commands under one word whose routes begin with several.
var short = map[string][]string{
	"audit list":   {"audit-log", "list"},
	"audit export": {"audit-export"},
	"audit verify": {"audit-chain", "verify"},
}

// inFull replaces a short command by the whole one.
func inFull(arguments []string) []string {
	if len(arguments) == 1 && arguments[0] == "audit" {
		return short["audit list"]
	}
	if len(arguments) < 2 {
		return arguments
	}
	if words, ok := short[arguments[0]+" "+arguments[1]]; ok {
		return append(slices.Clone(words), arguments[2:]...)
	}
	return arguments
}

// find is the command that the arguments begin with, and the rest of them. The longest match counts: "pools scrub NAME" is
// no "pools" with two arguments.
func find(all []command, arguments []string) (command, []string, bool) {
	best := -1
	for i, c := range all {
		if len(c.words) <= len(arguments) && slices.Equal(c.words, arguments[:len(c.words)]) &&
			(best < 0 || len(c.words) > len(all[best].words)) {
			best = i
		}
	}
	if best >= 0 {
		return all[best], arguments[len(all[best].words):], true
	}
	// "pools" alone lists them.
	if len(arguments) > 0 && !strings.HasPrefix(arguments[len(arguments)-1], "-") {
		for _, verb := range []string{"list", "show"} {
			for _, c := range all {
				if len(c.arguments) == 0 && slices.Equal(c.words, append(slices.Clone(arguments), verb)) {
					return c, nil, true
				}
			}
		}
	}
	return command{}, nil, false
}
