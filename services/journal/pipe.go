package journal

// One journal on a pair of pipes, as JSON lines, for processes that are not written in Go: akd's alert outbox. One
// request is answered after the other; docs/api/journal-pipe.md lists them.

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

type pipeRequest struct {
	ID         json.RawMessage `json:"id"`
	Op         string          `json:"op"`
	Data       []byte          `json:"data"`
	Name       string          `json:"name"`
	At         string          `json:"at"`
	Subscriber string          `json:"subscriber"`
	Max        int             `json:"max"`
	Position   Position        `json:"position"`
}

type pipeEntry struct {
	Position Position `json:"position"`
	Data     []byte   `json:"data"`
}

// maxRead bounds one answer to read: entries and, roughly, bytes.
const (
	maxReadEntries = 1000
	maxReadBytes   = 8 << 20
)

// Pipe serves requests from in until it ends, which is no error. A line that is no request is answered with an error
// and does not end the service.
func (j *Journal) Pipe(in io.Reader, out io.Writer) error {
	lines := bufio.NewReaderSize(in, 64<<10)
	answers := bufio.NewWriter(out)
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) > 0 && !(err != nil && errors.Is(err, io.EOF) && !json.Valid(line)) {
			if err := writeAnswer(answers, j.pipeAnswer(line)); err != nil {
				return fmt.Errorf("answering: %w", err)
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("reading requests: %w", err)
		}
	}
}

func writeAnswer(out *bufio.Writer, answer map[string]any) error {
	text, err := json.Marshal(answer)
	if err != nil {
		return err
	}
	if _, err := out.Write(append(text, '\n')); err != nil {
		return err
	}
	return out.Flush()
}

func (j *Journal) pipeAnswer(line []byte) map[string]any {
	var request pipeRequest
	answer, err := map[string]any{}, json.Unmarshal(line, &request)
	if err == nil {
		answer, err = j.pipeOp(&request)
	}
	if err != nil {
		answer = map[string]any{"ok": false, "error": err.Error()}
	} else {
		answer["ok"] = true
	}
	answer["id"] = request.ID
	return answer
}

func (j *Journal) pipeOp(request *pipeRequest) (map[string]any, error) {
	switch request.Op {
	case "append":
		position, err := j.AppendDurable(Fsync, request.Data)
		return map[string]any{"position": position}, err
	case "subscribe":
		if request.At != "begin" && request.At != "end" {
			return nil, fmt.Errorf(`at must be "begin" or "end", not %q`, request.At)
		}
		position, err := j.Subscribe(request.Name, request.At == "end")
		return map[string]any{"position": position}, err
	case "unsubscribe":
		return map[string]any{}, j.Unsubscribe(request.Name)
	case "read":
		entries, err := j.unread(request.Subscriber, request.Max)
		return map[string]any{"entries": entries}, err
	case "checkpoint":
		return map[string]any{}, j.Checkpoint(request.Subscriber, request.Position)
	case "stat":
		return map[string]any{"stat": j.Stat()}, nil
	}
	return nil, fmt.Errorf("there is no op %q", request.Op)
}

// unread is what a subscriber has not passed yet; its checkpoint stays.
func (j *Journal) unread(subscriber string, most int) ([]pipeEntry, error) {
	from, ok := j.Subscriber(subscriber)
	if !ok {
		return nil, fmt.Errorf("the journal has no subscriber %q", subscriber)
	}
	if most <= 0 || most > maxReadEntries {
		most = maxReadEntries
	}
	reader := j.Read(from)
	defer reader.Close()
	entries, bytes := []pipeEntry{}, 0
	for len(entries) < most && bytes < maxReadBytes {
		entry, err := reader.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		entries = append(entries, pipeEntry{entry.Position, append([]byte{}, entry.Data...)})
		bytes += len(entry.Data)
	}
	return entries, nil
}
