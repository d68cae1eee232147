package cli

import (
	"bufio"
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
	"time"

	"golang.org/x/term"
)

// own are the arguments of the command line itself, which may stand anywhere.
type own struct {
	json, noWait, help bool
	output             string
	rest               []string
}

// asJSON is what --output takes instead of a file's name; a file of that name is ./json.
const asJSON = "json"

// take separates them from the rest, and puts those about the connection into o.
func take(arguments []string, o *Options) (own, error) {
	var f own
	texts := map[string]*string{"--url": &o.URL, "--token": &o.Token, "--fingerprint": &o.Fingerprint, "--appliance": &o.Appliance, "--output": &f.output}
	switches := map[string]*bool{"--json": &f.json, "--no-wait": &f.noWait, "--help": &f.help, "-h": &f.help}
	for i := 0; i < len(arguments); i++ {
		name, value, hasValue := strings.Cut(arguments[i], "=")
		if set, ok := switches[arguments[i]]; ok {
			*set = true
			continue
		}
		text, ok := texts[name]
		if !ok {
			f.rest = append(f.rest, arguments[i])
			continue
		}
		if !hasValue {
			if i++; i >= len(arguments) {
				return f, usage("%s needs a value", name)
			}
			value = arguments[i]
		}
		*text = value
	}
	if f.output == asJSON {
		f.json, f.output = true, ""
	}
	return f, nil
}

// Run carries out a command: sign-in, sign-out, or whatever the appliance offers.
func Run(ctx context.Context, s Streams, o Options, arguments []string) error {
	if len(arguments) > 0 && arguments[0] == completeWord {
		o.complete(ctx, s.Out, arguments[1:]) // words that are not finished are no arguments
		return nil
	}
	f, err := take(arguments, &o)
	if err != nil {
		return err
	}
	if err := o.named(f.rest); err != nil {
		return err
	}
	if len(f.rest) > 0 {
		switch f.rest[0] {
		case "appliances":
			return o.listAppliances(s.Out, f.json)
		case "completion":
			return completion(s.Out, f.rest[1:])
		case "sign-in":
			return signIn(ctx, s, o, f.rest[1:])
		case "sign-out":
			return signOut(ctx, s, o)
		case "settings":
			return settings(ctx, s, o, f)
		case "certificate":
			return certificate(ctx, s, o, f)
		}
	}
	f.rest = inFull(f.rest)
	c := o.client()
	var d description
	if err := c.get(ctx, "/api/openapi.json", &d); err != nil {
		return err
	}
	all := d.commands()
	if f.help && len(f.rest) == 0 {
		Help(s.Out, all, "")
		return nil
	}
	found, rest, ok := find(all, f.rest)
	if !ok || f.help && len(rest) == 0 && len(f.rest) < len(found.words) {
		if area := f.rest[0]; f.help && Help(s.Out, all, area) {
			return nil
		}
		return unknown(all, f.rest)
	}
	if f.help {
		d.helpOf(s.Out, found)
		return nil
	}
	p, err := d.parse(found, rest, s.secret)
	if err != nil {
		return err
	}
	return d.call(ctx, s, c, found, p, f)
}

func unknown(all []command, words []string) error {
	area := words[0]
	var there []string
	for _, c := range all {
		if c.words[0] == area {
			there = append(there, "cistern "+c.name())
		}
	}
	if len(there) > 0 {
		return usage("there is no command “%s”. There are:\n  %s", strings.Join(words, " "), strings.Join(there, "\n  "))
	}
	seen := map[string]bool{}
	for _, c := range all {
		if !seen[c.words[0]] {
			seen[c.words[0]] = true
			there = append(there, c.words[0])
		}
	}
	return usage("the appliance has no “%s”. It has %s", area, strings.Join(there, ", "))
}

