package cli

// Appliances by name: sign-in keeps each in a file of its own, so that one command can be meant for several.

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"text/tabwriter"
)

var applianceName = regexp.MustCompile(`^[a-z0-9][a-z0-9.-]{0,62}$`)

func (o Options) appliances() string {
	return filepath.Join(o.Config, "appliances")
}

// named looks at the name of the appliance that is meant, before anything is sent anywhere.
func (o Options) named(arguments []string) error {
	if o.Appliance == "" {
		return nil
	}
	if !applianceName.MatchString(o.Appliance) {
		return usage("an appliance’s name has small letters, digits, “.” and “-”, at most 63, not “%s”", o.Appliance)
	}
	if reserved(runtime.GOOS, o.Appliance) {
		return usage("Windows keeps the name %s for a device: choose another one for the appliance", o.Appliance)
	}
	_, err := os.Stat(o.sessionFile())
	signingIn := len(arguments) > 0 && arguments[0] == "sign-in"
	if signingIn && err != nil && o.URL == "" {
		return usage("nothing is known of %s yet: name it with --url https://HOST", o.Appliance)
	}
	if !signingIn && errors.Is(err, fs.ErrNotExist) {
		return usage("there is no appliance %s: “cistern appliances” lists them, “cistern sign-in --appliance %s --url https://HOST” adds it", o.Appliance, o.Appliance)
	}
	return nil
}

// listAppliances shows what sign-in has kept, without what signs in.
func (o Options) listAppliances(out io.Writer, asJSON bool) error {
	type row struct {
		Name     string `json:"name"`
		URL      string `json:"url"`
		SignedIn bool   `json:"signedIn"`
	}
	rows := []row{}
	entries, err := os.ReadDir(o.appliances())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, entry := range entries {
		if applianceName.MatchString(entry.Name()) {
			one := Options{Config: o.Config, Appliance: entry.Name()}.load()
			rows = append(rows, row{entry.Name(), one.URL, one.Cookie != ""})
		}
	}
	if asJSON {
		return json.NewEncoder(out).Encode(map[string]any{"items": rows})
	}
	w := tabwriter.NewWriter(out, 0, 1, 2, ' ', 0)
	fmt.Fprintln(w, "NAME\tADDRESS\tSIGNED IN")
	for _, one := range rows {
		state := "no"
		if one.SignedIn {
			state = "yes"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\n", one.Name, one.URL, state)
	}
	return w.Flush()
}
