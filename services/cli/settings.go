package cli

// The settings document: `cistern settings export|diff|plan|apply|history|show|restore`, made to live in git and to run from
// programs, which see by the exit code whether something changes.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"text/tabwriter"
)

// Exit is an error of which nothing is to be printed but the exit code counts.
type Exit int

func (e Exit) Error() string { return fmt.Sprintf("exit code %d", int(e)) }

// Changed is the exit code of a plan that would change something, and of an apply or a restore that did.
const Changed Exit = 3

const settingsHelp = `cistern settings COMMAND
  export [--seal] [--part NAME …] [--output FILE]   the settings as a document; --seal asks for a passphrase, and has the secrets in it
  plan FILE                                         what applying the document would change, in words
  diff FILE                                         the same as lines with - and +
  apply FILE [--yes]                                apply it: all of it, or nothing
  history [--part NAME] [--limit N] [--before ID]   who changed which part, newest first
  show ID [--with ID|now]                           what a change of the history changed, or what differs from another point
  restore ID [--yes]                                bring a part back to what it was before that change
  parts                                             the parts that there are

FILE is a document, or - for standard input. Of plan, diff and apply:
  --part NAME              this part alone; may be repeated
  --passphrase-file FILE   the passphrase of sealed secrets is its first line; without it the terminal asks
  --without-secrets        sealed secrets are taken as left out: those that the appliance has stay, and the others are named
--yes applies without a question, which is needed where nobody can be asked. --output json, or --json, prints the appliance's answer.

Exit codes: 0 nothing would change, or nothing did; 3 something would, or did; 1 it is refused or failed, and then nothing was
changed; 2 the arguments make no sense.
`

// change, and what follows, is as much of the API's answers as is shown.
type settingsChange struct {
	Kind, Path    string
	Before, After json.RawMessage
}

type settingsPlan struct {
	Fingerprint string
	Parts       []struct {
		Part, Title string
		Changes     []settingsChange
		Warnings    []string
	}
	Refused, LeftOut []struct{ Path, Message string }
	MissingSecrets   []string
}

type settingsEntry struct {
	ID, Time, User, Way, Cause, Part, Title string
	Added, Changed, Removed                 int
}

// settingsOptions are the arguments behind the command's name.
type settingsOptions struct {
	parts                             []string
	passphraseFile, limit, before, to string
	seal, yes, withoutSecrets         bool
	rest                              []string
}

func settingsArguments(arguments []string) (settingsOptions, error) {
	var o settingsOptions
	switches := map[string]*bool{"--seal": &o.seal, "--yes": &o.yes, "--without-secrets": &o.withoutSecrets}
	texts := map[string]*string{"--passphrase-file": &o.passphraseFile, "--limit": &o.limit, "--before": &o.before, "--with": &o.to}
	for i := 0; i < len(arguments); i++ {
		name, value, hasValue := strings.Cut(arguments[i], "=")
		if set, ok := switches[arguments[i]]; ok {
			*set = true
			continue
		}
		text, ok := texts[name]
		if !ok && name != "--part" {
			if strings.HasPrefix(name, "-") && name != "-" {
				return o, usage("there is no option %s; see cistern settings --help", name)
			}
			o.rest = append(o.rest, arguments[i])
			continue
		}
		if !hasValue {
			if i++; i >= len(arguments) {
				return o, usage("%s needs a value", name)
			}
			value = arguments[i]
		}
		if ok {
			*text = value
		} else {
			o.parts = append(o.parts, value)
		}
	}
	return o, nil
}

// settingsRun is a settings command on its way.
type settingsRun struct {
	s Streams
	c *client
	settingsOptions
	own own
}

