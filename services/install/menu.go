package install

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// ErrBack is returned when nothing was chosen, and the person at the console is to read why.
var ErrBack = errors.New("nothing was changed")

// ErrLeft is returned when the person went back before anything was chosen: there is nothing to read.
var ErrLeft = errors.New("nothing was chosen")

// Ask has the person at the console choose one disk or two, and confirm each that is not empty by typing its name. It reads
// lines only, so that a serial console does as well as a screen.
func Ask(in *bufio.Reader, out io.Writer, disks []Disk) ([]Disk, error) {
	if len(disks) == 0 {
		fmt.Fprint(out, "\n  There is no disk to install to. Is one connected, and its controller not in a RAID mode that hides it?\n")
		return nil, ErrBack
	}
	fmt.Fprint(out, "\n  Disks of this machine:\n\n")
	for _, d := range disks {
		fmt.Fprintf(out, "    %s\n", Line(d))
	}
	if !slices.ContainsFunc(disks, func(d Disk) bool { return d.Obstacle == "" }) {
		fmt.Fprint(out, "\n  None of them can be taken: connect another one.\n")
		return nil, ErrBack
	}
	for {
		answer, err := line(in, out, "\n  Install to which disk? Two names make a mirror. Enter alone goes back: ")
		if err != nil {
			return nil, err
		}
		if answer == "" {
			return nil, ErrLeft
		}
		chosen, problem := choose(disks, strings.Fields(answer))
		if problem != "" {
			fmt.Fprintf(out, "\n  %s\n", problem)
			continue
		}
		if err := confirm(in, out, chosen); err != nil {
			return nil, err
		}
		return chosen, nil
	}
}

func choose(disks []Disk, names []string) (chosen []Disk, problem string) {
	if len(names) > 2 {
		return nil, fmt.Sprintf("%d names: a system lies on one disk or on two.", len(names))
	}
	for _, name := range names {
		i := slices.IndexFunc(disks, func(d Disk) bool { return d.Name == strings.TrimPrefix(name, "/dev/") })
		switch {
		case i < 0:
			return nil, fmt.Sprintf("There is no disk called \"%.40s\" here.", name)
		case disks[i].Obstacle != "":
			return nil, fmt.Sprintf("%s cannot be taken: %s.", disks[i].Name, disks[i].Obstacle)
		case slices.ContainsFunc(chosen, func(d Disk) bool { return d.Name == disks[i].Name }):
			return nil, fmt.Sprintf("%s twice is no mirror.", disks[i].Name)
		}
		chosen = append(chosen, disks[i])
	}
	return chosen, ""
}

// confirm asks once for an empty disk, and for the name of one that is not.
func confirm(in *bufio.Reader, out io.Writer, chosen []Disk) error {
	for _, d := range chosen {
		question, wanted := fmt.Sprintf("\n  Write to %s, which is empty? Type \"yes\": ", d.Name), "yes"
		if len(d.Holds) > 0 {
			fmt.Fprintf(out, "\n  %s is not empty: %s. All of it will be lost.\n", d.Name, strings.Join(d.Holds, ", "))
			question, wanted = fmt.Sprintf("  Type the disk's name, %s, to overwrite it; anything else goes back: ", d.Name), d.Name
		}
		answer, err := line(in, out, question)
		if err != nil {
			return err
		}
		if answer != wanted {
			return ErrBack
		}
	}
	return nil
}

// Line is one disk in a list: name, size, model, serial number, bus, what is on it, why it cannot be taken.
func Line(d Disk) string {
	words := []string{fmt.Sprintf("%-8s %8s", d.Name, size(d.Bytes))}
	for _, word := range []string{d.Model, d.Serial, d.Bus} {
		if word != "" {
			words = append(words, word)
		}
	}
	what := "empty"
	if len(d.Holds) > 0 {
		what = strings.Join(d.Holds, ", ")
	}
	if d.Obstacle != "" {
		what += "; cannot be taken: " + d.Obstacle
	}
	return strings.Join(append(words, what), "  ")
}

func line(in *bufio.Reader, out io.Writer, question string) (string, error) {
	fmt.Fprint(out, question)
	text, err := in.ReadString('\n')
	if err != nil && (text == "" || !errors.Is(err, io.EOF)) {
		return "", err
	}
	return strings.TrimSpace(text), nil
}

// Progress writes steps as lines: each new one of a disk, and each tenth of it.
func Progress(out io.Writer) func(Step) {
	last := map[string]Step{}
	return func(s Step) {
		if before := last[s.Disk]; s.What == before.What && int(s.Done*10) == int(before.Done*10) {
			return
		}
		last[s.Disk] = s
		if s.Done > 0 && s.Done < 1 {
			fmt.Fprintf(out, "  %-8s %s, %d %%\n", s.Disk, s.What, int(s.Done*100))
		} else {
			fmt.Fprintf(out, "  %-8s %s\n", s.Disk, s.What)
		}
	}
}

// Converse is the whole conversation: choice, installation, what to do next.
func Converse(ctx context.Context, in *bufio.Reader, out io.Writer, medium Medium, disks []Disk) error {
	chosen, err := Ask(in, out, disks)
	if err != nil {
		return err
	}
	fmt.Fprintln(out)
	return To(ctx, medium, chosen, Progress(out))
}
