package main

// What storaged does besides running: checking and repairing a store's files.

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"cistern/services/platform/vfs"
	"cistern/services/store/tsdb"
)

// Exit codes of the commands.
const (
	exitOK     = 0
	exitDamage = 1
	exitFailed = 2
)

var commands = map[string]func(arguments []string, out, errors io.Writer) int{
	"verify": saying("verify", verify),
	"repair": saying("repair", repair),
}

// answer is where something is said, and whether that failed.
type answer struct {
	io.Writer
	err error
}

func (a *answer) Write(p []byte) (n int, err error) {
	if n, err = a.Writer.Write(p); err != nil && a.err == nil {
		a.err = fmt.Errorf("the answer could not be written: %w", err)
	}
	return n, err
}

// saying makes a command fail whose answer did not get where it was to go: to a full disk, for one.
func saying(name string, command func(arguments []string, out, errors io.Writer) int) func(arguments []string, out, errors io.Writer) int {
	return func(arguments []string, out, errs io.Writer) int {
		said := &answer{Writer: out}
		code := command(arguments, said, errs)
		if said.err != nil && code != exitFailed {
			fmt.Fprintf(errs, "storaged %s: %v\n", name, said.err)
			return exitFailed
		}
		return code
	}
}

// storeIn says whether a folder holds a store: nothing else may be taken for an empty one.
func storeIn(folder string) error {
	for _, part := range []string{"blocks", "journal"} {
		info, err := os.Stat(filepath.Join(folder, part))
		if err == nil && info.IsDir() {
			return nil
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return advise(err)
		}
	}
	return fmt.Errorf("there is no store in %s: name the folder that storaged was started with", folder)
}

// folderFlags reads --data, and the further flags that more adds. An empty folder: the answer was printed.
func folderFlags(name, explanation string, arguments []string, out, errs io.Writer, more func(*flag.FlagSet)) (folder string, code int) {
	flags := flag.NewFlagSet("storaged "+name, flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.StringVar(&folder, "data", os.Getenv("CISTERN_DATA"), "`folder` that holds the store")
	if more != nil {
		more(flags)
	}
	err := flags.Parse(arguments)
	if errors.Is(err, flag.ErrHelp) {
		fmt.Fprintf(out, "storaged %s: %s\n\n", name, explanation)
		flags.SetOutput(out)
		flags.PrintDefaults()
		return "", exitOK
	}
	switch {
	case err != nil:
	case flags.NArg() > 0:
		err = fmt.Errorf("%q is no flag", flags.Arg(0))
	case folder == "":
		err = errors.New("--data is missing: the folder that holds the store")
	default:
		_, err = os.Stat(folder)
	}
	if err != nil {
		fmt.Fprintf(errs, "storaged %s: %v\n", name, advise(err))
		return "", exitFailed
	}
	return folder, exitOK
}

func printFinding(out io.Writer, f tsdb.Finding) {
	if f.Series != "" {
		fmt.Fprintf(out, "%s, series %s: %s\n", f.Where, f.Series, f.Detail)
		return
	}
	fmt.Fprintf(out, "%s: %s\n", f.Where, f.Detail)
}

func verify(arguments []string, out, errs io.Writer) int {
	asJSON := false
	folder, code := folderFlags("verify", "read every byte of a store and say what is damaged. storaged may be running.\n"+
		"It exits with 1 when something is damaged, with 2 when it could not look.",
		arguments, out, errs, func(flags *flag.FlagSet) { flags.BoolVar(&asJSON, "json", false, "answer in JSON") })
	if folder == "" {
		return code
	}
	if err := storeIn(folder); err != nil {
		fmt.Fprintf(errs, "storaged verify: %v\n", err)
		return exitFailed
	}
	findings := []tsdb.Finding{}
	sum, err := tsdb.Verify(vfs.OS, folder, func(f tsdb.Finding) {
		if findings = append(findings, f); !asJSON {
			printFinding(out, f)
		}
	})
	if err != nil {
		fmt.Fprintf(errs, "storaged verify: %v\n", advise(err))
		return exitFailed
	}
	damaged := len(findings) > 0 || sum.DamagedBlocks > 0 || sum.JournalDamage > 0
	if asJSON {
		encoder := json.NewEncoder(out)
		encoder.SetIndent("", "  ")
		_ = encoder.Encode(struct {
			Sound    bool           `json:"sound"`
			Findings []tsdb.Finding `json:"findings"`
			tsdb.Verified
		}{!damaged, findings, sum})
	} else {
		fmt.Fprintf(out, "Looked at %d blocks with %d series, %d samples and %d bytes, and at %d entries of the journal.\n",
			sum.Blocks, sum.Series, sum.Samples, sum.Bytes, sum.JournalEntries)
		if !damaged {
			fmt.Fprintln(out, "Everything is sound.")
		}
		if sum.DamagedBlocks > 0 {
			fmt.Fprintf(out, "%d blocks are damaged. Restore them from a snapshot, or stop storaged and run storaged repair.\n", sum.DamagedBlocks)
		}
		if sum.JournalDamage > 0 {
			fmt.Fprintf(out, "%d bytes of the journal are damaged. What was in them and in no block yet is lost, unless a snapshot has it; "+
				"storaged passes over them when it starts.\n", sum.JournalDamage)
		}
	}
	if damaged {
		return exitDamage
	}
	return exitOK
}

func repair(arguments []string, out, errs io.Writer) int {
	folder, code := folderFlags("repair", "write a new block of what can be read of each damaged one, which is kept beside it.\n"+
		"storaged must be stopped. It exits with 1 when something was damaged, with 2 when it could not work.", arguments, out, errs, nil)
	if folder == "" {
		return code
	}
	if err := storeIn(folder); err != nil {
		fmt.Fprintf(errs, "storaged repair: %v\n", err)
		return exitFailed
	}
	findings := 0
	done, err := tsdb.Repair(vfs.OS, folder, func(f tsdb.Finding) {
		findings++
		printFinding(out, f)
	})
	for _, r := range done {
		fmt.Fprintf(out, "%s was replaced by what could be read: %d series with %d samples. Lost are %d samples of series that are known",
			r.Block, r.Series, r.Samples, r.Lost)
		if r.SeriesLost > 0 {
			fmt.Fprintf(out, ", and %d series whose names are lost too", r.SeriesLost)
		}
		fmt.Fprintln(out, ". The damaged file is kept beside it.")
	}
	if err != nil {
		fmt.Fprintf(errs, "storaged repair: %v\n", advise(err))
		return exitFailed
	}
	if findings == 0 && len(done) == 0 {
		fmt.Fprintln(out, "Nothing is damaged.")
		return exitOK
	}
	return exitDamage
}
