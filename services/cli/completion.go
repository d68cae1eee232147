package cli

// What a shell completes: the commands of the program itself and those of the appliance, as its description says. The description
// is kept for a day, since nobody waits for a network at each tab.

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// completeWord is the command that the scripts ask; the last argument is the word that is being typed.
const completeWord = "__complete"

const (
	completeFor  = 2 * time.Second
	descriptions = 24 * time.Hour
)

var scripts = map[string]string{
	"bash": `_cistern() {
  local IFS=$'\n'
  COMPREPLY=($(cistern __complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
}
complete -F _cistern cistern
`,
	"zsh": `#compdef cistern
_cistern() {
  local -a found
  found=("${(@f)$(cistern __complete "${(@)words[2,CURRENT]}" 2>/dev/null)}")
  compadd -- $found
}
compdef _cistern cistern
`,
	"powershell": `Register-ArgumentCompleter -Native -CommandName cistern -ScriptBlock {
  param($typed, $line, $at)
  $before = @($line.CommandElements | Select-Object -Skip 1 | Where-Object { $_.Extent.EndOffset -lt $at } | ForEach-Object { $_.ToString() })
  if (-not $typed) { $typed = '""' }
  cistern __complete @before $typed 2>$null | ForEach-Object { [System.Management.Automation.CompletionResult]::new($_) }
}
`,
	"fish": `complete -c cistern -f -a '(cistern __complete (commandline -opc)[2..-1] (commandline -ct) 2>/dev/null)'
`,
}

func completion(out io.Writer, arguments []string) error {
	if len(arguments) == 1 {
		if script, ok := scripts[arguments[0]]; ok {
			_, err := io.WriteString(out, script)
			return err
		}
	}
	return usage("completion takes bash, zsh, fish or powershell; for bash: cistern completion bash > ~/.local/share/bash-completion/completions/cistern")
}

// complete prints what the last word may become, a line each; nothing, where it is not known.
func (o Options) complete(ctx context.Context, out io.Writer, words []string) {
	if len(words) == 0 {
		words = []string{""}
	}
	before, typed := words[:len(words)-1], words[len(words)-1]
	if typed == `""` { // PowerShell cannot hand over an empty word, or does so like this
		typed = ""
	}
	for _, one := range o.candidates(ctx, before, typed) {
		if strings.HasPrefix(one, typed) {
			fmt.Fprintln(out, one)
		}
	}
}

// everywhere are the arguments of the command line itself.
var everywhere = []string{"--appliance", "--fingerprint", "--help", "--json", "--no-wait", "--output", "--token", "--url"}

func (o Options) candidates(ctx context.Context, before []string, typed string) []string {
	last := ""
	if len(before) > 0 {
		last = before[len(before)-1]
	}
	switch last {
	case "--appliance":
		var names []string
		entries, _ := os.ReadDir(o.appliances())
		for _, entry := range entries {
			names = append(names, entry.Name())
		}
		return names
	case "--output":
		return []string{asJSON}
	case "completion":
		return []string{"bash", "fish", "powershell", "zsh"}
	}
	f, err := take(before, &o)
	if err != nil {
		return nil
	}
	var all []command
	d := o.described(ctx)
	if d != nil {
		all = d.commands()
	}
	if found, _, ok := find(all, inFull(f.rest)); ok && d != nil {
		flags := d.flags(found)
		if s, ok := flags[last]; ok {
			return enumOf(d.resolve(s))
		}
		if strings.HasPrefix(typed, "-") {
			names := slices.Clone(everywhere)
			for name := range flags {
				names = append(names, name)
			}
			slices.Sort(names)
			return names
		}
	}
	if strings.HasPrefix(typed, "-") {
		if len(f.rest) > 0 && f.rest[0] == "sign-in" {
			return append([]string{"--browser", "--code", "--directory", "--user"}, everywhere...)
		}
		return everywhere
	}
	// The next word of each command that begins with those before.
	var next []string
	add := func(of []string) {
		if len(of) > len(f.rest) && slices.Equal(of[:len(f.rest)], f.rest) {
			next = append(next, of[len(f.rest)])
		}
	}
	for _, c := range all {
		add(c.words)
	}
	for _, words := range append(o.Own, "appliances", "completion", "help", "sign-in", "sign-out") {
		add(strings.Fields(words))
	}
	slices.Sort(next)
	return slices.Compact(next)
}

// flags are those of a command, with what each takes.
func (d *description) flags(c command) map[string]schema {
	flags := map[string]schema{}
	for _, parameter := range c.operation.Parameters {
		if parameter.In == "query" {
			flags["--"+kebab(parameter.Name)] = parameter.Schema
		}
	}
	body := d.resolve(c.operation.RequestBody.Content["application/json"].Schema)
	for name, s := range body.Properties {
		inner := d.resolve(s)
		if inner.Type != "object" || len(inner.order) == 0 {
			flags["--"+kebab(name)] = s
			continue
		}
		for below, one := range inner.Properties {
			flags["--"+kebab(name)+"."+kebab(below)] = one
		}
	}
	return flags
}

func enumOf(s schema) []string {
	var values []string
	for _, one := range s.Enum {
		values = append(values, fmt.Sprint(one))
	}
	if s.Type == "boolean" {
		values = []string{"false", "true"}
	}
	return values
}

// described is what the appliance says of itself, or said within a day; nil when it does not say it soon.
func (o Options) described(ctx context.Context) *description {
	c := o.client()
	file := filepath.Join(o.Cache, "api-"+url.QueryEscape(c.base)+".json")
	var d description
	if info, err := os.Stat(file); err == nil && time.Since(info.ModTime()) < descriptions {
		if content, err := os.ReadFile(file); err == nil && json.Unmarshal(content, &d) == nil {
			return &d
		}
	}
	ctx, stop := context.WithTimeout(ctx, completeFor)
	defer stop()
	var raw json.RawMessage
	if c.get(ctx, "/api/openapi.json", &raw) != nil || json.Unmarshal(raw, &d) != nil {
		return nil
	}
	// It is public, and of use only to be faster: what goes wrong here is nobody's business.
	if os.MkdirAll(filepath.Dir(file), 0o700) == nil && os.WriteFile(file+".new", raw, 0o600) == nil {
		_ = os.Rename(file+".new", file)
	}
	return &d
}
