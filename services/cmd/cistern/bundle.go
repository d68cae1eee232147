package main

// Support bundles, asked of supportd on its own socket: for root on the appliance (console, ssh), when neither akd nor the
// network is there. `cistern bundles` is the same through the management API.

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"time"
)

type bundleStep struct {
	Name, Category, State, Error string
}

type bundleState struct {
	ID, Name, File, State, Error, Note, Place, Device, Step string
	Bytes                                                   int64
	Percent                                                 int
	CreatedAt                                               time.Time
	Steps                                                   []bundleStep
}

// supportd is a client of its socket.
type supportd struct{ http.Client }

func newSupportd(socket string) *supportd {
	return &supportd{http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "unix", socket)
	}}}}
}

// ask sends body as JSON unless it is nil. The answer's body is the caller's to close; what was refused is an error.
func (c *supportd) ask(ctx context.Context, method, path string, body any) (io.ReadCloser, error) {
	var content io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		content = bytes.NewReader(text)
	}
	request, err := http.NewRequestWithContext(ctx, method, "http://supportd"+path, content)
	if err != nil {
		return nil, err
	}
	response, err := c.Do(request)
	if err != nil {
		return nil, fmt.Errorf("supportd does not answer: %w\nThis command is for the appliance itself; “cistern bundles” makes them from elsewhere", err)
	}
	if response.StatusCode < 300 {
		return response.Body, nil
	}
	defer response.Body.Close()
	var problem struct{ Detail, Action string }
	if json.NewDecoder(io.LimitReader(response.Body, 64<<10)).Decode(&problem) != nil || problem.Detail == "" {
		return nil, fmt.Errorf("supportd answered %s", response.Status)
	}
	return nil, fmt.Errorf("%s", strings.TrimSpace(problem.Detail+" "+problem.Action))
}

func (c *supportd) get(ctx context.Context, path string, answer any) error {
	body, err := c.ask(ctx, http.MethodGet, path, nil)
	if err != nil {
		return err
	}
	defer body.Close()
	return json.NewDecoder(body).Decode(answer)
}

const bundleHelp = `cistern bundle make [--place auto|pool|memory|usb] [--device sdb1] [--category NAME …] [--to FILE]
                    [--pseudonyms] [--encrypt-to age1…] [--no-wait]
cistern bundle list | disks [--json]
cistern bundle retry ID | delete ID
`

func bundle(s streams, arguments []string) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	runDir := os.Getenv("CISTERN_RUN")
	if runDir == "" {
		runDir = "/run/cistern"
	}
	c := newSupportd(filepath.Join(runDir, "supportd/http.sock"))
	verb := "make"
	if len(arguments) > 0 && !strings.HasPrefix(arguments[0], "-") {
		verb, arguments = arguments[0], arguments[1:]
	}
	switch verb {
	case "make":
		return makeBundle(ctx, s, c, arguments)
	case "list", "disks":
		asJSON, rest := jsonWanted(arguments)
		switch {
		case len(rest) > 0:
			fmt.Fprint(s.err, bundleHelp)
			return errUsage
		case asJSON:
			return bundlesAsJSON(ctx, s, c, verb)
		case verb == "list":
			return listBundles(ctx, s, c)
		}
		return listDisks(ctx, s, c)
	case "retry", "delete":
		if len(arguments) != 1 {
			fmt.Fprint(s.err, bundleHelp)
			return errUsage
		}
		if verb == "delete" {
			body, err := c.ask(ctx, http.MethodDelete, "/bundles/"+arguments[0], nil)
			if err != nil {
				return err
			}
			return body.Close()
		}
		if err := begin(ctx, c, "/bundles/"+arguments[0]+"/retry", nil, nil); err != nil {
			return err
		}
		return followBundle(ctx, s, c, arguments[0])
	case "help":
		fmt.Fprint(s.out, bundleHelp)
		return nil
	}
	fmt.Fprint(s.err, bundleHelp)
	return errUsage
}

func begin(ctx context.Context, c *supportd, path string, body, answer any) error {
	content, err := c.ask(ctx, http.MethodPost, path, body)
	if err != nil {
		return err
	}
	defer content.Close()
	if answer == nil {
		return nil
	}
	return json.NewDecoder(content).Decode(answer)
}

