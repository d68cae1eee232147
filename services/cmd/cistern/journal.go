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
	"strings"
	"time"

	"cistern/services/journal"
	"cistern/services/platform/vfs"
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

// unknownJournal is for a word behind "cistern journal" that is none of its commands.
func unknownJournal() error {
	var words []string
	for _, c := range commands {
		if word, ok := strings.CutPrefix(c.words, "journal "); ok {
			words = append(words, word)
		}
	}
	return fmt.Errorf("cistern journal needs one of %s; %w", strings.Join(words, ", "), errUsage)
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
	// Of one that another process may have open. What only that one knows, by counting since it did, is not among it.
	stat := j.Stat()
	return encoder.Encode(struct {
		Begin       journal.Position            `json:"begin"`
		End         journal.Position            `json:"end"`
		Bytes       int64                       `json:"bytes"`
		Segments    int                         `json:"segments"`
		Subscribers map[string]journal.Position `json:"subscribers"`
		Marks       map[string]journal.Position `json:"marks"`
	}{stat.Begin, stat.End, stat.Bytes, stat.Segments, stat.Subscribers, stat.Marks})
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
	if most < 0 {
		return fmt.Errorf("--max must not be negative; %w", errUsage)
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
		if err := encoder.Encode(journalLine(entry)); err != nil {
			return err
		}
	}
	if reader.Skipped > 0 {
		return fmt.Errorf("%d damaged bytes were passed over: what they held is lost, the rest is printed", reader.Skipped)
	}
	return nil
}

// journalTail prints entries as they come, until it is stopped.
func journalTail(s streams, arguments []string) error {
	var every time.Duration
	var most int
	folder, err := journalFlags(s, "journal tail", arguments, func(flags *flag.FlagSet) {
		flags.DurationVar(&every, "every", 200*time.Millisecond, "how often to look")
		flags.IntVar(&most, "max", 0, "end after so many entries; 0 is never")
	})
	if err != nil {
		return err
	}
	switch {
	case most < 0:
		return fmt.Errorf("--max must not be negative; %w", errUsage)
	case every <= 0:
		return fmt.Errorf("--every must be longer than nothing, for example 200ms; %w", errUsage)
	}
	encoder := json.NewEncoder(s.out)
	from := journal.Position(0)
	for first, n := true, 0; ; first = false {
		j, err := journal.View(vfs.OS, folder)
		if err != nil {
			return err
		}
		if first {
			from = j.End()
		}
		reader := j.Read(from)
		for {
			entry, err := reader.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return err
			}
			from = entry.Position
			if err := encoder.Encode(journalLine(entry)); err != nil {
				return err
			}
			if reader.Skipped > 0 { // before this entry: what is behind the last one may be half written yet
				fmt.Fprintf(s.err, "%d damaged bytes were passed over\n", reader.Skipped)
				reader.Skipped = 0
			}
			if n++; n == most {
				return nil
			}
		}
		reader.Close()
		time.Sleep(every)
	}
}

func journalLine(entry journal.Entry) map[string]string {
	return map[string]string{"position": entry.Position.String(), "data": base64.StdEncoding.EncodeToString(entry.Data)}
}

// journalRepair opens a journal, which repairs what a crash left, reads all of it, and says what is wrong.
func journalRepair(s streams, arguments []string) error {
	folder, err := journalFlags(s, "journal repair", arguments, nil)
	if err != nil {
		return err
	}
	if _, err := journal.View(vfs.OS, folder); err != nil { // opening would make one
		return err
	}
	j, err := journal.Open(folder, journal.Options{})
	if err != nil {
		return fmt.Errorf("%w; if a process has it open, stop that first", err)
	}
	reader := j.Read(j.Begin())
	entries := 0
	for {
		_, readErr := reader.Next()
		if errors.Is(readErr, io.EOF) {
			break
		}
		if err = readErr; err != nil {
			break
		}
		entries++
	}
	reader.Close()
	stat := j.Stat()
	if err = errors.Join(err, j.Close()); err != nil {
		return err
	}
	_, err = fmt.Fprintf(s.out, "%d entries can be read; %d bytes of a torn tail were cut off\n", entries, stat.Cut)
	if reader.Skipped > 0 {
		return fmt.Errorf("%d damaged bytes hold no entry; what they held is lost, readers pass over them", reader.Skipped)
	}
	return err
}

func journalWrite(s streams, arguments []string) error {
	o := journal.Options{FlushEvery: time.Second}
	var durability string
	folder, err := journalFlags(s, "journal write", arguments, func(flags *flag.FlagSet) {
		flags.IntVar(&o.PreCommit, "pre-commit", 0, "collect entries in a mapped buffer of so many `bytes`; 0 is none")
		flags.BoolVar(&o.Compress, "lz4", false, "make the journal compressed, if it does not exist yet")
		flags.BoolVar(&o.Shared, "shared", false, "let other processes write it at the same time, which must say so too")
		flags.Int64Var(&o.SegmentBytes, "segment", 0, "`bytes` of a segment; 0 is 32 MiB")
		flags.StringVar(&durability, "durability", "interval", "fsync: each line is on the disk before the next is read; interval: once a second; buffered: at the end")
	})
	if err != nil {
		return err
	}
	d := journal.Durability(durability)
	switch d {
	case journal.Fsync, journal.Buffered:
	case journal.Interval:
		o.SyncEvery = time.Second
	default:
		return fmt.Errorf("--durability must be fsync, interval or buffered, not %q; %w", durability, errUsage)
	}
	if o.SegmentBytes < 0 {
		return fmt.Errorf("--segment must not be negative; %w", errUsage)
	}
	j, err := journal.Open(folder, o)
	if err != nil {
		return err
	}
	lines := bufio.NewScanner(s.in)
	lines.Buffer(nil, journal.MaxEntry+2) // with the line's end
	number := 0
	for err == nil && lines.Scan() {
		number++
		if _, err = j.AppendDurable(d, lines.Bytes()); err != nil {
			err = fmt.Errorf("line %d: %w; the lines before it are written", number, err)
		}
	}
	if err == nil && lines.Err() != nil {
		err = fmt.Errorf("line %d: %w; the lines before it are written, and an entry has at most %d bytes", number+1, lines.Err(), journal.MaxEntry)
	}
	if err = errors.Join(err, j.Close()); err == nil { // Close makes it durable
		_, err = fmt.Fprintln(s.out, j.End())
	}
	return err
}
