package main

// cistern journal …: a journal by hand and by pipe.

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"

	"cistern/services/journal"
	"cistern/services/vfs"
)

// journalFlags reads --dir and what else a command adds.
func journalFlags(s streams, name string, arguments []string, add func(*flag.FlagSet)) (folder string, err error) {
	flags := flag.NewFlagSet(name, flag.ContinueOnError)
	flags.SetOutput(s.err)
	flags.StringVar(&folder, "dir", "", "the journal's `folder`")
	if add != nil {
		add(flags)
	}
	if err := flags.Parse(arguments); err != nil {
		return "", errUsage
	}
	if folder == "" || flags.NArg() > 0 {
		return "", fmt.Errorf("%s needs --dir DIR and no other arguments; %w", name, errUsage)
	}
	return folder, nil
}

func journalPipe(s streams, arguments []string) error {
	folder, err := journalFlags(s, "journal pipe", arguments, nil)
	if err != nil {
		return err
	}
	j, err := journal.Open(folder, journal.Options{SegmentBytes: 4 << 20})
	if err != nil {
		return err
	}
	return errors.Join(j.Pipe(s.in, s.out), j.Close())
}

func journalStat(s streams, arguments []string) error {
	folder, err := journalFlags(s, "journal stat", arguments, nil)
	if err != nil {
		return err
	}
	j, err := journal.View(vfs.OS, folder)
	if err != nil {
		return err
	}
	encoder := json.NewEncoder(s.out)
	encoder.SetIndent("", "  ")
	return encoder.Encode(j.Stat())
}

func journalRead(s streams, arguments []string) error {
	var subscriber string
	var most int
	folder, err := journalFlags(s, "journal read", arguments, func(flags *flag.FlagSet) {
		flags.StringVar(&subscriber, "subscriber", "", "begin at this subscriber's checkpoint")
		flags.IntVar(&most, "max", 0, "end after so many entries; 0 is all")
	})
	if err != nil {
		return err
	}
	j, err := journal.View(vfs.OS, folder)
	if err != nil {
		return err
	}
	from := j.Begin()
	if subscriber != "" {
		at, ok := j.Subscriber(subscriber)
		if !ok {
			return fmt.Errorf("the journal has no subscriber %q", subscriber)
		}
		from = at
	}
	reader := j.Read(from)
	defer reader.Close()
	encoder := json.NewEncoder(s.out)
	for n := 0; most == 0 || n < most; n++ {
		entry, err := reader.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		line := map[string]string{"position": entry.Position.String(), "data": base64.StdEncoding.EncodeToString(entry.Data)}
		if err := encoder.Encode(line); err != nil {
			return err
		}
	}
	if reader.Skipped > 0 {
		fmt.Fprintf(s.err, "%d damaged bytes were passed over\n", reader.Skipped)
	}
	return nil
}

func journalWrite(s streams, arguments []string) error {
	folder, err := journalFlags(s, "journal write", arguments, nil)
	if err != nil {
		return err
	}
	j, err := journal.Open(folder, journal.Options{})
	if err != nil {
		return err
	}
	lines := bufio.NewScanner(s.in)
	lines.Buffer(nil, journal.MaxEntry)
	for err == nil && lines.Scan() {
		_, err = j.Append(lines.Bytes())
	}
	if err == nil {
		err = lines.Err()
	}
	if err = errors.Join(err, j.Close()); err == nil { // Close makes it durable
		fmt.Fprintln(s.out, j.End())
	}
	return err
}
