package commands

import "strings"

// Use is what a call has in common with others of the same command: what a list of calls is compared by.
type Use struct {
	Form    *Form
	Options []string
}

// Use reads the words behind a command's name as they stand in a program: an empty one is not known there, and options may
// stand anywhere, for the words may be of several branches. unknown is an option that the table lacks, or the word in the
// subcommand's place that is none.
func (c *Command) Use(words []string) (use Use, unknown string) {
	call := &Call{Command: c, Options: map[string][]string{}}
	use.Form = c.Form("")
	options, long := c.options, c.long
	if use.Form != nil {
		options, long = use.Form.options, use.Form.long
	}
	for len(words) > 0 {
		word := words[0]
		switch {
		case word == "--":
			words = nil
			continue
		case use.Form == nil && !strings.HasPrefix(word, "-"):
			if use.Form = c.Form(word); use.Form == nil {
				return use, word
			}
			options, long = use.Form.options, use.Form.long
		case strings.HasPrefix(word, "-") && word != "-":
			used, bad := take(call, words, options, long, c.parser)
			if bad != "" {
				return use, bad
			}
			words = words[used-1:]
		}
		words = words[1:]
	}
	for name := range call.Options {
		use.Options = append(use.Options, name)
	}
	return use, ""
}
