package statistics

// How a traced statistic is declared, and the D program that datasets are made into.
//
// Every second a program prints what was counted since it began; tracerd takes differences, so that nothing is lost
// between printing and clearing. Aggregations by a text are cut back once a minute, because their keys have no bound; what
// comes between dtrace's reading and its cutting, a quarter of a second at most, is lost then. Of stacks only the total
// is printed each second, and the most frequent ones every ten seconds: for each that it prints dtrace looks up symbols in
// the process that it is of.
// What is printed is read by package tracer:
//
//	B                           the program runs
//	T nanoseconds               a second begins; nanoseconds since 1970
//	N t=COUNT                   dataset N: the total
//	N sLENGTH:BYTES=COUNT       of a text, whatever its bytes are
//	N iNUMBER=COUNT             of a number
//	N h, an llquantize, .       of a distribution
//	N kLENGTH:PROCESS, stack(), K, ustack(), U=COUNT
//	C N                         dataset N begins anew behind this second, but for its total
//	E                           the second is complete

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Program is a source of a traced statistic.
type Program struct {
	// Setup runs before the points, Cleanup behind them, whatever is asked for.
	Setup, Cleanup []Clause
	Points         []Point
}

// Clause is text of D, of ours. For names the breakdowns that need it; none: all do.
type Clause struct {
	For  []string
	Text string
}

// Point is where something is counted.
type Point struct {
	Probe string
	When  string // a predicate; "" is always
	// Amount is a D expression of what an event adds; "" is one.
	Amount string
	// Fields are D expressions of the breakdowns' values. A breakdown that is missing has no value here: neither do its
	// events count when it is asked for.
	Fields map[string]string
}

// Steps of llquantize: with 100 of them in a decade its buckets are the log-linear bins. Values of 15 decades and more,
// eleven days of nanoseconds, 909 TiB of bytes, are put together.
const quantizeHigh = 14

// Render makes one program for several datasets of p, which all have to be traced there. The number of a dataset in
// what it prints is its place in the list.
func Render(p Platform, datasets []*Dataset) (string, error) {
	var setup, count, cleanup, print, last strings.Builder
	written := map[string]bool{} // several datasets share what is before and behind
	once := func(to *strings.Builder, clauses []Clause, used []string) {
		for _, c := range clauses {
			needed := len(c.For) == 0 || slices.ContainsFunc(c.For, func(name string) bool { return slices.Contains(used, name) })
			if needed && !written[c.Text] {
				written[c.Text] = true
				to.WriteString(c.Text + "\n")
			}
		}
	}
	for n, d := range datasets {
		program := d.Statistic.Programs[p]
		if reason := d.Statistic.Reason(p); program == nil || reason != "" {
			return "", fmt.Errorf("%s is not traced on %s: %s", d, p, reason)
		}
		var used []string
		for _, f := range d.Filters {
			used = append(used, f.Name)
		}
		if d.By != nil {
			used = append(used, d.By.Name)
		}
		once(&setup, program.Setup, used)
		points := 0
		for _, point := range program.Points {
			if slices.ContainsFunc(used, func(name string) bool { return point.Fields[name] == "" }) {
				continue
			}
			clause, err := d.clause(p, n, &point)
			if err != nil {
				return "", err
			}
			count.WriteString(clause)
			points++
		}
		if points == 0 {
			return "", fmt.Errorf("%s cannot be split and narrowed so on %s", d, p)
		}
		once(&cleanup, program.Cleanup, used)
		print.WriteString(d.printing(p, n))
		switch {
		case d.Statistic.Stacks:
			fmt.Fprintf(&last, "tick-1s\n/cisternSecond %% 10 == 0/\n{\n\ttrunc(@d%d, %d);\n\tprinta(\"%d k%%d:%%s\\n%%kK\\n%%kU=%%@d\\n\", @d%d);\n\tprintf(\"C %d\\n\");\n\ttrunc(@d%d);\n}\n", n, topStacks, n, n, n, n)
		case d.By != nil && d.By.Type != Choice && !d.By.Distribution:
			fmt.Fprintf(&last, "tick-1s\n/cisternSecond %% 60 == 0/\n{\n\tprintf(\"C %d\\n\");\n\ttrunc(@d%d);\n}\n", n, n)
		}
	}
	var b strings.Builder
	b.WriteString("int cisternSecond;\nBEGIN { printf(\"B\\n\"); }\n")
	b.WriteString(setup.String() + count.String() + cleanup.String())
	b.WriteString("tick-1s\n{\n\tcisternSecond++;\n\tprintf(\"T %d\\n\", walltimestamp);\n" + print.String() + "}\n" + last.String())
	b.WriteString("tick-1s\n{\n\tprintf(\"E\\n\");\n}\n")
	return b.String(), nil
}