// call sends the request, and shows the answer.
func (d *description) call(ctx context.Context, s Streams, c *client, found command, p parsed, f own) error {
	path := found.path
	for i, name := range found.arguments {
		path = strings.Replace(path, "{"+name+"}", url.PathEscape(p.positional[i]), 1)
	}
	var body any
	if len(found.operation.RequestBody.Content) > 0 {
		body = p.body
	}
	response, err := c.confirmed(ctx, s, found.method, path, p.query, p.header, body)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode == http.StatusNoContent {
		if !f.json {
			fmt.Fprintln(s.Out, "Done.")
		}
		return nil
	}
	if kind, _, _ := strings.Cut(response.Header.Get("Content-Type"), ";"); kind != "application/json" {
		if f.json && f.output == "" {
			return usage("the answer is a file’s content, which is not shown as JSON: name a file with --output FILE")
		}
		return save(s, f.output, response.Body)
	}
	var value any
	if err := json.NewDecoder(io.LimitReader(response.Body, 256<<20)).Decode(&value); err != nil {
		return fmt.Errorf("the answer cannot be read: %w", err)
	}
	if response.StatusCode == http.StatusAccepted && !f.noWait {
		if job, ok := value.(map[string]any); ok && job["log"] != nil && job["id"] != nil {
			if value, err = c.follow(ctx, s, job, f.json); err != nil {
				return err
			}
			if !f.json {
				return nil
			}
		}
	}
	if f.json {
		encoder := json.NewEncoder(s.Out)
		encoder.SetIndent("", "  ")
		encoder.SetEscapeHTML(false)
		return encoder.Encode(value)
	}
	d.print(s.Out, d.answer(found.operation), value)
	return nil
}

// follow shows a job's steps until it ends. One that failed is an error.
func (c *client) follow(ctx context.Context, s Streams, job map[string]any, quiet bool) (any, error) {
	id, _ := job["id"].(string)
	shown := 0
	for {
		lines, _ := job["log"].([]any)
		for ; shown < len(lines); shown++ {
			if line, ok := lines[shown].(map[string]any); ok && !quiet {
				percent := ""
				if value, ok := job["percent"].(float64); ok && shown == len(lines)-1 {
					percent = fmt.Sprintf(" (%.0f %%)", value)
				}
				fmt.Fprintf(s.Err, "%v%s\n", line["text"], percent)
			}
		}
		switch job["state"] {
		case "running":
		case "done":
			return job, nil
		default:
			if cause, ok := job["error"].(map[string]any); ok {
				text, _ := json.Marshal(cause)
				problem := &Problem{}
				if json.Unmarshal(text, problem) == nil && problem.Detail != "" {
					return nil, problem
				}
			}
			return nil, fmt.Errorf("“%v” was %v", job["title"], job["state"])
		}
		select {
		case <-ctx.Done():
			fmt.Fprintf(s.Err, "“%v” goes on without being watched; “cistern jobs show %s” says how it is.\n", job["title"], id)
			return nil, ctx.Err()
		case <-time.After(500 * time.Millisecond):
		}
		next := map[string]any{}
		if err := c.get(ctx, "/api/jobs/"+url.PathEscape(id), &next); err != nil {
			return nil, err
		}
		job = next
	}
}

// save writes a download to a file, or to standard output when that is no terminal.
func save(s Streams, name string, from io.Reader) error {
	if name == "" || name == "-" {
		if f, ok := s.Out.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
			return usage("this is a file's content; name a file with --output FILE")
		}
		_, err := io.Copy(s.Out, from)
		return err
	}
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	n, err := io.Copy(f, from)
	if err = errors.Join(err, f.Close()); err != nil {
		_ = os.Remove(name) // half a file is worse than none
		return err
	}
	fmt.Fprintf(s.Err, "%d bytes are in %s.\n", n, name)
	return nil
}

// secret reads what must not be seen: from the terminal unseen, or a line of the input.
func (s Streams) secret(what string) (string, error) {
	if f, ok := s.In.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		fmt.Fprintf(s.Err, "%s: ", what)
		text, err := term.ReadPassword(int(f.Fd()))
		fmt.Fprintln(s.Err)
		return string(text), err
	}
	return line(s.In)
}

// line reads a line, a byte at a time: what follows is the next one's.
func line(in io.Reader) (string, error) {
	var b strings.Builder
	one := make([]byte, 1)
	for {
		n, err := in.Read(one)
		if n == 1 && one[0] == '\n' {
			return strings.TrimSuffix(b.String(), "\r"), nil
		}
		if n == 1 {
			b.WriteByte(one[0])
		}
		if err != nil {
			if b.Len() > 0 && errors.Is(err, io.EOF) {
				return b.String(), nil
			}
			return "", err
		}
	}
}

