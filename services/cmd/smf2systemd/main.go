// Command smf2systemd writes the systemd unit of each SMF manifest given into a directory.
//
//	smf2systemd --out DIR MANIFEST.xml…
//
// It writes all units or none.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"cistern/services/smf"
)

func main() {
	out := flag.String("out", "", "directory for the units")
	flag.Parse()
	if *out == "" || flag.NArg() == 0 {
		fmt.Fprintln(os.Stderr, "usage: smf2systemd --out DIR MANIFEST.xml…")
		os.Exit(2)
	}
	if err := translate(*out, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "smf2systemd:", err)
		os.Exit(1)
	}
}

func translate(out string, manifests []string) error {
	var units []smf.Unit
	for _, path := range manifests {
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		service, err := smf.Read(f)
		f.Close()
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		unit, err := smf.Systemd(service)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		units = append(units, unit)
	}
	for _, u := range units {
		if err := os.WriteFile(filepath.Join(out, u.Name), []byte(u.Text), 0o644); err != nil {
			return err
		}
		fmt.Println(u.Name)
	}
	return nil
}
