// The bench's harness of Cistern's journal. It is compiled as if it were services/cmd/benchjournal (go build -overlay, see
// build.sh), so that it needs no module of its own. It prints one line of JSON for each finding.
//
// What the journal does not offer yet says "not there yet": its options are looked for by name.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"cistern/services/journal"
)

const (
	entryBytes = 100
	preCommit  = 128 << 10
	fsyncFor   = 1500 * time.Millisecond
)

func say(what, unit string, value float64, err error) {
	line := map[string]any{"System": "Cistern", "What": what, "Unit": unit, "Value": value}
	if err != nil {
		line["Error"] = err.Error()
	}
	_ = json.NewEncoder(os.Stdout).Encode(line)
}

var errNotYet = errors.New("not there yet")

// set gives the option whose name contains one of the words its value.
func set(options *journal.Options, bytes int, words ...string) error {
	fields := reflect.ValueOf(options).Elem()
	for i := range fields.NumField() {
		name := strings.ToLower(fields.Type().Field(i).Name)
		for _, word := range words {
			if !strings.Contains(name, word) {
				continue
			}
			switch field := fields.Field(i); field.Kind() {
			case reflect.Bool:
				field.SetBool(true)
			case reflect.Int, reflect.Int64, reflect.Int32:
				field.SetInt(int64(bytes))
			case reflect.Uint, reflect.Uint64, reflect.Uint32, reflect.Uint8:
				field.SetUint(uint64(bytes))
			case reflect.String:
				field.SetString("lz4")
			default:
				continue
			}
			return nil
		}
	}
	return errNotYet
}

// flush hands what is in the pre-commit buffer over to the file, if there is one.
func flush(j *journal.Journal) error {
	if method := reflect.ValueOf(j).MethodByName("Flush"); method.IsValid() && method.Type().NumIn() == 0 {
		for _, result := range method.Call(nil) {
			if err, ok := result.Interface().(error); ok && err != nil {
				return err
			}
		}
	}
	return nil
}

func main() {
	entries := flag.Int("entries", 1_000_000, "how many")
	temp := flag.String("temp", os.TempDir(), "folder for the journals")
	flag.Parse()
	folder, err := os.MkdirTemp(*temp, "journal-")
	if err == nil {
		err = run(*entries, folder)
		os.RemoveAll(folder)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(entries int, folder string) error {
	for i, one := range []struct {
		what    string
		prepare func(*journal.Options) error
		batch   int
		read    bool
	}{
		{"append, one write each", func(*journal.Options) error { return nil }, 1, false},
		{"append, batches of 1,000", func(*journal.Options) error { return nil }, 1000, false},
		{"append, pre-commit 128 KiB", func(o *journal.Options) error { return set(o, preCommit, "precommit") }, 1, true},
		{"append, pre-commit 128 KiB and LZ4", func(o *journal.Options) error {
			return errors.Join(set(o, preCommit, "precommit"), set(o, 1, "lz4", "compress"))
		}, 1, false},
	} {
		options := journal.Options{SegmentBytes: 64 << 20}
		if err := one.prepare(&options); err != nil {
			say(one.what, "M/s", 0, errNotYet)
			if !one.read {
				continue
			}
			options = journal.Options{SegmentBytes: 64 << 20}
			if err := appendAndRead(filepath.Join(folder, fmt.Sprint(i)), options, entries, 1000, "", true); err != nil {
				return err
			}
			continue
		}
		if err := appendAndRead(filepath.Join(folder, fmt.Sprint(i)), options, entries, one.batch, one.what, one.read); err != nil {
			return fmt.Errorf("%s: %w", one.what, err)
		}
	}
	for _, writers := range []int{1, 64} {
		if err := durable(filepath.Join(folder, fmt.Sprintf("sync-%d", writers)), writers); err != nil {
			return err
		}
	}
	return nil
}

// entry is a hundred bytes that compress about as well as text does.
func entry(i int) []byte {
	text := fmt.Appendf(nil, `{"seq":%08d,"name":"request_duration_seconds","instance":"10.0.3.%d:9100","value":%d,"x":"`, i, i%250, i*7919%100_000)
	for len(text) < entryBytes {
		text = append(text, byte('a'+len(text)%26))
	}
	return text[:entryBytes]
}

func appendAndRead(folder string, options journal.Options, entries, batch int, what string, read bool) error {
	defer os.RemoveAll(folder)
	j, err := journal.Open(folder, options)
	if err != nil {
		return err
	}
	defer j.Close()
	// Made beforehand: what makes entries is not what is measured.
	made := make([][]byte, 1000)
	for i := range made {
		made[i] = entry(i)
	}
	began := time.Now()
	for i := 0; i < entries; i += batch {
		at := i % len(made)
		if _, err := j.Append(made[at : at+min(batch, entries-i)]...); err != nil {
			return err
		}
	}
	if err := flush(j); err != nil {
		return err
	}
	if what != "" {
		say(what, "M/s", float64(entries)/time.Since(began).Seconds()/1e6, nil)
	}
	if !read {
		return nil
	}
	began = time.Now()
	reader, found := j.Read(j.Begin()), 0
	defer reader.Close()
	for {
		_, err := reader.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		found++
	}
	if found != entries {
		return fmt.Errorf("%d entries were read of %d", found, entries)
	}
	say("read", "M/s", float64(entries)/time.Since(began).Seconds()/1e6, nil)
	return nil
}

func durable(folder string, writers int) error {
	j, err := journal.Open(folder, journal.Options{SegmentBytes: 64 << 20})
	if err != nil {
		return err
	}
	defer j.Close()
	var done atomic.Int64
	var group sync.WaitGroup
	failed := make(chan error, writers)
	began := time.Now()
	for w := range writers {
		group.Go(func() {
			one := entry(w)
			for time.Since(began) < fsyncFor {
				if _, err := j.AppendDurable(journal.Fsync, one); err != nil {
					failed <- err
					return
				}
				done.Add(1)
			}
		})
	}
	group.Wait()
	what := "fsync each, one writer"
	if writers > 1 {
		what = fmt.Sprintf("fsync each, %d writers", writers)
	}
	select {
	case err := <-failed:
		return err
	default:
	}
	say(what, "entries/s", float64(done.Load())/time.Since(began).Seconds(), nil)
	return nil
}
