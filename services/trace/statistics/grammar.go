package statistics

// The language of datasets. Its canonical text, filters in the order of their names and quotes only where they are
// needed, is a dataset's identity.
//
//	dataset   = name { "[" filter "=" value "]" } [ "[" breakdown "]" ]
//	value     = plain | '"' { character | escape } '"'
//	plain     = one or more characters of UTF-8 but ] " \ and control characters
//	escape    = \" \\ \n \r \t or \xHH, a byte

import (
	"cmp"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"cistern/services/daemon/problem"
)

// MaxText is how long a dataset's canonical text may be, in bytes: it is the value of a label.
const MaxText = 1500

// Filter narrows a statistic to one value of a breakdown.
type Filter struct{ Name, Value string } // Value is bytes, decoded

// Dataset is a statistic with filters and at most one breakdown.
type Dataset struct {
	Statistic *Statistic
	Filters   []Filter   // by name
	By        *Breakdown // nil: only the total
}

// String is the canonical text.
func (d *Dataset) String() string {
	var b strings.Builder
	b.WriteString(d.Statistic.Name)
	for _, f := range d.Filters {
		b.WriteString("[" + f.Name + "=" + quote(f.Value) + "]")
	}
	if d.By != nil {
		b.WriteString("[" + d.By.Name + "]")
	}
	return b.String()
}

// Kind is what is kept of it: series, histogram or stacks.
func (d *Dataset) Kind() string {
	switch {
	case d.Statistic.Stacks:
		return "stacks"
	case d.By != nil && d.By.Distribution:
		return "histogram"
	}
	return "series"
}

// Unit is that of its values.
func (d *Dataset) Unit() string {
	if d.By != nil && d.By.Distribution {
		return d.By.Unit
	}
	return d.Statistic.Unit
}

// Selector is the PromQL selector of everything that is kept of it.
func (d *Dataset) Selector() string {
	return d.Statistic.Metric() + `{dataset=` + strconv.Quote(d.String()) + `}`
}

// Filter is the value that a filter has.
func (d *Dataset) Filter(name string) (value string, ok bool) {
	i := slices.IndexFunc(d.Filters, func(f Filter) bool { return f.Name == name })
	if i < 0 {
		return "", false
	}
	return d.Filters[i].Value, true
}

// IsAlways says whether it is recorded from the start.
func (d *Dataset) IsAlways() bool {
	by := ""
	if d.By != nil {
		by = d.By.Name
	}
	return len(d.Filters) == 0 && slices.Contains(d.Statistic.Always, by)
}

// Label is how a value stands in a label, which holds UTF-8 only: a backslash as \\, a byte that is not UTF-8 as \xHH,
// everything else as it is.
func Label(value string) string {
	if !strings.ContainsRune(value, '\\') && utf8.ValidString(value) {
		return value
	}
	var b strings.Builder
	for i := 0; i < len(value); {
		r, size := utf8.DecodeRuneInString(value[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, value[i])
		case r == '\\':
			b.WriteString(`\\`)
		default:
			b.WriteString(value[i : i+size])
		}
		i += size
	}
	return b.String()
}

// needsEscape says which characters stand only in quotes, escaped.
func needsEscape(r rune) bool { return r == '"' || r == '\\' || unicode.IsControl(r) }

func quote(value string) string {
	if value != "" && utf8.ValidString(value) && !strings.ContainsFunc(value, func(r rune) bool { return needsEscape(r) || r == ']' }) {
		return value
	}
	var b strings.Builder
	b.WriteByte('"')
	for i := 0; i < len(value); {
		r, size := utf8.DecodeRuneInString(value[i:])
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteByte(byte(r))
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\r':
			b.WriteString(`\r`)
		case r == '\t':
			b.WriteString(`\t`)
		case r == utf8.RuneError && size == 1 || unicode.IsControl(r):
			for _, one := range []byte(value[i : i+size]) {
				fmt.Fprintf(&b, `\x%02x`, one)
			}
		default:
			b.WriteString(value[i : i+size])
		}
		i += size
	}
	b.WriteByte('"')
	return b.String()
}

