package main

// What was measured, as tables: on the terminal and in tests/bench/RESULTS.md.

import (
	"fmt"
	"io"
	"math"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// goal is what is asked of a figure. With a peer it is "how many times better than the peer", without one the figure
// itself.
type goal struct {
	peer        string
	must, reach float64 // 0: none
}

// best is the goal's peer that is the better one of all, in each figure.
const best = "the better peer"

// zeroGoal asks for nothing at all: 0 itself means "no goal".
var zeroGoal = goal{must: math.SmallestNonzeroFloat64}

// figure is one row: a number for each system.
type figure struct {
	name, unit string
	higher     bool // higher is better
	values     map[string][]float64
	goals      []goal
	said       map[string]string // instead of a number
}

type section struct {
	name    string
	about   string
	systems []string // columns
	figures []*figure
	notes   []string
	failed  []string
	quick   bool
	began   time.Time
	took    time.Duration
	commit  string
}

// add makes a row.
func (s *section) add(name, unit string, goals ...goal) *figure {
	f := &figure{name: name, unit: unit, values: map[string][]float64{}, said: map[string]string{}, goals: goals}
	s.figures = append(s.figures, f)
	return f
}

// row finds a row, or makes it.
func (s *section) row(name, unit string, goals ...goal) *figure {
	for _, f := range s.figures {
		if f.name == name {
			return f
		}
	}
	return s.add(name, unit, goals...)
}

func (f *figure) put(system string, value float64) {
	f.values[system] = append(f.values[system], value)
}

func (s *section) note(format string, arguments ...any) {
	text := fmt.Sprintf(format, arguments...)
	if !slices.Contains(s.notes, text) {
		s.notes = append(s.notes, text)
	}
}

// fail keeps an error of one part; the others go on.
func (s *section) fail(what string, err error) {
	text := fmt.Sprintf("%s: %v", what, err)
	if len(text) > 600 {
		text = strings.ToValidUTF8(text[:600], "") + "…"
	}
	if !slices.Contains(s.failed, text) { // once is enough, however many runs it happened in
		s.failed = append(s.failed, text)
	}
}

func median(list []float64) float64 {
	if len(list) == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(list))
	if n := len(sorted); n%2 == 0 {
		return (sorted[n/2-1] + sorted[n/2]) / 2
	}
	return sorted[len(sorted)/2]
}

// number is three significant digits, and all of those before the point.
func number(v float64) string {
	switch magnitude := math.Abs(v); {
	case math.IsNaN(v):
		return "–"
	case magnitude >= 1e9:
		return fmt.Sprintf("%.4g", v)
	case magnitude >= 100:
		return thousands(fmt.Sprintf("%.0f", v))
	case magnitude >= 10:
		return fmt.Sprintf("%.1f", v)
	case magnitude >= 1:
		return fmt.Sprintf("%.2f", v)
	case v == 0:
		return "0"
	default:
		return fmt.Sprintf("%.3g", v)
	}
}

func thousands(digits string) string {
	sign := ""
	if strings.HasPrefix(digits, "-") {
		sign, digits = "-", digits[1:]
	}
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return sign + digits
}

func (f *figure) cell(system string) string {
	if text := f.said[system]; text != "" {
		return text
	}
	list := f.values[system]
	if len(list) == 0 {
		return "–"
	}
	text := number(median(list))
	if low, high := slices.Min(list), slices.Max(list); len(list) > 1 && number(low) != number(high) {
		text += " (" + number(low) + "–" + number(high) + ")"
	}
	return text
}

// better is how many times better Cistern is than a peer.
func (f *figure) better(peer string) float64 {
	if peer == best {
		least := math.NaN()
		for system := range f.values {
			if r := f.better(system); system != cistern && !math.IsNaN(r) && !(r > least) {
				least = r
			}
		}
		return least
	}
	ours, theirs := median(f.values[cistern]), median(f.values[peer])
	if f.higher {
		return ours / theirs
	}
	return theirs / ours
}

func (f *figure) ratios(systems []string) string {
	var parts []string
	for _, peer := range systems {
		if peer == cistern {
			continue
		}
		if r := f.better(peer); r > 0 && !math.IsInf(r, 0) {
			parts = append(parts, number(r)+" × "+short(peer))
		}
	}
	return strings.Join(parts, ", ")
}

func short(system string) string {
	switch system {
	case victoria:
		return "VM"
	case prometheus:
		return "Prom"
	case best:
		return "better"
	}
	return system
}

func (f *figure) asked() (asked, result string) {
	var all, results []string
	for _, g := range f.goals {
		sign, suffix, value := "≥ ", "", median(f.values[cistern])
		more := f.higher
		if g.peer != "" {
			suffix, value, more = " × "+short(g.peer), f.better(g.peer), true
		}
		if !more {
			sign = "≤ "
		}
		holds := func(limit float64) bool {
			if more {
				return value >= limit
			}
			return value <= limit
		}
		text := ""
		if g == zeroGoal {
			text = "0"
		} else if g.must != 0 {
			text = sign + number(g.must)
		}
		if g.reach != 0 {
			text = strings.TrimSpace(text + " / " + sign + number(g.reach))
		}
		all = append(all, text+suffix)
		switch {
		case math.IsNaN(value):
			results = append(results, "?")
		case g.reach != 0 && holds(g.reach):
			results = append(results, "**reached**")
		case g.must != 0 && holds(g.must):
			results = append(results, "must")
		case g.must == 0:
			results = append(results, "not reached")
		default:
			results = append(results, "BELOW")
		}
	}
	return strings.Join(all, "; "), strings.Join(results, "; ")
}

