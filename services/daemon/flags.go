package daemon

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"runtime/debug"
	"strings"

	"cistern/services/daemon/config"
	"cistern/services/daemon/log"
)

// Common are the flags that every daemon has.
type Common struct {
	Config, Socket string
	LogLevel       slog.Level
	LogFormat      log.Format
}

// ErrAnswered is returned when the flags asked for something that was printed.
var ErrAnswered = errors.New("answered")

// CommonFlag is a flag of every daemon, as --help lists it.
type CommonFlag struct{ Name, Argument, Help string }

// CommonFlags are those of every daemon.
var CommonFlags = []CommonFlag{
	{"config", "FILE", "settings in TOML"},
	{"socket", "PATH", "serve HTTP on this Unix socket (mode 0660)"},
	{"log-level", "LEVEL", "debug, info, warn or error: what is logged, and what is worse; info"},
	{"log-format", "FORMAT", "text or json: how a line of the log, on standard error, is written; text"},
	{"version", "", "print the version"},
}

// Parse reads a command line, and the file that it names. ErrAnswered: it was answered on out.
func (o Options) Parse(arguments []string, out io.Writer) (*Common, error) {
	c := &Common{Socket: o.Socket, LogLevel: slog.LevelInfo, LogFormat: log.Text}
	flags := flag.NewFlagSet(o.Name, flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.StringVar(&c.Config, "config", "", "")
	flags.StringVar(&c.Socket, "socket", c.Socket, "")
	flags.TextVar(&c.LogLevel, "log-level", c.LogLevel, "")
	flags.TextVar(&c.LogFormat, "log-format", c.LogFormat, "")
	version := flags.Bool("version", false, "")
	if o.Flags != nil {
		o.Flags(flags)
	}
	answer := &writer{Writer: out}
	answered := func() (*Common, error) {
		if answer.err != nil {
			return nil, fmt.Errorf("the answer could not be written: %w", answer.err)
		}
		return nil, ErrAnswered
	}
	err := flags.Parse(arguments)
	switch {
	case errors.Is(err, flag.ErrHelp):
		if o.Help != nil {
			o.Help(answer)
		} else {
			o.help(answer, flags)
		}
		return answered()
	case err != nil:
		return nil, fmt.Errorf("%w; see %s --help", err, o.Name)
	case flags.NArg() > 0:
		return nil, fmt.Errorf("%q is no flag; see %s --help", flags.Arg(0), o.Name)
	case *version:
		fmt.Fprintln(answer, o.Version)
		return answered()
	}
	if o.Config != nil {
		err = o.Config(c)
	} else if c.Config != "" {
		err = config.Flags(c.Config, flags, o.Name)
	}
	if errors.Is(err, ErrAnswered) { // by a flag of the daemon's own, which has written it
		return answered()
	}
	if err != nil {
		return nil, err
	}
	return c, nil
}

// writer remembers that something could not be written.
type writer struct {
	io.Writer
	err error
}

func (w *writer) Write(p []byte) (n int, err error) {
	if n, err = w.Writer.Write(p); err != nil && w.err == nil {
		w.err = err
	}
	return n, err
}

func (o Options) help(out io.Writer, flags *flag.FlagSet) {
	if o.About != "" {
		fmt.Fprintf(out, "%s\n\n", strings.TrimSpace(o.About))
	}
	fmt.Fprintf(out, "Flags, which win over the file of --config (the same names, with _ for -):\n\n")
	flags.VisitAll(func(f *flag.Flag) {
		argument, text := flag.UnquoteUsage(f)
		for _, one := range CommonFlags {
			if one.Name == f.Name {
				argument, text = one.Argument, one.Help
			}
		}
		if f.DefValue != "" && f.DefValue != "false" && !strings.Contains(text, ";") {
			text += "; " + f.DefValue
		}
		fmt.Fprintf(out, "  --%-23s %s\n", strings.TrimSpace(f.Name+" "+argument), strings.TrimSpace(text))
	})
}

// stack is where the goroutine is.
func stack() string { return string(debug.Stack()) }