// bad is an error of syntax at a byte of the text; columns are characters, from 1.
func bad(text string, at int, what string) error {
	column := utf8.RuneCountInString(text[:min(at, len(text))]) + 1
	return problem.New(http.StatusBadRequest, "bad_statistic", fmt.Sprintf("Column %d of %.200q: %s.", column, text, what),
		"A dataset is written STATISTIC[FILTER=VALUE]…[BREAKDOWN], as in io.ops[disk=sda][latency].")
}

// Parse reads a dataset and checks it against the catalogue. Errors are problem documents: bad_statistic (with the
// column), unknown_statistic, unknown_breakdown, unknown_filter (which list what there is).
func Parse(text string) (*Dataset, error) {
	if len(text) > 4*MaxText {
		return nil, bad("", 0, fmt.Sprintf("the text is longer than %d bytes", 4*MaxText))
	}
	end := strings.IndexByte(text, '[')
	if end < 0 {
		end = len(text)
	}
	name := text[:end]
	for i, r := range name {
		if !nameRune(r) && r != '.' {
			return nil, bad(text, i, fmt.Sprintf("%q is not part of a statistic's name", r))
		}
	}
	if name == "" {
		return nil, bad(text, 0, "the name of a statistic is missing")
	}
	s := Find(name)
	if s == nil {
		return nil, problem.New(http.StatusNotFound, "unknown_statistic", fmt.Sprintf("There is no statistic %q. There are: %s.", name, strings.Join(names(), ", ")), "")
	}
	d := &Dataset{Statistic: s}
	for at := end; at < len(text); {
		if text[at] != '[' {
			return nil, bad(text, at, "a [ is expected here")
		}
		if d.By != nil {
			return nil, bad(text, at, "the breakdown is the last part; nothing may follow it")
		}
		start := at + 1
		at = start
		for at < len(text) && nameRune(rune(text[at])) {
			at++
		}
		part := text[start:at]
		switch {
		case part == "":
			return nil, bad(text, at, "the name of a filter or a breakdown is expected here")
		case at == len(text):
			return nil, bad(text, at, "a ] is missing")
		case text[at] == ']':
			at++
			if err := d.breakDown(text, start, part); err != nil {
				return nil, err
			}
		case text[at] == '=':
			value, next, err := parseValue(text, at+1)
			if err != nil {
				return nil, err
			}
			if err := d.narrow(text, start, at+1, part, value); err != nil {
				return nil, err
			}
			at = next
		default:
			return nil, bad(text, at, "a = or a ] is expected here")
		}
	}
	for _, f := range d.Filters {
		if d.By != nil && d.By.Name == f.Name {
			return nil, bad(text, 0, fmt.Sprintf("%s is a filter already; breaking down by it would show one value", f.Name))
		}
	}
	slices.SortFunc(d.Filters, func(a, b Filter) int { return cmp.Compare(a.Name, b.Name) })
	if n := len(d.String()); n > MaxText {
		return nil, bad(text, 0, fmt.Sprintf("the dataset's name has %d bytes, %d is the limit", n, MaxText))
	}
	return d, nil
}

func nameRune(r rune) bool { return r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '_' }

func names() []string {
	list := make([]string, len(catalogue))
	for i, s := range catalogue {
		list[i] = s.Name
	}
	return list
}

// parseValue reads from behind the = to behind the ].
func parseValue(text string, at int) (value string, next int, err error) {
	if at < len(text) && text[at] == '"' {
		if value, at, err = parseQuoted(text, at); err != nil {
			return "", 0, err
		}
	} else {
		start := at
		for at < len(text) && text[at] != ']' {
			r, size := utf8.DecodeRuneInString(text[at:])
			if r == utf8.RuneError && size == 1 || needsEscape(r) {
				return "", 0, bad(text, at, fmt.Sprintf("%q stands only in a value in double quotes, as an escape", text[at:at+size]))
			}
			at += size
		}
		if value = text[start:at]; value == "" {
			return "", 0, bad(text, at, `a value is expected here; an empty one is written ""`)
		}
	}
	if at == len(text) || text[at] != ']' {
		return "", 0, bad(text, at, "a ] is missing")
	}
	return value, at + 1, nil
}