func makeBundle(ctx context.Context, s streams, c *supportd, arguments []string) error {
	var request struct {
		Categories []string `json:"categories,omitempty"`
		Place      string   `json:"place"`
		Device     string   `json:"device,omitempty"`
		Recipient  string   `json:"recipient,omitempty"`
		Pseudonyms bool     `json:"pseudonyms"`
	}
	flags := flag.NewFlagSet("cistern bundle make", flag.ContinueOnError)
	flags.SetOutput(s.err)
	flags.StringVar(&request.Place, "place", "auto", "where it is written: auto, pool, memory or usb")
	flags.StringVar(&request.Device, "device", "", "of the place usb: the disk, as sdb1; the only one when left out")
	flags.StringVar(&request.Recipient, "encrypt-to", "", "an age recipient")
	flags.BoolVar(&request.Pseudonyms, "pseudonyms", false, "replace host names and addresses")
	flags.Func("category", "only this category; may be repeated", func(name string) error {
		request.Categories = append(request.Categories, name)
		return nil
	})
	to := flags.String("to", "", "copy it to this file; - is standard output")
	noWait := flags.Bool("no-wait", false, "do not wait for its end")
	if err := flags.Parse(arguments); err != nil || flags.NArg() > 0 {
		return errUsage
	}
	var b bundleState
	if err := begin(ctx, c, "/bundles", request, &b); err != nil {
		return err
	}
	if *noWait {
		fmt.Fprintln(s.out, b.ID)
		return nil
	}
	progress := s
	if *to == "-" {
		progress.out = s.err
	}
	if err := followBundle(ctx, progress, c, b.ID); err != nil || *to == "" {
		return err
	}
	return fetchBundle(ctx, s, c, b.ID, *to)
}

// followBundle prints its progress until its end.
func followBundle(ctx context.Context, s streams, c *supportd, id string) error {
	body, err := c.ask(ctx, http.MethodGet, "/bundles/"+id+"/progress", nil)
	if err != nil {
		return err
	}
	defer body.Close()
	lines := bufio.NewScanner(body)
	lines.Buffer(nil, 1<<20)
	var b bundleState
	last := -1
	for lines.Scan() {
		b = bundleState{}
		if err := json.Unmarshal(lines.Bytes(), &b); err != nil {
			return err
		}
		if b.Percent/10 != last/10 || last < 0 {
			fmt.Fprintf(s.out, "%3d %%  %s\n", b.Percent, b.Step)
			last = b.Percent
		}
	}
	if err := lines.Err(); err != nil {
		return err
	}
	if b.State != "done" {
		return fmt.Errorf("the bundle is %s: %s", b.State, b.Error)
	}
	failed := 0
	for _, step := range b.Steps {
		if step.State != "done" {
			failed++
			fmt.Fprintf(s.out, "%s/%s: %s\n", step.Category, step.Name, step.Error)
		}
	}
	where := map[string]string{"pool": "on the appliance", "memory": "in the appliance's memory", "usb": "on the disk " + b.Device}[b.Place]
	fmt.Fprintf(s.out, "%s is %s, %d bytes; %d of %d steps failed.\n", b.File, where, b.Bytes, failed, len(b.Steps))
	if b.Note != "" {
		fmt.Fprintln(s.out, b.Note)
	}
	return nil
}

// fetchBundle copies the archive; a file has its name only when it is whole.
func fetchBundle(ctx context.Context, s streams, c *supportd, id, to string) error {
	body, err := c.ask(ctx, http.MethodGet, "/bundles/"+id+"/content", nil)
	if err != nil {
		return err
	}
	defer body.Close()
	if to == "-" {
		_, err := io.Copy(s.out, body)
		return err
	}
	f, err := os.OpenFile(to+".new", os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer os.Remove(to + ".new")
	_, err = io.Copy(f, body)
	if err == nil {
		err = f.Sync()
	}
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return err
	}
	return os.Rename(to+".new", to)
}

// bundlesAsJSON are the bundles, or the disks, as supportd answers them.
func bundlesAsJSON(ctx context.Context, s streams, c *supportd, verb string) error {
	path, name := "/bundles", "bundles"
	if verb == "disks" {
		path, name = "/bundle-options", "disks"
	}
	var answer map[string]json.RawMessage
	if err := c.get(ctx, path, &answer); err != nil {
		return err
	}
	return printJSON(s.out, map[string]json.RawMessage{"items": answer[name]})
}

func listBundles(ctx context.Context, s streams, c *supportd) error {
	var answer struct{ Bundles []bundleState }
	if err := c.get(ctx, "/bundles", &answer); err != nil {
		return err
	}
	for _, b := range answer.Bundles {
		fmt.Fprintf(s.out, "%s  %-9s %10d bytes  %-6s  %s\n", b.ID, b.State, b.Bytes, b.Place, b.Name)
	}
	return nil
}

func listDisks(ctx context.Context, s streams, c *supportd) error {
	var answer struct {
		Disks []struct {
			Device, Title string
			Bytes         int64
		}
	}
	if err := c.get(ctx, "/bundle-options", &answer); err != nil {
		return err
	}
	if len(answer.Disks) == 0 {
		fmt.Fprintln(s.out, "No removable disk is plugged in.")
	}
	for _, d := range answer.Disks {
		fmt.Fprintf(s.out, "%-8s %d bytes  %s\n", d.Device, d.Bytes, d.Title)
	}
	return nil
}
