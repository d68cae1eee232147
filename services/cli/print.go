package cli

// Answers for people: lists as tables, things as lines, sizes and shares in words. --json shows everything as it is.

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"unicode/utf8"
)

// Columns of a table, and how long a value in one may be: more does not fit beside each other on a screen.
const (
	maxColumns  = 8
	longestCell = 48
)

// scalar says whether a schema is one value.
func (d *description) scalar(s schema) bool {
	s = d.resolve(s)
	return s.Type != "object" && s.Type != "array" && len(s.Properties) == 0
}

// words is a value as a person reads it.
func (d *description) words(s schema, value any) string {
	s = d.resolve(s)
	switch v := value.(type) {
	case nil:
		return "-"
	case bool:
		if v {
			return "yes"
		}
		return "no"
	case float64:
		switch {
		case strings.Contains(s.Description, "bytes"):
			return size(v)
		case strings.HasPrefix(s.Description, "ratio, 0..1"):
			return fmt.Sprintf("%.0f %%", v*100)
		case v == float64(int64(v)) && v < 1e15 && v > -1e15:
			return fmt.Sprint(int64(v))
		}
		return fmt.Sprintf("%.6g", v)
	case string:
		return strings.Map(func(r rune) rune {
			// Names and labels come from elsewhere, and must not drive the terminal.
			if r < ' ' || r == 0x7f || (r >= 0x80 && r < 0xa0) {
				return ' '
			}
			return r
		}, v)
	case []any:
		parts := make([]string, 0, len(v))
		item := schema{}
		if s.Items != nil {
			item = *s.Items
		}
		for _, one := range v {
			if _, nested := one.(map[string]any); nested {
				return fmt.Sprintf("%d (--json shows them)", len(v))
			}
			parts = append(parts, d.words(item, one))
		}
		if len(parts) == 0 {
			return "-"
		}
		return strings.Join(parts, ", ")
	}
	text, _ := json.Marshal(value)
	return string(text)
}

func size(bytes float64) string {
	units := []string{"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"}
	unit := 0
	for bytes >= 1024 && unit < len(units)-1 {
		bytes /= 1024
		unit++
	}
	if unit == 0 || bytes >= 100 {
		return fmt.Sprintf("%.0f %s", bytes, units[unit])
	}
	return fmt.Sprintf("%.1f %s", bytes, units[unit])
}

// print shows an answer of the schema s.
func (d *description) print(out io.Writer, s schema, value any) {
	s = d.resolve(s)
	object, isObject := value.(map[string]any)
	if items, ok := object["items"].([]any); ok {
		list := d.resolve(s.Properties["items"])
		item := schema{}
		if list.Items != nil {
			item = d.resolve(*list.Items)
		}
		d.table(out, item, items)
		for _, name := range s.order {
			// What is beside a list says something about it: how old it is, how many more there are.
			if text := d.words(s.Properties[name], object[name]); name != "items" && object[name] != nil && d.scalar(s.Properties[name]) && name != "ageSeconds" {
				fmt.Fprintf(out, "%s: %s\n", strings.ReplaceAll(kebab(name), "-", " "), text)
			}
		}
		return
	}
	if isObject {
		w := tabwriter.NewWriter(out, 0, 1, 2, ' ', 0)
		d.lines(w, s, object, "")
		_ = w.Flush()
		return
	}
	fmt.Fprintln(out, d.words(s, value))
}

func (d *description) lines(out io.Writer, s schema, object map[string]any, prefix string) {
	order := s.order
	for name := range object {
		if _, known := s.Properties[name]; !known {
			order = append(order, name)
		}
	}
	for _, name := range order {
		value, there := object[name]
		if !there {
			continue
		}
		property := d.resolve(s.Properties[name])
		if inner, ok := value.(map[string]any); ok {
			d.lines(out, property, inner, prefix+name+".")
			continue
		}
		fmt.Fprintf(out, "%s\t%s\n", prefix+name, d.words(property, value))
	}
}

func (d *description) table(out io.Writer, item schema, rows []any) {
	if len(rows) == 0 {
		fmt.Fprintln(out, "There are none.")
		return
	}
	if len(item.order) == 0 { // a list of plain values
		for _, row := range rows {
			fmt.Fprintln(out, d.words(item, row))
		}
		return
	}
	var columns []string
	for _, name := range item.order {
		if name == "etag" { // for a change of one of them; --json shows it
			continue
		}
		if len(columns) < maxColumns && d.scalar(item.Properties[name]) {
			columns = append(columns, name)
		}
	}
	w := tabwriter.NewWriter(out, 0, 1, 2, ' ', 0)
	for i, name := range columns {
		fmt.Fprint(w, strings.ToUpper(strings.ReplaceAll(kebab(name), "-", " ")), separator(i, len(columns)))
	}
	for _, row := range rows {
		object, _ := row.(map[string]any)
		for i, name := range columns {
			text := d.words(item.Properties[name], object[name])
			// The last one may be as long as it is: nothing stands beside it.
			if i < len(columns)-1 && utf8.RuneCountInString(text) > longestCell {
				text = string([]rune(text)[:longestCell-1]) + "…"
			}
			fmt.Fprint(w, text, separator(i, len(columns)))
		}
	}
	_ = w.Flush()
}

func separator(i, n int) string {
	if i == n-1 {
		return "\n"
	}
	return "\t"
}
