// logs measures other write-ahead logs, and what the machine would allow, for the bench of Cistern's journal. It prints
// one line of JSON for each finding.
package main

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"hash/crc32"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/prometheus/tsdb/wlog"
	"github.com/prometheus/prometheus/util/compression"
	tidwall "github.com/tidwall/wal"
	"golang.org/x/sys/unix"
)

const (
	entryBytes = 100
	preCommit  = 128 << 10
	// fsyncFor is how long the runs with an fsync for every entry go on.
	fsyncFor = 1500 * time.Millisecond
)

func say(system, what, unit string, value float64, err error) {
	line := map[string]any{"System": system, "What": what, "Unit": unit, "Value": value}
	if err != nil {
		line["Error"] = err.Error()
	}
	_ = json.NewEncoder(os.Stdout).Encode(line)
}

func main() {
	entries := flag.Int("entries", 1_000_000, "how many")
	temp := flag.String("temp", os.TempDir(), "folder for the logs")
	flag.Parse()
	if err := run(*entries, *temp); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(entries int, temp string) error {
	folder, err := os.MkdirTemp(temp, "logs-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	data := make([]byte, entryBytes)
	for i := range data {
		data[i] = byte(i * 7)
	}
	return errors.Join(limit(filepath.Join(folder, "limit"), entries, data), wal(filepath.Join(folder, "tidwall"), entries, data), prometheus(filepath.Join(folder, "wlog"), entries, data))
}

func rate(n int, began time.Time) float64 { return float64(n) / time.Since(began).Seconds() / 1e6 }

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// limit is the least a log with checksums can do: header, checksum and copy into a mapping, and a write when it is full.
func limit(path string, entries int, data []byte) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	defer file.Close()
	mapped, err := os.Create(path + ".buffer")
	if err != nil {
		return err
	}
	defer mapped.Close()
	if err := mapped.Truncate(preCommit); err != nil {
		return err
	}
	buffer, err := unix.Mmap(int(mapped.Fd()), 0, preCommit, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return err
	}
	defer unix.Munmap(buffer)
	const size = 8 + entryBytes
	began, at := time.Now(), 0
	for range entries {
		if at+size > preCommit {
			if _, err := file.Write(buffer[:at]); err != nil {
				return err
			}
			at = 0
		}
		binary.LittleEndian.PutUint32(buffer[at:], entryBytes)
		binary.LittleEndian.PutUint32(buffer[at+4:], crc32.Checksum(data, castagnoli))
		copy(buffer[at+8:], data)
		at += size
	}
	if _, err := file.Write(buffer[:at]); err != nil {
		return err
	}
	say("limit", "append, pre-commit 128 KiB", "M/s", rate(entries, began), nil)
	whole := make([]byte, preCommit/size*size)
	began = time.Now()
	found := 0
	for offset := int64(0); ; {
		n, err := file.ReadAt(whole, offset)
		if n < size {
			break
		}
		for at := 0; at+size <= n; at += size {
			if crc32.Checksum(whole[at+8:at+size], castagnoli) != binary.LittleEndian.Uint32(whole[at+4:]) {
				return errors.New("the limit does not read what it wrote")
			}
			found++
		}
		offset += int64(n / size * size)
		if err != nil {
			break
		}
	}
	if found != entries {
		return fmt.Errorf("the limit read %d entries of %d", found, entries)
	}
	say("limit", "read", "M/s", rate(entries, began), nil)
	began = time.Now()
	n := 0
	for ; time.Since(began) < fsyncFor; n++ {
		if _, err := file.Write(buffer[:size]); err != nil {
			return err
		}
		if err := unix.Fdatasync(int(file.Fd())); err != nil {
			return err
		}
	}
	say("limit", "fsync each, one writer", "entries/s", float64(n)/time.Since(began).Seconds(), nil)
	return nil
}

func wal(folder string, entries int, data []byte) error {
	l, err := tidwall.Open(folder, &tidwall.Options{NoSync: true, NoCopy: true})
	if err != nil {
		return err
	}
	began := time.Now()
	for i := range entries {
		if err := l.Write(uint64(i+1), data); err != nil {
			return err
		}
	}
	say("tidwall/wal", "append, one write each", "M/s", rate(entries, began), nil)
	began = time.Now()
	for i := range entries {
		if _, err := l.Read(uint64(i + 1)); err != nil {
			return err
		}
	}
	say("tidwall/wal", "read", "M/s", rate(entries, began), nil)
	began = time.Now()
	var batch tidwall.Batch
	for i := 0; i < entries; i += 1000 {
		for k := range min(1000, entries-i) {
			batch.Write(uint64(entries+i+k+1), data)
		}
		if err := l.WriteBatch(&batch); err != nil {
			return err
		}
	}
	say("tidwall/wal", "append, batches of 1,000", "M/s", rate(entries, began), nil)
	if err := l.Close(); err != nil {
		return err
	}
	if l, err = tidwall.Open(folder+"-sync", nil); err != nil {
		return err
	}
	defer l.Close()
	var mu sync.Mutex
	next := uint64(0)
	for _, writers := range []int{1, 64} {
		value := concurrently(writers, func() error {
			mu.Lock()
			defer mu.Unlock()
			next++
			return l.Write(next, data)
		})
		say("tidwall/wal", name(writers), "entries/s", value, nil)
	}
	return nil
}

func name(writers int) string {
	if writers == 1 {
		return "fsync each, one writer"
	}
	return fmt.Sprintf("fsync each, %d writers", writers)
}

// concurrently calls write from several goroutines for a while: entries per second.
func concurrently(writers int, write func() error) float64 {
	var done atomic.Int64
	var group sync.WaitGroup
	began := time.Now()
	for range writers {
		group.Go(func() {
			for time.Since(began) < fsyncFor {
				if err := write(); err != nil {
					return
				}
				done.Add(1)
			}
		})
	}
	group.Wait()
	return float64(done.Load()) / time.Since(began).Seconds()
}

func prometheus(folder string, entries int, data []byte) error {
	const system = "Prometheus wlog"
	quiet := slog.New(slog.DiscardHandler)
	l, err := wlog.New(quiet, nil, folder, compression.None)
	if err != nil {
		return err
	}
	began := time.Now()
	for range entries {
		if err := l.Log(data); err != nil {
			return err
		}
	}
	say(system, "append, one write each", "M/s", rate(entries, began), nil)
	batch := make([][]byte, 1000)
	for i := range batch {
		batch[i] = data
	}
	began = time.Now()
	for i := 0; i < entries; i += len(batch) {
		if err := l.Log(batch[:min(len(batch), entries-i)]...); err != nil {
			return err
		}
	}
	say(system, "append, batches of 1,000", "M/s", rate(entries, began), nil)
	if err := l.Close(); err != nil {
		return err
	}
	segments, err := wlog.NewSegmentsReader(folder)
	if err != nil {
		return err
	}
	defer segments.Close()
	reader, found := wlog.NewReader(segments), 0
	began = time.Now()
	for reader.Next() {
		found += len(reader.Record()) / entryBytes
	}
	if err := reader.Err(); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if found != 2*entries {
		return fmt.Errorf("wlog read %d entries of %d", found, 2*entries)
	}
	say(system, "read", "M/s", rate(found, began), nil)
	if l, err = wlog.New(quiet, nil, folder+"-sync", compression.None); err != nil {
		return err
	}
	defer l.Close()
	for _, writers := range []int{1, 64} {
		value := concurrently(writers, func() error {
			if err := l.Log(data); err != nil {
				return err
			}
			return l.Sync()
		})
		say(system, name(writers), "entries/s", value, nil)
	}
	return nil
}
