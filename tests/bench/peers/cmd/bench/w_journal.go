package main

// journal: what the journal and others' logs do with a million entries of a hundred bytes, and what the machine would
// allow. Each is a program of its own that prints what it found: Cistern's journal is compiled apart, so that the bench
// works while its interface changes.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"
)

const limitSystem = "limit"

// finding is one line of a harness's output.
type finding struct {
	System, What, Unit string
	Value              float64
	Error              string
}

func findings(ctx context.Context, program string, arguments ...string) ([]finding, error) {
	if program == "" {
		return nil, errors.New("its harness was not built")
	}
	ctx, cancel := context.WithTimeout(ctx, 3*time.Minute)
	defer cancel()
	var problems strings.Builder
	command := exec.CommandContext(ctx, program, arguments...)
	command.Stderr = &problems
	text, err := command.Output()
	var list []finding
	for line := range strings.Lines(string(text)) {
		var one finding
		if json.Unmarshal([]byte(line), &one) == nil && one.What != "" {
			list = append(list, one)
		}
	}
	if err != nil {
		err = fmt.Errorf("%w: %.500s", err, problems.String())
	}
	return list, err
}

func journalWorkload(ctx context.Context, b *bench, sections map[string]*section) error {
	s := sections["journal"]
	entries := b.scaled(1_000_000)
	s.systems = []string{cistern, limitSystem, "tidwall/wal", "Prometheus wlog"}
	s.about = fmt.Sprintf("%s entries of 100 bytes, one writer. The limit is a header, a CRC32C and a copy into a mapping of 128 KiB, written when it is full; for reading, the same backwards; with fsync, a write and an fdatasync for every entry.", thousands(fmt.Sprint(entries)))
	rows := map[string]*figure{}
	for _, row := range []struct {
		what, unit string
		goals      []goal
	}{
		{"append, pre-commit 128 KiB", "M/s", []goal{{"", 8, 0}, {limitSystem, 0.5, 0.75}}},
		{"append, one write each", "M/s", nil},
		{"append, pre-commit 128 KiB and LZ4", "M/s", []goal{{"", 4, 0}}},
		{"append, batches of 1,000", "M/s", nil},
		{"read", "M/s", []goal{{"", 10, 0}}},
		{"fsync each, one writer", "entries/s", nil},
		{"fsync each, 64 writers", "entries/s", nil},
		{"fsync, 64 writers over one", "×", []goal{{"", 20, 0}}},
	} {
		f := s.add(row.what, row.unit, row.goals...)
		f.higher = true
		rows[row.what] = f
	}
	// The first round is not counted: on a virtual machine whatever touches memory that the host has not given yet is slow.
	for round := range max(b.repeats, 3) + 1 {
		b.say("journal: run %d", round)
		for _, program := range []string{b.journal, b.logs} {
			list, err := findings(ctx, program, "-entries", fmt.Sprint(entries), "-temp", b.temp)
			if err != nil {
				name := "the other logs"
				if program == b.journal {
					name = cistern
				}
				s.fail(name, err)
			}
			once := map[string]float64{}
			for _, one := range list {
				f := rows[one.What]
				if f == nil || round == 0 {
					continue
				}
				if one.Error != "" {
					f.said[one.System] = one.Error
					continue
				}
				f.put(one.System, one.Value)
				if one.What == "fsync each, one writer" {
					once[one.System] = one.Value
				}
				if one.What == "fsync each, 64 writers" && once[one.System] > 0 {
					rows["fsync, 64 writers over one"].put(one.System, one.Value/once[one.System])
				}
			}
		}
	}
	s.note("\"At least 8 M/s or half of the limit\": one of the two is enough.")
	return nil
}
