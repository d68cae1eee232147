// Package commands knows what the commands of illumos take, print and demand: it reads the table in image/omnios/commands
// (its README.md describes the form) and answers, for a call, what the real command would say before it does anything.
// Every fake command of the tests asks it first. Nothing of the product imports it.
package commands

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Table is all that is known, by the commands' names.
type Table struct {
	commands map[string]*Command
}

// Command is one of them.
type Command struct {
	Name    string
	Paths   []string
	Package string
	Sources map[string]string // by their short names
	Forms   []*Form
	Open    []string // what could not be found out of the whole command
	parser  string
	// What stands before the subcommand.
	options, long []option
	words         words
	usageExit     int
}

// words are what is printed when a call is refused.
type words struct {
	badOption, badSubcommand, badOperands, badValue, badSetting string
}

// Form is a subcommand, or the command itself when it has none.
type Form struct {
	Subcommand  string // "" when there is none
	Usage       string
	Prints      []string
	Needs       []Need
	Without     *Answer // what a caller sees who lacks what it needs; nil: not known
	Read        []string
	Checked     []string
	Open        []string
	options     []option
	long        []option
	least, most int // most < 0: any number
	operands    map[int]*pattern
	values      map[string][]string
	settings    map[string]map[string]*pattern
	words       words // where they differ from the command's
	usageExit   int
	line        int
}

type option struct {
	name  string
	value bool
}

// Need is one thing that a caller must have: `privilege sys_mount`, `user root`, `device /dev/rdsk/*`.
type Need struct {
	Kind, Name string
	When       string // in words, when it does not always apply
}

// Answer is what a command leaves behind.
type Answer struct {
	Exit   int
	Stdout string
	Stderr string
}

// Load reads the table from a folder.
func Load(dir string) (*Table, error) {
	files, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	t := &Table{commands: map[string]*Command{}}
	var wrong []error
	for _, file := range files {
		if file.IsDir() || strings.Contains(file.Name(), ".") {
			continue
		}
		c, err := read(os.DirFS(dir), file.Name())
		if err == nil {
			err = c.compile()
		}
		if err != nil {
			wrong = append(wrong, err)
			continue
		}
		t.commands[c.Name] = c
	}
	return t, errors.Join(wrong...)
}

// LoadOnly reads one command of a table; the table is empty when there is no such file.
func LoadOnly(dir, name string) (*Table, error) {
	t := &Table{commands: map[string]*Command{}}
	c, err := read(os.DirFS(dir), name)
	if errors.Is(err, fs.ErrNotExist) {
		return t, nil
	}
	t.commands[name] = c
	return t, err
}

// Command is the one of that name; nil when the table lacks it.
func (t *Table) Command(name string) *Command { return t.commands[filepath.Base(name)] }