func parseQuoted(text string, start int) (value string, next int, err error) {
	var b []byte
	for at := start + 1; at < len(text); {
		r, size := utf8.DecodeRuneInString(text[at:])
		switch {
		case r == '"':
			return string(b), at + 1, nil
		case r == utf8.RuneError && size == 1 || unicode.IsControl(r):
			return "", 0, bad(text, at, fmt.Sprintf("%q is written as an escape: \\n, \\r, \\t or \\xHH", text[at:at+size]))
		case r != '\\':
			b = append(b, text[at:at+size]...)
			at += size
			continue
		}
		escape := text[at+1 : min(at+2, len(text))]
		plain, known := map[string]byte{`"`: '"', `\`: '\\', "n": '\n', "r": '\r', "t": '\t'}[escape]
		switch {
		case known:
			b = append(b, plain)
			at += 2
		case escape == "x" && at+4 <= len(text):
			number, err := strconv.ParseUint(text[at+2:at+4], 16, 8)
			if err != nil {
				return "", 0, bad(text, at, `\x is followed by two hexadecimal digits`)
			}
			b = append(b, byte(number))
			at += 4
		default:
			return "", 0, bad(text, at, `the escapes are \" \\ \n \r \t and \xHH`)
		}
	}
	return "", 0, bad(text, start, "these double quotes are not closed")
}

func (d *Dataset) breakDown(text string, at int, name string) error {
	d.By = d.Statistic.Breakdown(name)
	if d.By == nil || d.By.FilterOnly {
		var list []string
		for _, b := range d.Statistic.Breakdowns {
			if !b.FilterOnly {
				list = append(list, b.Name)
			}
		}
		return unknown("unknown_breakdown", d.Statistic, "breakdown", name, list)
	}
	return nil
}

func (d *Dataset) narrow(text string, at, valueAt int, name, value string) error {
	b := d.Statistic.Breakdown(name)
	if b == nil || !b.Filterable() {
		var list []string
		for _, b := range d.Statistic.Breakdowns {
			if b.Filterable() {
				list = append(list, b.Name)
			}
		}
		return unknown("unknown_filter", d.Statistic, "filter", name, list)
	}
	if _, twice := d.Filter(name); twice {
		return bad(text, at, fmt.Sprintf("the filter %s is there twice", name))
	}
	value, err := b.check(value)
	if err != nil {
		return bad(text, valueAt, fmt.Sprintf("%q is no value of %s: %s", value, name, err.Error()))
	}
	d.Filters = append(d.Filters, Filter{name, value})
	return nil
}

func unknown(code string, s *Statistic, what, name string, list []string) error {
	there := "It has none"
	if len(list) > 0 {
		there = "There are: " + strings.Join(list, ", ")
	}
	return problem.New(http.StatusNotFound, code, fmt.Sprintf("%s has no %s %q. %s.", s.Name, what, name, there), "")
}

// maxValue is how long a text may be: DTrace keeps 256 bytes of a string, one of them its end.
const maxValue = 255

// check is the canonical form of a value that was asked for.
func (b *Breakdown) check(value string) (string, error) {
	switch b.Type {
	case Whole:
		number, err := strconv.ParseUint(value, 10, 63)
		if err != nil {
			return value, fmt.Errorf("it is a whole number")
		}
		return strconv.FormatUint(number, 10), nil
	case Named:
		for _, p := range []Platform{Linux, Illumos} {
			for _, name := range b.Codes(p) {
				if name == value {
					return value, nil
				}
			}
		}
		number, err := strconv.ParseUint(value, 10, 31)
		if err != nil {
			return value, fmt.Errorf("there is none of that name, and it is no number")
		}
		return strconv.FormatUint(number, 10), nil
	case Choice:
		if !slices.Contains(b.Values, value) {
			return value, fmt.Errorf("there are %s", strings.Join(b.Values, ", "))
		}
	case Address:
		address, err := netip.ParseAddr(value)
		if err != nil || address.Zone() != "" {
			return value, fmt.Errorf("it is an IP address")
		}
		return address.Unmap().String(), nil
	case Text:
		if len(value) > maxValue {
			return value[:20], fmt.Errorf("a value may have %d bytes", maxValue)
		}
		if strings.IndexByte(value, 0) >= 0 {
			return value, fmt.Errorf("no name holds a zero byte")
		}
	}
	return value, nil
}
