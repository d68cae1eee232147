package commands

import (
	"fmt"
	"slices"
	"strings"
)

// Caller is who runs a command: what a need can be compared with.
type Caller struct {
	// Root opens every device and file of root's.
	Root bool
	// Privileges as in privileges(7), without PRIV_; "all" is every one.
	Privileges []string
	// Authorizations of the user, as solaris.smf.manage.cistern.
	Authorizations []string
	// Devices that are opened although the caller is not root: patterns of paths.
	Devices []string
}

// Everything is a root shell.
var Everything = Caller{Root: true, Privileges: []string{"all"}, Authorizations: []string{"solaris.*"}}

// Call is a call that the real command takes.
type Call struct {
	Command  *Command
	Form     *Form
	Options  map[string][]string // a value each; of one without a value an empty string each
	Operands []string
}

// Has says whether an option was given.
func (c *Call) Has(option string) bool { return len(c.Options[option]) > 0 }

// Value is the last value of an option.
func (c *Call) Value(option string) string {
	all := c.Options[option]
	if len(all) == 0 {
		return ""
	}
	return all[len(all)-1]
}

// UnknownError is a call that the table says nothing about: neither the tests nor the product may make it.
type UnknownError struct{ Argv []string }

// Error implements error.
func (e *UnknownError) Error() string {
	return fmt.Sprintf("image/omnios/commands does not know “%s”: add it there first, from its source", strings.Join(e.Argv, " "))
}

// Check says what the real command makes of a call before it does anything: its refusal, what a caller without a
// privilege sees, or nil, and then the call taken apart. A command that is not in the table is an UnknownError.
func (t *Table) Check(argv []string, caller Caller) (*Call, *Answer, error) {
	c := t.Command(argv[0])
	if c == nil {
		return nil, nil, &UnknownError{argv}
	}
	call := &Call{Command: c, Options: map[string][]string{}}
	rest := argv[1:]
	if c.Form("") == nil {
		var refused *Answer
		if rest, refused = c.globals(call, rest); refused != nil {
			return nil, refused, nil
		}
		if len(rest) == 0 {
			return nil, c.refuse(c.words.badSubcommand, "", ""), nil
		}
		if call.Form = c.Form(rest[0]); call.Form == nil {
			// One that the real command has and the table lacks cannot be told from one that there is not.
			return nil, c.refuse(c.words.badSubcommand, rest[0], ""), nil
		}
		rest = rest[1:]
	} else {
		call.Form = c.Form("")
	}
	if refused := c.parse(call, rest); refused != nil {
		return nil, refused, nil
	}
	if refused := c.values(call); refused != nil {
		return nil, refused, nil
	}
	for _, need := range call.Form.Needs {
		// What applies only at times is for the fake that knows the state; nothing is ever delegated (zfs allow) here.
		if (need.When == "" || strings.HasPrefix(need.When, "nothing is delegated")) && !caller.Has(need) {
			if call.Form.Without == nil {
				return nil, nil, fmt.Errorf("%s %s needs %s %s, and the table does not say what one without sees", c.Name, call.Form.Subcommand, need.Kind, need.Name)
			}
			return nil, call.Form.Without, nil
		}
	}
	return call, nil, nil
}

// Has says whether the caller has what is needed, whatever the condition.
func (c Caller) Has(need Need) bool {
	switch need.Kind {
	case "privilege":
		return slices.Contains(c.Privileges, "all") || slices.Contains(c.Privileges, strings.ToLower(need.Name))
	case "all":
		return slices.Contains(c.Privileges, "all")
	case "authorization":
		return c.Root || slices.ContainsFunc(c.Authorizations, func(own string) bool { return covers(own, need.Name) })
	case "user":
		return c.Root
	case "device":
		return c.Root || slices.Contains(c.Privileges, "file_dac_read") || slices.ContainsFunc(c.Devices, func(own string) bool { return covers(own, need.Name) })
	}
	return true
}

// covers: `solaris.smf.*` covers all that begins so.
func covers(own, name string) bool {
	before, any := strings.CutSuffix(own, "*")
	return own == name || any && strings.HasPrefix(name, before)
}

func (c *Command) refuse(words, what, usage string) *Answer {
	letter := strings.TrimPrefix(what, "-")
	if len(letter) > 1 {
		letter = letter[:1]
	}
	text := strings.NewReplacer("%c", letter, "%s", what, "%n", c.Name, "%u", strings.TrimSuffix(usage, "\n")).Replace(words)
	return &Answer{Exit: c.usageExit, Stderr: text}
}

// refuse is the same of a form, which may have words of its own.
func (f *Form) refuse(c *Command, words, what string) *Answer {
	if f.Subcommand != "" {
		words = strings.ReplaceAll(words, "%n", f.Subcommand)
	}
	answer := c.refuse(words, what, f.Usage)
	answer.Exit = f.usageExit
	return answer
}