// All are sorted by name.
func (t *Table) All() []*Command {
	all := make([]*Command, 0, len(t.commands))
	for _, c := range t.commands {
		all = append(all, c)
	}
	slices.SortFunc(all, func(a, b *Command) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// Form is the one of the subcommand; nil when there is none.
func (c *Command) Form(subcommand string) *Form {
	for _, f := range c.Forms {
		if f.Subcommand == subcommand {
			return f
		}
	}
	return nil
}

// entry is a key with its value; the lines that continue it follow it, a line each.
type entry struct {
	key, value string
	more       []string
	line       int
}

func (e entry) text() string { return strings.Join(append([]string{e.value}, e.more...), "\n") }

// lines is the value and what continues it, without an empty first line.
func (e entry) lines() []string {
	if e.value == "" {
		return e.more
	}
	return append([]string{e.value}, e.more...)
}

func entries(dir fs.FS, name string) ([]entry, error) {
	file, err := dir.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	var all []entry
	scanner := bufio.NewScanner(file)
	for line := 1; scanner.Scan(); line++ {
		text := scanner.Text()
		switch {
		case strings.HasPrefix(text, "#"), strings.TrimSpace(text) == "" && !strings.HasPrefix(text, "  "):
		case strings.HasPrefix(text, "  "):
			if len(all) == 0 {
				return nil, fmt.Errorf("%s:%d: a line that continues nothing", name, line)
			}
			all[len(all)-1].more = append(all[len(all)-1].more, text[2:])
		default:
			key, value, _ := strings.Cut(text, " ")
			all = append(all, entry{key: key, value: strings.TrimRight(strings.TrimLeft(value, " "), " "), line: line})
		}
	}
	return all, scanner.Err()
}

// read takes one command's file apart. What it does not understand is an error: a typing error must not widen a table.
func read(dir fs.FS, name string) (*Command, error) {
	all, err := entries(dir, name)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	c := &Command{Sources: map[string]string{}, parser: "getopt", usageExit: 2}
	var form *Form
	var wrong []error
	for _, e := range all {
		var err error
		switch {
		case e.key == "form":
			form = &Form{Subcommand: strings.TrimPrefix(e.value, "-"), most: -1, words: c.words, usageExit: c.usageExit, line: e.line}
			form.operands, form.values, form.settings = map[int]*pattern{}, map[string][]string{}, map[string]map[string]*pattern{}
			if c.Form(form.Subcommand) != nil {
				err = errors.New("a second form of the same name")
			}
			c.Forms = append(c.Forms, form)
		case form == nil:
			err = c.head(e)
		default:
			err = form.take(e, c)
		}
		if err != nil {
			wrong = append(wrong, fmt.Errorf("%s:%d: %s: %w", name, e.line, e.key, err))
		}
	}
	switch {
	case c.Name != name:
		wrong = append(wrong, fmt.Errorf("%s: the file of a command has its name, not %q", name, c.Name))
	case len(c.Forms) == 0:
		wrong = append(wrong, fmt.Errorf("%s: there is no form", name))
	}
	return c, errors.Join(wrong...)
}

// take reads one of the lines that say how a call is refused; false: it is another line.
func (w *words) take(e entry) bool {
	for key, said := range map[string]*string{
		"bad-option": &w.badOption, "bad-subcommand": &w.badSubcommand, "bad-operands": &w.badOperands,
		"bad-value": &w.badValue, "bad-setting": &w.badSetting,
	} {
		if e.key == key {
			*said = text(e)
			return true
		}
	}
	return false
}

func (c *Command) head(e entry) (err error) {
	if c.words.take(e) {
		return nil
	}
	switch e.key {
	case "command":
		c.Name = e.value
	case "path":
		c.Paths = append(c.Paths, e.value)
	case "package":
		c.Package = e.value
	case "source":
		id, rest, _ := strings.Cut(e.value, " ")
		if rest == "" {
			return errors.New("say its repository, path and date")
		}
		c.Sources[id] = strings.TrimSpace(rest)
	case "parser":
		if !slices.Contains([]string{"getopt", "getopt-long", "permuted", "own"}, e.value) {
			return fmt.Errorf("there is no parser %q", e.value)
		}
		c.parser = e.value
	case "options":
		c.options, err = letters(e.value)
	case "long":
		c.long = named(e.lines())
	case "usage-exit":
		c.usageExit, err = strconv.Atoi(e.value)
	case "open":
		c.Open = append(c.Open, e.text())
	default:
		return errors.New("there is no such key above the forms")
	}
	return err
}

// text is what is printed: the lines, each ended.
func text(e entry) string {
	lines := e.lines()
	if len(lines) == 0 {
		return ""
	}
	return strings.Join(lines, "\n") + "\n"
}

func (f *Form) take(e entry, c *Command) (err error) {
	if f.words.take(e) {
		return nil
	}
	switch e.key {
	case "usage-exit":
		f.usageExit, err = strconv.Atoi(e.value)
	case "usage":
		f.Usage += text(e)
	case "options":
		f.options, err = letters(strings.Join(e.lines(), ""))
	case "long":
		f.long = append(f.long, named(e.lines())...)
	case "operands":
		return f.number(e.value)
	case "operand":
		which, text, _ := strings.Cut(e.value, " ")
		at := 0
		if which != "*" {
			if at, err = strconv.Atoi(which); err != nil {
				return err
			}
		}
		f.operands[at] = &pattern{text: text}
	case "values":
		words := strings.Fields(strings.Join(e.lines(), " "))
		if len(words) < 2 {
			return errors.New("say the option and its words")
		}
		f.values[bare(words[0])] = append(f.values[bare(words[0])], words[1:]...)
	case "settings":
		return f.setting(e.lines())
	case "prints":
		f.Prints = append(f.Prints, e.text())
	case "exit":
		if code, _, _ := strings.Cut(e.value, " "); code != ">0" && code != "N" {
			_, err = strconv.Atoi(code)
		}
	case "needs":
		f.Needs = append(f.Needs, needs(e.lines())...)
	case "without":
		f.Without, err = without(e)
	case "source", "checked":
		return f.reading(e, c)
	case "open":
		f.Open = append(f.Open, e.text())
	default:
		return errors.New("there is no such key in a form")
	}
	return err
}

func (f *Form) number(value string) error {
	words := strings.Fields(value)
	if len(words) != 2 {
		return errors.New("say the least and the most")
	}
	least, err := strconv.Atoi(words[0])
	f.least = least
	if words[1] != "*" && err == nil {
		f.most, err = strconv.Atoi(words[1])
	}
	return err
}

// setting reads `WHERE NAME PATTERN`; the lines that continue it are further `NAME PATTERN` of the same place.
func (f *Form) setting(lines []string) error {
	where, rest, _ := strings.Cut(strings.TrimSpace(lines[0]), " ")
	where = bare(where)
	if f.settings[where] == nil {
		f.settings[where] = map[string]*pattern{}
	}
	for _, line := range append([]string{rest}, lines[1:]...) {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		name, text, _ := strings.Cut(line, " ")
		f.settings[where][name] = &pattern{text: strings.TrimSpace(text)}
	}
	return nil
}

func (f *Form) reading(e entry, c *Command) error {
	words := strings.Fields(e.value)
	if e.key == "source" {
		if len(words) < 2 || c.Sources[words[0]] == "" {
			return fmt.Errorf("%q is not one of the sources above, with a place in it", e.value)
		}
		f.Read = append(f.Read, e.text())
		return nil
	}
	if len(words) < 3 || words[1] != "-" && c.Sources[words[1]] == "" {
		return fmt.Errorf("%q is not a date, one of the sources above, and what was found", e.value)
	}
	f.Checked = append(f.Checked, e.text())
	return nil
}

// needKinds are what a need can be: of "all privileges" every one.
var needKinds = []string{"nothing", "privilege", "authorization", "user", "device", "all"}

func needs(lines []string) []Need {
	var all []Need
	for _, line := range lines {
		line, when, _ := strings.Cut(line, " when ")
		kind, name, _ := strings.Cut(strings.TrimSpace(line), " ")
		if !slices.Contains(needKinds, kind) && len(all) > 0 {
			all[len(all)-1].When += " " + strings.TrimSpace(line) // the condition goes on
			continue
		}
		if kind != "nothing" && kind != "" {
			all = append(all, Need{Kind: kind, Name: strings.TrimSpace(name), When: when})
		}
	}
	return all
}

func without(e entry) (*Answer, error) {
	how, code, _ := strings.Cut(e.value, " ")
	exit, err := strconv.Atoi(strings.TrimSpace(code))
	if err != nil || how != "exit" && how != "silent" {
		return nil, errors.New(`say "exit N" with the words below it, or "silent N"`)
	}
	a := &Answer{Exit: exit}
	if len(e.more) > 0 {
		a.Stderr = strings.Join(e.more, "\n") + "\n"
	}
	return a, nil
}

// letters reads a getopt string.
func letters(value string) ([]option, error) {
	var all []option
	for _, letter := range strings.TrimPrefix(strings.Join(strings.Fields(value), ""), ":") {
		switch {
		case letter == ':' && len(all) > 0:
			all[len(all)-1].value = true
		case strings.ContainsRune("?@/%", letter) || letter >= '0' && letter <= '9' || letter >= 'a' && letter <= 'z' || letter >= 'A' && letter <= 'Z':
			all = append(all, option{name: string(letter)})
		case letter == '-' && value == "-":
			return nil, nil
		default:
			return nil, fmt.Errorf("%q is not a letter of getopt", letter)
		}
	}
	return all, nil
}

func named(lines []string) []option {
	var all []option
	for _, word := range strings.Fields(strings.Join(lines, " ")) {
		name, value := strings.CutSuffix(strings.TrimLeft(word, "-"), ":")
		all = append(all, option{name, value})
	}
	return all
}

// bare is an option without its dashes.
func bare(option string) string { return strings.TrimLeft(option, "-") }

// pattern is a regular expression for the whole of a word. Of the hundred that a big command has, a call looks at one or two:
// they are compiled when a word is compared, unless the whole table is read.
type pattern struct {
	text     string
	compiled *regexp.Regexp
}

func (p *pattern) compile() (err error) {
	p.compiled, err = regexp.Compile(`^(?:` + p.text + `)$`)
	return err
}

func (p *pattern) matches(word string) bool {
	if p.compiled == nil {
		p.compiled = regexp.MustCompile(`^(?:` + p.text + `)$`)
	}
	return p.compiled.MatchString(word)
}

// compile finds what is no regular expression.
func (c *Command) compile() error {
	var wrong []error
	for _, f := range c.Forms {
		note := func(p *pattern) {
			if err := p.compile(); err != nil {
				wrong = append(wrong, fmt.Errorf("%s: the form on line %d: %w", c.Name, f.line, err))
			}
		}
		for _, p := range f.operands {
			note(p)
		}
		for _, named := range f.settings {
			for _, p := range named {
				note(p)
			}
		}
	}
	return errors.Join(wrong...)
}