// settings carries out `cistern settings …`.
func settings(ctx context.Context, s Streams, o Options, f own) error {
	if len(f.rest) < 2 || f.help || f.rest[1] == "help" {
		fmt.Fprint(s.Out, settingsHelp)
		return nil
	}
	options, err := settingsArguments(f.rest[2:])
	if err != nil {
		return err
	}
	r := settingsRun{s, o.client(), options, f}
	one := map[string]func(context.Context, string) error{
		"plan": r.plan, "diff": r.plan, "apply": r.apply, "show": r.show, "restore": r.restore,
	}
	none := map[string]func(context.Context) error{"export": r.export, "history": r.history, "parts": r.listParts}
	if run, ok := none[f.rest[1]]; ok {
		if len(r.rest) > 0 {
			return usage("settings %s takes no “%s”", f.rest[1], r.rest[0])
		}
		return run(ctx)
	}
	run, ok := one[f.rest[1]]
	if !ok {
		return usage("there is no command “settings %s”; see cistern settings --help", f.rest[1])
	}
	if len(r.rest) != 1 {
		return usage("settings %s takes one argument; see cistern settings --help", f.rest[1])
	}
	return run(ctx, r.rest[0])
}

// ask sends a request; the password is asked for where the appliance wants it again.
func (r *settingsRun) ask(ctx context.Context, method, path string, query url.Values, body, answer any) error {
	response, err := r.c.confirmed(ctx, r.s, method, path, query, nil, body)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if err := json.NewDecoder(io.LimitReader(response.Body, 256<<20)).Decode(answer); err != nil {
		return fmt.Errorf("the answer cannot be read: %w", err)
	}
	return nil
}

func printAnswer(out io.Writer, answer json.RawMessage) error {
	var value any
	if err := json.Unmarshal(answer, &value); err != nil {
		return err
	}
	encoder := json.NewEncoder(out)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	return encoder.Encode(value)
}

// passphrase is that of the file, or what the terminal is asked for.
func (r *settingsRun) passphrase(again bool) (string, error) {
	if r.passphraseFile != "" {
		f, err := os.Open(r.passphraseFile)
		if err != nil {
			return "", err
		}
		defer f.Close()
		return line(f)
	}
	if !r.s.asks() {
		return "", usage("nobody can be asked for the passphrase: give --passphrase-file FILE")
	}
	first, err := r.s.secret("Passphrase of the secrets")
	if err != nil || !again {
		return first, err
	}
	if second, err := r.s.secret("Again"); err != nil || second != first {
		return "", errors.Join(usage("the two are not the same"), err)
	}
	return first, nil
}