// clause counts one dataset at one point.
func (d *Dataset) clause(p Platform, n int, point *Point) (string, error) {
	var conditions []string
	if point.When != "" {
		conditions = append(conditions, "("+point.When+")")
	}
	for _, f := range d.Filters {
		literal, err := d.Statistic.Breakdown(f.Name).literal(p, f.Value)
		if err != nil {
			return "", err
		}
		conditions = append(conditions, "("+point.Fields[f.Name]+") == "+literal)
	}
	predicate := ""
	if len(conditions) > 0 {
		predicate = "/" + strings.Join(conditions, " && ") + "/\n"
	}
	what := "count()"
	if point.Amount != "" {
		what = "sum(" + point.Amount + ")"
	}
	key := ""
	switch {
	case d.Statistic.Stacks:
		key = fmt.Sprintf("[strlen(execname), execname, stack(%d), ustack(%d)]", stackDepth, stackDepth)
	case d.By == nil:
	case d.By.Distribution:
		weight := ""
		if point.Amount != "" {
			weight = ", " + point.Amount
		}
		what = fmt.Sprintf("llquantize(%s, 10, 0, %d, 100%s)", point.Fields[d.By.Name], quantizeHigh, weight)
	case d.By.number(p):
		key = "[" + point.Fields[d.By.Name] + "]"
	default:
		key = fmt.Sprintf("[strlen(%s), %s]", point.Fields[d.By.Name], point.Fields[d.By.Name])
	}
	also := ""
	if d.Statistic.Stacks {
		also = fmt.Sprintf("\t@t%d = count();\n", n)
	}
	return fmt.Sprintf("%s\n%s{\n\t@d%d%s = %s;\n%s}\n", point.Probe, predicate, n, key, what, also), nil
}

// stackDepth is how many frames of each side are kept: deep enough for Go's and Node's, and a bound on what is printed.
const stackDepth = 48

// topStacks are printed of ten seconds: more than a flame graph has room for, and few enough to look up.
const topStacks = 60

func (d *Dataset) printing(p Platform, n int) string {
	format := ""
	switch {
	case d.Statistic.Stacks:
		return fmt.Sprintf("\tprinta(\"%d t=%%@d\\n\", @t%d);\n", n, n)
	case d.By == nil:
		format = `%d t=%%@d\n`
	case d.By.Distribution:
		format = `%d h\n%%@d.\n`
	case d.By.number(p):
		format = `%d i%%d=%%@d\n`
	default:
		format = `%d s%%d:%%s=%%@d\n`
	}
	return "\tprinta(\"" + fmt.Sprintf(format, n) + "\", @d" + strconv.Itoa(n) + ");\n"
}

// number says whether a D program of p knows the values as numbers.
func (b *Breakdown) number(p Platform) bool {
	return b.Type == Whole || b.Type == Named || b.Codes != nil && b.Codes(p) != nil
}

// literal is a value, checked already, as D writes it.
func (b *Breakdown) literal(p Platform, value string) (string, error) {
	switch {
	case b.number(p) && b.Codes != nil:
		codes := b.Codes(p)
		for _, code := range slices.Sorted(maps.Keys(codes)) {
			if codes[code] == value {
				return strconv.FormatInt(code, 10), nil
			}
		}
		fallthrough
	case b.Type == Whole:
		number, err := strconv.ParseInt(value, 10, 64)
		if err != nil {
			return "", fmt.Errorf("%q is no value of %s on %s", value, b.Name, p)
		}
		return strconv.FormatInt(number, 10), nil
	}
	return stringLiteral(value), nil
}

// stringLiteral is a D string in which letters and digits stand for themselves and every other byte is three octal
// digits, so that nothing in it means anything to the compiler, its macros or its preprocessor.
func stringLiteral(value string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, c := range []byte(value) {
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, `\%03o`, c)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// Example is a value that a breakdown may have, in the language's own form: for help and for tests.
func Example(b *Breakdown) string {
	switch b.Type {
	case Whole:
		return "1"
	case Named:
		return "0"
	case Choice:
		return b.Values[0]
	case Address:
		return "10.0.2.2"
	}
	return `"a\"b\xff"`
}