// signIn keeps a session; the password is read from the terminal or from standard input, never from the arguments.
func signIn(ctx context.Context, s Streams, o Options, arguments []string) error {
	user, code, directory, byBrowser := "", "", "", false
	texts := map[string]*string{"--user": &user, "--code": &code, "--directory": &directory}
	for i := 0; i < len(arguments); i++ {
		if arguments[i] == "--browser" {
			byBrowser = true
			continue
		}
		text, ok := texts[arguments[i]]
		if !ok || i+1 >= len(arguments) {
			return usage("sign-in takes --browser, --user NAME, --code CODE, --directory NAME, --url https://HOST and --fingerprint SHA-256, not “%s”", arguments[i])
		}
		i++
		*text = arguments[i]
	}
	if byBrowser {
		if user != "" || code != "" || directory != "" {
			return usage("with --browser, name, password and code are given in the browser")
		}
		return signInByBrowser(ctx, s, o)
	}
	if user == "" {
		fmt.Fprint(s.Err, "Name: ")
		var err error
		if user, err = line(s.In); err != nil {
			return usage("nobody was named: %v", err)
		}
	}
	password, err := s.secret("Password")
	if err != nil {
		return usage("no password was given: %v", err)
	}
	c := o.client()
	c.session.Cookie, c.token = "", ""
	ask := func() (string, error) { return s.secret("Code of the authenticator app, or a recovery code") }
	if !s.asks() || code != "" {
		ask = nil
	}
	credentials := map[string]string{"user": user, "password": password}
	if directory != "" {
		if credentials["provider"], err = c.directory(ctx, directory); err != nil {
			return err
		}
	}
	response, err := c.begin(ctx, s, credentials, code, ask)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	c.takeCookie(response)
	var answer struct {
		MustChangePassword bool `json:"mustChangePassword"`
		MustAddFactor      bool `json:"mustAddFactor"`
	}
	if err := json.NewDecoder(io.LimitReader(response.Body, 1<<20)).Decode(&answer); err != nil {
		return fmt.Errorf("the answer cannot be read: %w", err)
	}
	if answer.MustChangePassword {
		if err := c.changePassword(ctx, s, password); err != nil {
			return err
		}
	}
	if err := o.save(c.session); err != nil {
		return err
	}
	if answer.MustAddFactor {
		fmt.Fprintln(s.Err, "Administrators need a second factor. Add one on the appliance's page first: nothing else is allowed until then.")
	}
	fmt.Fprintf(s.Err, "Signed in as %s. “cistern sign-out” ends it.\n", user)
	return nil
}

// mostCodes is how often a code is asked for: a wrong one is a typing error, and each counts.
const mostCodes = 3

// begin asks for a session, with the code of a second factor where the appliance wants one. ask is nil where nobody can be asked.
func (c *client) begin(ctx context.Context, s Streams, credentials map[string]string, code string, ask func() (string, error)) (*http.Response, error) {
	if code != "" {
		credentials["code"] = code
	}
	for asked := 0; ; asked++ {
		response, err := c.do(ctx, http.MethodPost, "/api/session", nil, nil, credentials)
		var problem *Problem
		if !errors.As(err, &problem) || ask == nil || asked >= mostCodes || problem.Code != "second_factor_required" && problem.Code != "wrong_code" {
			return response, err
		}
		if problem.Code == "wrong_code" {
			fmt.Fprintln(s.Err, problem.Detail, problem.Action)
		}
		if credentials["code"], err = ask(); err != nil {
			return nil, usage("no code was given: %v", err)
		}
	}
}

// takeCookie keeps the session that an answer begins.
func (c *client) takeCookie(response *http.Response) {
	for _, cookie := range response.Cookies() {
		if strings.TrimPrefix(cookie.Name, "__Host-") == sessionCookie {
			c.session.Cookie = cookie.Name + "=" + cookie.Value
		}
	}
}

// changePassword replaces a one-time password, as the appliance demands at the first sign-in.
func (c *client) changePassword(ctx context.Context, s Streams, before string) error {
	fmt.Fprintln(s.Err, "You signed in with a one-time password. Choose one of your own, of ten characters at least.")
	after, err := s.secret("New password")
	if err != nil {
		return usage("no new password was given: %v", err)
	}
	again, err := s.secret("New password again")
	if err != nil || again != after {
		return usage("the two are not the same; sign in again")
	}
	response, err := c.do(ctx, http.MethodPost, "/api/session/change-password", nil, nil, map[string]string{"currentPassword": before, "newPassword": after})
	if err != nil {
		return err
	}
	response.Body.Close()
	c.takeCookie(response)
	return nil
}

