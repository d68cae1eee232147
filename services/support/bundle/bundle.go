// Package bundle makes support bundles: declared steps, run side by side, each with its deadline and size limit; a
// step that fails or is cut is recorded with its reason and the bundle goes on. It needs no other part of Cistern to run.
//
// A bundle is ID.tar.zst (ID.tar.zst.age when it is encrypted) beside ID.json, its state, in the folder of its place: on
// the system pool, or in memory. While it is being made, what the running steps collect is in ID.part/. The archive gets
// its name only when it is whole.
//
//	NAME/CATEGORY/FILE
//	NAME/manifest.json  every step: file, state, error, seconds, bytes, sha256
//	NAME/README         what this is and what failed
//	NAME/viewer.html    reads all of it in a browser, without a network
package bundle

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// StepState is how one step went.
type StepState struct {
	Name     string  `json:"name"`
	Category string  `json:"category"`
	State    string  `json:"state"` // waiting running done failed timeout
	Error    string  `json:"error,omitempty"`
	Seconds  float64 `json:"seconds,omitempty"`
	Bytes    int64   `json:"bytes,omitempty"`
	SHA256   string  `json:"sha256,omitempty"`
}

func (s *StepState) path() string { return s.Category + "/" + s.Name }

// Bundle is what the API shows of a bundle.
type Bundle struct {
	ID         string      `json:"id"`
	Name       string      `json:"name"`
	File       string      `json:"file"`  // the archive's name
	State      string      `json:"state"` // building done failed cancelled
	CreatedAt  time.Time   `json:"createdAt"`
	FinishedAt *time.Time  `json:"finishedAt,omitempty"`
	Bytes      int64       `json:"bytes"` // collected while it is made, then of the archive
	Percent    int         `json:"percent"`
	Step       string      `json:"step,omitempty"`
	Error      string      `json:"error,omitempty"`
	Steps      []StepState `json:"steps"`
	SHA256     string      `json:"sha256,omitempty"`
	Place      string      `json:"place"` // pool memory usb
	Device     string      `json:"device,omitempty"`
	Note       string      `json:"note,omitempty"`
	Encrypted  bool        `json:"encrypted"`
	Pseudonyms bool        `json:"pseudonyms"`
}

func (b *Bundle) failed() int {
	n := 0
	for _, s := range b.Steps {
		if s.State != "done" {
			n++
		}
	}
	return n
}

// kept is a bundle with what is not shown: where its entries are in the archive.
type kept struct {
	Bundle
	Extents map[string]extent `json:"extents,omitempty"`
	dir     string
}

func (k *kept) copy() Bundle {
	c := k.Bundle
	c.Steps = slices.Clone(k.Steps)
	return c
}

// Options are what a request for a bundle says.
type Options struct {
	Categories []string `json:"categories"` // all that are not OnRequest when there are none
	Place      string   `json:"place"`      // auto pool memory usb; empty: auto
	Device     string   `json:"device"`     // of the place usb; empty: the only one
	Recipient  string   `json:"recipient"`  // an age recipient (age1…): encrypt to it
	Pseudonyms bool     `json:"pseudonyms"` // host names and addresses replaced, the same ones alike
}

// Manifest is a bundle's manifest.json.
type Manifest struct {
	Bundle     string      `json:"bundle"`
	Version    string      `json:"version"`
	CreatedAt  time.Time   `json:"createdAt"`
	Note       string      `json:"note,omitempty"`
	Pseudonyms bool        `json:"pseudonyms"`
	Steps      []StepState `json:"steps"`
}

func manifestOf(b Bundle, version string) Manifest {
	return Manifest{b.Name, version, b.CreatedAt, b.Note, b.Pseudonyms, b.Steps}
}

func readme(b Bundle, version string) string {
	var t strings.Builder
	fmt.Fprintf(&t, `Support bundle %s
made %s by Cistern %s

Open viewer.html in a browser to read it; it needs no network. manifest.json lists every file with its size, SHA-256 and
how long it took. Passwords, keys, tokens, community strings and cookies were taken out before anything was written.
`, b.Name, b.CreatedAt.Format(time.RFC3339), version)
	if b.Pseudonyms {
		t.WriteString("Host names and addresses were replaced, the same ones alike.\n")
	}
	if b.Note != "" {
		fmt.Fprintf(&t, "%s\n", b.Note)
	}
	t.WriteString("\n")
	failed := b.failed()
	for _, s := range b.Steps {
		if s.State != "done" {
			fmt.Fprintf(&t, "%-8s %s: %s\n", s.State, s.path(), s.Error)
		}
	}
	if failed == 0 {
		t.WriteString("Every step succeeded.\n")
	} else {
		fmt.Fprintf(&t, "\n%d of %d steps did not succeed, as listed above; the rest is complete.\n", failed, len(b.Steps))
	}
	return t.String()
}