// write prints the section as Markdown whose columns also line up on a terminal.
func (s *section) write(w io.Writer) {
	scale := "full"
	if s.quick {
		scale = "quick"
	}
	fmt.Fprintf(w, "## %s\n\n", s.name)
	fmt.Fprintf(w, "_%s, %s, commit %s, took %s._ %s\n\n", scale, s.began.UTC().Format("2006-01-02 15:04 UTC"), s.commit, s.took.Round(time.Second), s.about)
	if len(s.figures) > 0 {
		table := [][]string{append(append([]string{"figure"}, s.systems...), "Cistern is better by", "asked: must / reach", "result")}
		for _, f := range s.figures {
			row := []string{f.name}
			if f.unit != "" {
				row[0] += ", " + f.unit
			}
			for _, system := range s.systems {
				row = append(row, f.cell(system))
			}
			asked, result := f.asked()
			table = append(table, append(row, f.ratios(s.systems), asked, result))
		}
		writeTable(w, table)
		fmt.Fprintln(w)
	}
	for _, text := range s.notes {
		fmt.Fprintf(w, "- %s\n", text)
	}
	for _, text := range s.failed {
		fmt.Fprintf(w, "- **failed**: %s\n", strings.ReplaceAll(strings.TrimSpace(text), "\n", " ⏎ "))
	}
	if len(s.notes)+len(s.failed) > 0 {
		fmt.Fprintln(w)
	}
}

func writeTable(w io.Writer, table [][]string) {
	widths := make([]int, len(table[0]))
	for _, row := range table {
		for i, cell := range row {
			widths[i] = max(widths[i], len([]rune(cell)))
		}
	}
	line := func(row []string) {
		for i, cell := range row {
			fmt.Fprintf(w, "| %s%s ", cell, strings.Repeat(" ", widths[i]-len([]rune(cell))))
		}
		fmt.Fprintln(w, "|")
	}
	line(table[0])
	rule := make([]string, len(widths))
	for i, width := range widths {
		rule[i] = strings.Repeat("-", width)
	}
	line(rule)
	for _, row := range table[1:] {
		line(row)
	}
}

const preface = `# Cistern and its peers, side by side

Written by ` + "`./build.sh bench storaged`" + `; do not edit. Each section is one run of one workload, in which every system got the same
requests, encoded beforehand, in turn. Figures are medians (with the spread where there were several runs). "Better by" is
always how many times better Cistern is, so that 2 means half the cost or twice the speed; each goal is written beside its figure.
CPU is the server's user and system time from /proc; memory is VmHWM. A quick section (a tenth of the work,
where the goals are no more than a hint) never replaces a full one: it stands beside it until that is measured again.

`

const (
	overviewName = "overview"
	// besides ends the name of a quick section that stands beside a full one.
	besides = ", quick"
)

var measured = regexp.MustCompile(`(?m)^_(full|quick), (\S+ \S+ UTC), commit (.*?), took `)

// overview is a line for each section: when it was measured, how much of it, and what came of its goals.
func overview(w io.Writer, order []string, sections map[string]string) {
	table := [][]string{{"section", "measured", "work", "commit", "goals", "reached", "must", "not reached or below", "failed"}}
	for _, name := range order {
		head := measured.FindStringSubmatch(sections[name])
		if head == nil {
			table = append(table, []string{name, "never", "", "", "", "", "", "", ""})
			continue
		}
		var reached, must, below, failed int
		for line := range strings.Lines(sections[name]) {
			if strings.HasPrefix(line, "- **failed**") {
				failed++
			}
			cells := strings.Split(strings.TrimSpace(line), " | ")
			if !strings.HasPrefix(line, "| ") || len(cells) < 3 {
				continue
			}
			for one := range strings.SplitSeq(strings.Trim(cells[len(cells)-1], " |"), "; ") {
				switch one {
				case "**reached**":
					reached++
				case "must":
					must++
				case "not reached", "BELOW", "?":
					below++
				}
			}
		}
		number := func(n int) string { return strconv.Itoa(n) }
		table = append(table, []string{"[" + name + "](#" + strings.NewReplacer(",", "", " ", "-").Replace(name) + ")", head[2], head[1], head[3], number(reached + must + below), number(reached),
			number(must), number(below), number(failed)})
	}
	fmt.Fprintf(w, "## %s\n\nOf the goals: reached what was to be reached, or met what must be, which is all that most of them ask.\n\n", overviewName)
	writeTable(w, table)
	fmt.Fprintln(w)
}

// keep writes the section into the file at path, in the given order of names, and leaves the other sections as they are; a quick one
// stands beside a full one.
func keep(path, machine string, order []string, s *section) error {
	old, err := os.ReadFile(path)
	if err != nil && !os.IsNotExist(err) {
		return err
	}
	sections := map[string]string{}
	var name string
	for line := range strings.Lines(string(old)) {
		if rest, ok := strings.CutPrefix(line, "## "); ok {
			name = strings.TrimSpace(rest)
		}
		if name != "" && name != overviewName {
			sections[name] += line
		}
	}
	written := *s
	if s.quick && strings.Contains(sections[s.name], "\n_full, ") {
		written.name += besides
	} else {
		delete(sections, s.name+besides)
	}
	var text strings.Builder
	written.write(&text)
	sections[written.name] = text.String()
	text.Reset()
	var all []string
	for _, name := range order {
		all = append(all, name)
		if sections[name+besides] != "" {
			all = append(all, name+besides)
		}
	}
	text.WriteString(preface)
	text.WriteString(machine)
	text.WriteString("\n")
	overview(&text, all, sections)
	for _, name := range all {
		text.WriteString(sections[name])
	}
	// Renamed into place: a bench that is stopped leaves the old file or the new one.
	if err := os.WriteFile(path+".new", []byte(strings.TrimRight(text.String(), "\n")+"\n"), 0o644); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}