// globals takes the options before a subcommand.
func (c *Command) globals(call *Call, rest []string) ([]string, *Answer) {
	for len(rest) > 0 && strings.HasPrefix(rest[0], "-") && rest[0] != "-" {
		used, bad := take(call, rest, c.options, c.long, c.parser)
		if bad != "" {
			return nil, c.refuse(c.words.badOption, bad, "")
		}
		rest = rest[used:]
	}
	return rest, nil
}

// take reads the options that the first word holds, with the value of the last; bad is the one that there is not, or that
// lacks its value.
func take(call *Call, rest []string, options, long []option, parser string) (used int, bad string) {
	word := rest[0]
	// Without options in words a second dash is a letter like any other.
	if name, isLong := strings.CutPrefix(word, "--"); isLong && parser != "getopt" && len(long) > 0 {
		name, value, given := strings.Cut(name, "=")
		for _, one := range long {
			if one.name != name {
				continue
			}
			switch {
			case !one.value:
				value = ""
			case !given && len(rest) < 2:
				return 0, word
			case !given:
				call.Options[name] = append(call.Options[name], rest[1])
				return 2, ""
			}
			call.Options[name] = append(call.Options[name], value)
			return 1, ""
		}
		return 0, word
	}
	// A word of one dash, as `prtconf -pv` or find's -name: taken whole when the table has it so.
	for _, one := range long {
		if parser == "own" && "-"+one.name == word {
			call.Options[one.name] = append(call.Options[one.name], "")
			return 1, ""
		}
	}
	letters := []rune(word[1:])
	for at, letter := range letters {
		found := slices.IndexFunc(options, func(one option) bool { return one.name == string(letter) })
		if found < 0 {
			return 0, "-" + string(letter)
		}
		name := string(letter)
		if !options[found].value {
			call.Options[name] = append(call.Options[name], "")
			continue
		}
		if value := string(letters[at+1:]); value != "" {
			call.Options[name] = append(call.Options[name], value)
			return 1, ""
		}
		if len(rest) < 2 {
			return 0, "-" + name
		}
		call.Options[name] = append(call.Options[name], rest[1])
		return 2, ""
	}
	return 1, ""
}

func (c *Command) parse(call *Call, rest []string) *Answer {
	form := call.Form
	for len(rest) > 0 {
		word := rest[0]
		switch {
		case c.parser == "own" && form.options == nil && form.long == nil:
			call.Operands = append(call.Operands, rest...)
			rest = nil
		case word == "--":
			call.Operands = append(call.Operands, rest[1:]...)
			rest = nil
		case word == "-" || !strings.HasPrefix(word, "-"):
			call.Operands = append(call.Operands, word)
			rest = rest[1:]
			if c.parser == "getopt" || c.parser == "getopt-long" {
				call.Operands = append(call.Operands, rest...)
				rest = nil
			}
		default:
			used, bad := take(call, rest, form.options, form.long, c.parser)
			if bad != "" {
				return form.refuse(c, form.words.badOption, bad)
			}
			rest = rest[used:]
		}
	}
	if len(call.Operands) < form.least || form.most >= 0 && len(call.Operands) > form.most {
		return form.refuse(c, form.words.badOperands, "")
	}
	for at, operand := range call.Operands {
		for _, pattern := range []int{0, at + 1} {
			if must := form.operands[pattern]; must != nil && !must.matches(operand) {
				return form.refuse(c, form.words.badOperands, operand)
			}
		}
	}
	return nil
}

// values looks at what stands behind options such as `-o name,used` and `-o compression=lz4`.
func (c *Command) values(call *Call) *Answer {
	form := call.Form
	for name, allowed := range form.values {
		for _, given := range call.Options[name] {
			for word := range strings.FieldsFuncSeq(given, func(r rune) bool { return r == ',' || r == ' ' }) {
				word, _, _ = strings.Cut(word, "=") // ps: the heading follows
				// A property of a user has a colon, and is a column as well.
				if !slices.Contains(allowed, word) && !strings.Contains(word, ":") {
					return form.refuse(c, form.words.badValue, word)
				}
			}
		}
	}
	for where, allowed := range form.settings {
		given := call.Options[where]
		if where == "operands" {
			given = slices.DeleteFunc(slices.Clone(call.Operands), func(one string) bool { return !strings.Contains(one, "=") })
		}
		for _, one := range given {
			name, value, is := strings.Cut(one, "=")
			if pattern := allowed[name]; is && strings.Contains(name, ":") || pattern != nil && pattern.matches(value) {
				continue
			}
			return form.refuse(c, form.words.badSetting, one)
		}
	}
	return nil
}