func (r *settingsRun) export(ctx context.Context) error {
	var document json.RawMessage
	query, body, method, path := url.Values{"parts": r.parts}, any(nil), http.MethodGet, "/api/settings-document"
	if r.seal {
		passphrase, err := r.passphrase(true)
		if err != nil {
			return err
		}
		given := map[string]any{"passphrase": passphrase}
		if len(r.parts) > 0 {
			given["parts"] = r.parts
		}
		query, body, method, path = nil, given, http.MethodPost, path+"/export"
	}
	if err := r.ask(ctx, method, path, query, body, &document); err != nil {
		return err
	}
	if r.own.output == "" || r.own.output == "-" {
		return printAnswer(r.s.Out, document)
	}
	// One that is kept in git is written again and again.
	next := r.own.output + ".new"
	f, err := os.OpenFile(next, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	if err := errors.Join(printAnswer(f, document), f.Close()); err != nil {
		return err
	}
	return os.Rename(next, r.own.output)
}

// given is the body of a plan: the document, and what is needed to read it.
func (r *settingsRun) given(name string) (map[string]any, error) {
	var content []byte
	var err error
	if name == "-" {
		content, err = io.ReadAll(r.s.In)
	} else {
		content, err = os.ReadFile(name)
	}
	if err != nil {
		return nil, err
	}
	var document struct {
		Sealed *string `json:"sealed"`
	}
	if err := json.Unmarshal(content, &document); err != nil {
		return nil, fmt.Errorf("%s is no JSON document: %w", name, err)
	}
	given := map[string]any{"document": json.RawMessage(content)}
	if len(r.parts) > 0 {
		given["parts"] = r.parts
	}
	switch {
	case r.withoutSecrets:
		given["withoutSecrets"] = true
	case document.Sealed != nil:
		if given["passphrase"], err = r.passphrase(false); err != nil {
			return nil, err
		}
	}
	return given, nil
}

func (r *settingsRun) plan(ctx context.Context, name string) error {
	given, err := r.given(name)
	if err != nil {
		return err
	}
	var answer json.RawMessage
	if err := r.ask(ctx, http.MethodPost, "/api/settings-document/preview", nil, given, &answer); err != nil {
		return err
	}
	plan, err := r.shown(answer)
	if err != nil {
		return err
	}
	return plan.exit()
}

// shown prints a plan, and returns what of it counts.
func (r *settingsRun) shown(answer json.RawMessage) (settingsPlan, error) {
	var plan settingsPlan
	if err := json.Unmarshal(answer, &plan); err != nil {
		return plan, fmt.Errorf("the answer cannot be read: %w", err)
	}
	switch {
	case r.own.json:
		return plan, printAnswer(r.s.Out, answer)
	case r.own.rest[1] == "diff":
		plan.diff(r.s.Out)
	default:
		plan.words(r.s.Out)
	}
	return plan, nil
}

// exit is how a plan ends that is only looked at.
func (p settingsPlan) exit() error {
	switch {
	case len(p.Refused) > 0:
		return errors.New("the document cannot be applied as it is")
	case len(p.Parts) > 0:
		return Changed
	}
	return nil
}

func (p settingsPlan) diff(out io.Writer) {
	for _, part := range p.Parts {
		fmt.Fprintf(out, "@@ %s @@\n", part.Part)
		for _, c := range part.Changes {
			if c.Before != nil {
				fmt.Fprintf(out, "-%s: %s\n", c.Path, c.Before)
			}
			if c.After != nil {
				fmt.Fprintf(out, "+%s: %s\n", c.Path, c.After)
			}
		}
	}
	for _, one := range p.Refused {
		fmt.Fprintf(out, "! %s %s\n", one.Path, one.Message)
	}
}

func (p settingsPlan) words(out io.Writer) {
	for _, part := range p.Parts {
		fmt.Fprintln(out, part.Title)
		printChanges(out, part.Changes)
		for _, warning := range part.Warnings {
			fmt.Fprintf(out, "  Note: %s\n", warning)
		}
	}
	for _, one := range p.Refused {
		fmt.Fprintf(out, "Refused: %s %s\n", one.Path, one.Message)
	}
	for _, one := range p.LeftOut {
		fmt.Fprintf(out, "Left out: %s %s\n", one.Path, one.Message)
	}
	for _, path := range p.MissingSecrets {
		fmt.Fprintf(out, "To be entered afterwards: %s\n", path)
	}
	if len(p.Parts) == 0 && len(p.Refused) == 0 {
		fmt.Fprintln(out, "Nothing changes.")
	}
}

// mostShown is how much of a value a line has.
const mostShown = 200

func printChanges(out io.Writer, changes []settingsChange) {
	brief := func(value json.RawMessage) string {
		if runes := []rune(string(value)); len(runes) > mostShown {
			return string(runes[:mostShown]) + "…"
		}
		return string(value)
	}
	for _, c := range changes {
		switch c.Kind {
		case "added":
			fmt.Fprintf(out, "  added    %s: %s\n", c.Path, brief(c.After))
		case "removed":
			fmt.Fprintf(out, "  removed  %s: %s\n", c.Path, brief(c.Before))
		default:
			fmt.Fprintf(out, "  changed  %s: %s → %s\n", c.Path, brief(c.Before), brief(c.After))
		}
	}
}

// agreed says whether a plan is to be carried out.
func (r *settingsRun) agreed(plan settingsPlan) (bool, error) {
	if r.yes {
		return true, nil
	}
	if !r.s.asks() {
		return false, usage("nobody can be asked whether that is wanted: give --yes")
	}
	fmt.Fprint(r.s.Err, "Apply this? [y/N] ")
	answer, err := line(r.s.In)
	return strings.EqualFold(strings.TrimSpace(answer), "y"), err
}

// carryOut shows a plan, asks, and has the appliance do exactly that.
func (r *settingsRun) carryOut(ctx context.Context, answer json.RawMessage, path string, body map[string]any) error {
	quiet := *r
	if r.own.json {
		quiet.s.Out = io.Discard
	}
	plan, err := quiet.shown(answer)
	if err != nil {
		return err
	}
	if exit := plan.exit(); !errors.Is(exit, Changed) {
		if r.own.json && exit == nil {
			return printAnswer(r.s.Out, json.RawMessage(fmt.Sprintf(`{"plan": %s, "history": []}`, answer)))
		}
		return exit
	}
	if yes, err := r.agreed(plan); err != nil || !yes {
		return errors.Join(err, errors.New("nothing was applied"))
	}
	body["fingerprint"] = plan.Fingerprint
	var applied json.RawMessage
	if err := r.ask(ctx, http.MethodPost, path, nil, body, &applied); err != nil {
		return err
	}
	if r.own.json {
		err = printAnswer(r.s.Out, applied)
	} else {
		fmt.Fprintln(r.s.Err, "Applied.")
	}
	return errors.Join(err, Changed)
}

func (r *settingsRun) apply(ctx context.Context, name string) error {
	given, err := r.given(name)
	if err != nil {
		return err
	}
	var answer json.RawMessage
	if err := r.ask(ctx, http.MethodPost, "/api/settings-document/preview", nil, given, &answer); err != nil {
		return err
	}
	return r.carryOut(ctx, answer, "/api/settings-document/apply", given)
}

func (r *settingsRun) restore(ctx context.Context, id string) error {
	path := "/api/settings-changes/" + url.PathEscape(id)
	var answer json.RawMessage
	if err := r.ask(ctx, http.MethodGet, path+"/restore-preview", nil, nil, &answer); err != nil {
		return err
	}
	return r.carryOut(ctx, answer, path+"/restore", map[string]any{})
}

func (r *settingsRun) history(ctx context.Context) error {
	query := url.Values{}
	for name, value := range map[string]string{"limit": r.limit, "before": r.before, "part": strings.Join(r.parts, "")} {
		if value != "" {
			query.Set(name, value)
		}
	}
	if len(r.parts) > 1 {
		return usage("settings history takes one --part")
	}
	var answer json.RawMessage
	if err := r.ask(ctx, http.MethodGet, "/api/settings-changes", query, nil, &answer); err != nil {
		return err
	}
	if r.own.json {
		return printAnswer(r.s.Out, answer)
	}
	var entries struct{ Items []settingsEntry }
	if err := json.Unmarshal(answer, &entries); err != nil {
		return fmt.Errorf("the answer cannot be read: %w", err)
	}
	w := tabwriter.NewWriter(r.s.Out, 0, 1, 2, ' ', 0)
	fmt.Fprintln(w, "ID\tTIME\tUSER\tWAY\tCAUSE\tPART\tADDED\tCHANGED\tREMOVED")
	for _, e := range entries.Items {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%d\t%d\t%d\n", e.ID, e.Time, e.User, e.Way, e.Cause, e.Part, e.Added, e.Changed, e.Removed)
	}
	return w.Flush()
}

func (r *settingsRun) show(ctx context.Context, id string) error {
	query := url.Values{}
	if r.to != "" {
		query.Set("with", r.to)
	}
	var answer json.RawMessage
	if err := r.ask(ctx, http.MethodGet, "/api/settings-changes/"+url.PathEscape(id), query, nil, &answer); err != nil {
		return err
	}
	if r.own.json {
		return printAnswer(r.s.Out, answer)
	}
	var compared struct {
		Entry   settingsEntry
		Changes []settingsChange
	}
	if err := json.Unmarshal(answer, &compared); err != nil {
		return fmt.Errorf("the answer cannot be read: %w", err)
	}
	e := compared.Entry
	fmt.Fprintf(r.s.Out, "%s: %s, by %s (%s) at %s\n", e.ID, e.Title, e.User, e.Way, e.Time)
	printChanges(r.s.Out, compared.Changes)
	return nil
}

func (r *settingsRun) listParts(ctx context.Context) error {
	var answer json.RawMessage
	if err := r.ask(ctx, http.MethodGet, "/api/settings-parts", nil, nil, &answer); err != nil {
		return err
	}
	if r.own.json {
		return printAnswer(r.s.Out, answer)
	}
	var parts struct {
		Items []struct{ Name, Title string }
	}
	if err := json.Unmarshal(answer, &parts); err != nil {
		return fmt.Errorf("the answer cannot be read: %w", err)
	}
	w := tabwriter.NewWriter(r.s.Out, 0, 1, 2, ' ', 0)
	for _, one := range parts.Items {
		fmt.Fprintf(w, "%s\t%s\n", one.Name, one.Title)
	}
	return w.Flush()
}
