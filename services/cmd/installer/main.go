// installer puts Cistern from the medium that the machine was started from onto one or two internal disks. The console
// starts it (image/debian/files/usr/lib/cistern/console), and a service when the medium has an answer file.
package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"cistern/services/install"
)

func main() {
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

func run(arguments []string, in io.Reader, out, errs io.Writer) int {
	flags := flag.NewFlagSet("installer", flag.ContinueOnError)
	flags.SetOutput(errs)
	files := flags.String("files", "/run/cistern-medium", "`folder` of the medium's EFI and cistern folders")
	system := flags.String("system", "", "the squashfs: a `file` or device")
	from := flags.String("from", "", "the `disk` that the machine was started from, such as sdb: it is not offered")
	unattended := flags.Bool("unattended", false, "install without asking, as the answer file on a stick says; ends with 4 when there is none")
	if err := flags.Parse(arguments); err != nil {
		return 2
	}
	if flags.NArg() > 0 || *system == "" {
		fmt.Fprintln(errs, "installer: --system is needed, and nothing but options")
		return 2
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	err := do(ctx, in, out, install.Medium{Files: *files, System: *system}, *from, *unattended)
	switch {
	case err == nil:
		return 0
	case errors.Is(err, install.ErrLeft):
		return 5
	case errors.Is(err, install.ErrBack):
		fmt.Fprintln(out, "\n  Nothing was changed.")
		return 3
	case errors.Is(err, install.ErrNoAnswers):
		return 4
	default:
		fmt.Fprintf(errs, "\n  Not installed: %s.\n", strings.TrimSuffix(err.Error(), "."))
		return 1
	}
}

func do(ctx context.Context, in io.Reader, out io.Writer, medium install.Medium, from string, unattended bool) error {
	disks, err := install.Disks(ctx, from)
	if err != nil {
		return err
	}
	if !unattended {
		if err := install.Converse(ctx, bufio.NewReader(in), out, medium, disks); err != nil {
			return err
		}
		fmt.Fprint(out, "\n  Installed. Take the medium out; then Enter restarts the machine. ")
		return nil
	}
	read, err := install.FindAnswers(ctx, from)
	if err != nil {
		return err
	}
	chosen, err := read.Choose(disks)
	if err != nil {
		return err
	}
	fmt.Fprint(out, "\n  Installing as install.json says.\n")
	if err := install.To(ctx, medium, chosen, install.Progress(out)); err != nil {
		return err
	}
	fmt.Fprintf(out, "\n  Installed. Then: %s\n", read.Then)
	return nil
}
