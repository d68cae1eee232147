// cistern is the appliance's command line. `cistern help` lists what it can do; `cistern journal pipe` is also how akd
// keeps its outbox. What is not in the table here is asked of the appliance's management API (package manage).
package main

// The table of commands and how they are found.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"

	"cistern/services/cli"
)

// version is set when Cistern is built.
var version = "development"

// command is one command, named by one or two words. A new one is a new line in commands.
type command struct {
	words, arguments, explanation string
	run                           func(s streams, arguments []string) error
}

// streams is where a command reads and writes, so that tests can give it something else.
type streams struct {
	in       io.Reader
	out, err io.Writer
}

var commands = []command{
	{"journal pipe", "--dir DIR", "serve one journal on standard input and output as JSON lines", journalPipe},
	{"journal stat", "--dir DIR", "show how large a journal is, and how far its subscribers are", journalStat},
	{"journal read", "--dir DIR [--subscriber NAME] [--max N]", "print entries as JSON lines; a checkpoint is not moved", journalRead},
	{"journal tail", "--dir DIR [--max N]", "print entries as they come", journalTail},
	{"journal write", "--dir DIR [--pre-commit N] [--lz4] [--shared]", "append every line of standard input as an entry", journalWrite},
	{"journal repair", "--dir DIR", "repair what a crash left, read everything, and say what is lost", journalRepair},
	{"bundle", "make|list|retry|delete|disks …", "support bundles, asked of supportd itself: when nothing else works; see cistern bundle help", bundle},
	{"let-in", "[--console NAME]", "on the appliance, as root: let an administrator in again who has lost the password or the second factor", letIn},
	{"import", "prometheus|victoriametrics|graphite|rrd PATH …", "bring the history of another system to the appliance; see cistern import --help", importHistory},
	{"export", "prometheus|openmetrics PATH …", "write what the appliance holds as files for other systems; see cistern export --help", exportHistory},
	{"snmp-agent", "FILE", "answer snmpd about CISTERN-MIB, as its pass_persist program, from the file that akd writes", snmpAgent},
	{"age seal", "", "seal what follows the first line of standard input with that line as the passphrase; age files, as akd makes them", ageSeal},
	{"age open", "", "open it again; exits with 3 when the passphrase is wrong, with 4 when it is no such file", ageOpen},
	{"version", "[--json]", "print the version", printVersion},
}

func printVersion(s streams, arguments []string) error {
	asJSON, rest := jsonWanted(arguments)
	if len(rest) > 0 {
		return errUsage
	}
	if asJSON {
		return printJSON(s.out, map[string]string{"version": version})
	}
	_, err := fmt.Fprintln(s.out, version)
	return err
}

// jsonWanted takes out of the arguments what asks for JSON.
func jsonWanted(arguments []string) (bool, []string) {
	wanted, rest := false, []string{}
	for i := 0; i < len(arguments); i++ {
		switch {
		case arguments[i] == "--json" || arguments[i] == "--output=json":
			wanted = true
		case arguments[i] == "--output" && i+1 < len(arguments) && arguments[i+1] == "json":
			wanted = true
			i++
		default:
			rest = append(rest, arguments[i])
		}
	}
	return wanted, rest
}

func printJSON(out io.Writer, value any) error {
	encoder := json.NewEncoder(out)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	return encoder.Encode(value)
}

// errUsage: the arguments make no sense; what is wrong was printed.
var errUsage = errors.New("see cistern help")

func main() {
	if strings.TrimPrefix(filepath.Base(os.Args[0]), "-") == restrictedShell {
		os.Exit(runShell(os.Args[1:], os.Getenv))
	}
	err := dispatch(streams{os.Stdin, os.Stdout, os.Stderr}, os.Args[1:])
	var exit cli.Exit
	if errors.As(err, &exit) { // what there was to say is said
		os.Exit(int(exit))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "cistern:", err)
		var coded exitCode
		if errors.As(err, &coded) {
			os.Exit(coded.code)
		}
		if errors.Is(err, errUsage) || errors.Is(err, cli.ErrUsage) {
			os.Exit(2)
		}
		os.Exit(1)
	}
}

func dispatch(s streams, arguments []string) error {
	if len(arguments) == 0 || arguments[0] == "help" || arguments[0] == "--help" || arguments[0] == "-h" {
		help(s.out)
		return nil
	}
	for n := min(2, len(arguments)); n > 0; n-- {
		words := arguments[0]
		if n == 2 {
			words += " " + arguments[1]
		}
		for _, c := range commands {
			if c.words == words {
				return c.run(s, arguments[n:])
			}
		}
	}
	if arguments[0] == "journal" { // the appliance has no such thing
		return unknownJournal()
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	config, cache := cli.Folders()
	options := cli.Options{URL: os.Getenv("CISTERN_URL"), Token: os.Getenv("CISTERN_TOKEN"), Fingerprint: os.Getenv("CISTERN_FINGERPRINT"), Appliance: os.Getenv("CISTERN_APPLIANCE"), Config: config, Cache: cache}
	for _, c := range commands {
		options.Own = append(options.Own, c.words)
	}
	return cli.Run(ctx, cli.Streams{In: s.in, Out: s.out, Err: s.err}, options, arguments)
}

func help(out io.Writer) {
	fmt.Fprintln(out, "cistern COMMAND")
	for _, c := range commands {
		fmt.Fprintf(out, "  %-14s %-48s %s\n", c.words, c.arguments, c.explanation)
	}
	fmt.Fprint(out, `
And whatever the appliance's web page can do, by the same names: pools, disks, datasets, alerts, bundles …
  cistern sign-in [--browser | --user NAME [--code CODE] [--directory NAME]] [--url https://HOST] [--fingerprint SHA-256]
  cistern sign-out
  cistern appliances             those that sign-in --appliance NAME has kept; --appliance NAME means one of them
  cistern settings COMMAND       the settings as a document: export, plan, diff, apply, history, restore; see cistern settings --help
  cistern certificate COMMAND    the certificate of the web page: show, request, install, self-signed, restore; see cistern certificate --help
  cistern completion bash        what bash completes commands by; zsh, fish and powershell likewise
  cistern --help                 all commands of the appliance
  cistern pools                  a list, as cistern pools list
  cistern pools create --help    what a command takes
  cistern pools --output json    the whole answer as JSON; --json is the same
On the appliance itself no --url is needed. CISTERN_URL, CISTERN_TOKEN (an API token), CISTERN_FINGERPRINT and CISTERN_APPLIANCE stand for the
arguments. It exits with 1 when the appliance refuses or a job fails, with 2 when the arguments make no sense.
`)
}