// confirmed sends a request, and when the appliance wants the password again for it asks for that and repeats it.
func (c *client) confirmed(ctx context.Context, s Streams, method, path string, query url.Values, header http.Header, body any) (*http.Response, error) {
	response, err := c.do(ctx, method, path, query, header, body)
	var problem *Problem
	if !errors.As(err, &problem) || problem.Code != "confirmation_required" || !s.asks() {
		return response, err
	}
	fmt.Fprintln(s.Err, problem.Detail)
	password, askErr := s.secret("Password")
	if askErr != nil {
		return nil, err
	}
	answer, err := c.do(ctx, http.MethodPost, "/api/session/confirm", nil, nil, map[string]string{"password": password})
	if err != nil {
		return nil, err
	}
	answer.Body.Close()
	return c.do(ctx, method, path, query, header, body)
}

// asks says whether somebody sits at the terminal who can be asked.
func (s Streams) asks() bool {
	f, ok := s.In.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

func signOut(ctx context.Context, s Streams, o Options) error {
	c := o.client()
	if c.session.Cookie != "" {
		response, err := c.do(ctx, http.MethodDelete, "/api/session", nil, nil, nil)
		if err != nil {
			return err
		}
		response.Body.Close()
	}
	if err := os.Remove(o.sessionFile()); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	fmt.Fprintln(s.Err, "Signed out.")
	return nil
}

// Help lists the commands of an area, or of all, and says whether there are any.
func Help(out io.Writer, all []command, area string) bool {
	bar := bufio.NewWriter(out)
	w := tabwriter.NewWriter(bar, 0, 1, 2, ' ', 0)
	any := false
	for _, c := range all {
		if area == "" || c.words[0] == area {
			any = true
			name := c.name()
			for _, argument := range c.arguments {
				name += " " + strings.ToUpper(argument)
			}
			fmt.Fprintf(w, "  cistern %s\t%s\n", name, c.operation.Summary)
		}
	}
	_ = w.Flush()
	_ = bar.Flush()
	return any
}

// helpOf explains one command: its arguments, their types, and who may.
func (d *description) helpOf(out io.Writer, c command) {
	name := "cistern " + c.name()
	for _, argument := range c.arguments {
		name += " " + strings.ToUpper(argument)
	}
	fmt.Fprintf(out, "%s\n  %s. %s\n", name, c.operation.Summary, c.operation.Description)
	w := tabwriter.NewWriter(out, 0, 1, 2, ' ', 0)
	for _, parameter := range c.operation.Parameters {
		switch parameter.In {
		case "query":
			d.helpField(w, "", parameter.Name, parameter.Schema, parameter.Required)
		case "header":
			fmt.Fprintf(w, "  --%s ETAG\t%s\n", strings.ToLower(parameter.Name), parameter.Description)
		}
	}
	body := d.resolve(c.operation.RequestBody.Content["application/json"].Schema)
	for _, field := range body.order {
		required := false
		for _, one := range body.Required {
			required = required || one == field
		}
		d.helpField(w, "", field, body.Properties[field], required)
	}
	_ = w.Flush()
	fmt.Fprintln(out, "  --json, or --output json, shows the whole answer; --no-wait does not wait for a job; --body FILE reads the fields as JSON.")
}

func (d *description) helpField(out io.Writer, prefix, name string, s schema, required bool) {
	s = d.resolve(s)
	if s.Type == "object" && len(s.order) > 0 && prefix == "" {
		for _, inner := range s.order {
			d.helpField(out, kebab(name)+".", inner, s.Properties[inner], false)
		}
		return
	}
	kind, again := s, ""
	if s.Type == "array" && s.Items != nil {
		kind, again = d.resolve(*s.Items), " (again for each)"
	}
	words := strings.ToUpper(kind.Type)
	if len(kind.Enum) > 0 {
		var values []string
		for _, one := range kind.Enum {
			values = append(values, fmt.Sprint(one))
		}
		words = strings.Join(values, "|")
	}
	about := s.Description
	if required {
		about = strings.TrimSpace("needed. " + about)
	}
	if isSecret(name) {
		about = strings.TrimSpace(about + " “-” asks for it")
	}
	fmt.Fprintf(out, "  --%s%s %s%s\t%s\n", prefix, kebab(name), words, again, about)
}
