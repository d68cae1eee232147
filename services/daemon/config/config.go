// Package config reads the daemons' configuration files, in TOML. Its errors name the file, the line and the key.
package config

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/BurntSushi/toml"
)

// Read takes the settings of a file over those of into, a pointer to a struct, and returns the keys that the file has. see
// is where an operator finds the settings.
func Read(path string, into any, see string) (set map[string]bool, err error) {
	text, err := readFile(path)
	if err != nil {
		return nil, err
	}
	set, err = Decode(text, into, see)
	if err != nil {
		return nil, fmt.Errorf("%s, %w", path, err)
	}
	return set, nil
}

func readFile(path string) (string, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("the configuration file %s does not exist", path)
	}
	if err != nil {
		return "", fmt.Errorf("reading the configuration: %w", err)
	}
	return string(text), nil
}

// Decode is Read of a text.
func Decode(text string, into any, see string) (map[string]bool, error) {
	meta, err := toml.Decode(text, into)
	if err != nil {
		return nil, explain(text, err)
	}
	for _, key := range meta.Undecoded() {
		return nil, fmt.Errorf("line %d: there is no setting %s; see %s", lineOf(text, key), key, see)
	}
	set := map[string]bool{}
	for _, key := range meta.Keys() {
		set[strings.ToLower(key.String())] = true
	}
	return set, nil
}

// Flags sets the flags of a program that were not given on its command line to what a file says. The file's keys are their
// names, with _ for -.
func Flags(path string, flags *flag.FlagSet, name string) error {
	text, err := readFile(path)
	if err != nil {
		return err
	}
	values := map[string]any{}
	meta, err := toml.Decode(text, &values)
	if err != nil {
		return fmt.Errorf("%s, %w", path, explain(text, err))
	}
	given := map[string]bool{"config": true, "version": true} // those that no file has
	flags.Visit(func(f *flag.Flag) { given[f.Name] = true })
	for _, key := range meta.Keys() {
		option := strings.ReplaceAll(key.String(), "_", "-")
		if len(key) != 1 || flags.Lookup(option) == nil || option == "config" || option == "version" {
			return fmt.Errorf("%s, line %d: there is no setting %s; see %s --help", path, lineOf(text, key), key, name)
		}
		if given[option] {
			continue
		}
		if err := flags.Set(option, fmt.Sprint(values[key.String()])); err != nil {
			return fmt.Errorf("%s, line %d: %s: %w", path, lineOf(text, key), key, err)
		}
	}
	return nil
}

// explain is a decoder's error with its line and key.
func explain(text string, err error) error {
	var at toml.ParseError
	if !errors.As(err, &at) {
		return errors.New(strings.TrimPrefix(err.Error(), "toml: "))
	}
	what := at.Message
	if what == "" { // a value that its type refused
		what = strings.TrimPrefix(errors.Unwrap(err).Error(), "toml: ")
	}
	if at.LastKey != "" {
		what = at.LastKey + ": " + what
	}
	line := at.Position.Line
	if line == 0 { // at the end
		line = 1 + strings.Count(strings.TrimRight(text, "\n"), "\n")
	}
	return fmt.Errorf("line %d: %s", line, what)
}

// lineOf is the line of a key in a text that was parsed: the decoder does not say.
func lineOf(text string, key toml.Key) int {
	table := ""
	want := key.String()
	for number, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "[") {
			header, _, _ := strings.Cut(strings.Trim(strings.TrimLeft(line, "["), " "), "]")
			if table = strings.TrimSpace(header); table == want {
				return number + 1
			}
			continue
		}
		name, _, ok := strings.Cut(line, "=")
		if !ok || strings.HasPrefix(line, "#") {
			continue
		}
		name = strings.TrimSpace(name)
		if table != "" {
			name = table + "." + name
		}
		// Of an inline table only the name is on the line.
		if name == want || strings.HasPrefix(want, name+".") {
			return number + 1
		}
	}
	return 0
}
