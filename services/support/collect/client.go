package collect

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"
)

// answersWithin is how long gatherd may take until it says that it has begun: long for a process that lives, on a busy machine.
const answersWithin = 30 * time.Second

// Client asks gatherd on its socket.
type Client struct{ Socket string }

// AwayError says that gatherd does not answer: nothing was collected.
type AwayError struct {
	Hangs bool // it took the question, and said nothing
	cause error
}

func (e *AwayError) Error() string {
	return fmt.Sprintf("gatherd, which alone may collect this, does not answer: %v", e.cause)
}

func (e *AwayError) Unwrap() error { return e.cause }

var errEnded = errors.New("gatherd ended in the middle of it; what it had given until then was kept")

// do answers with a response of the kind 2xx, whose body the caller closes.
func (c *Client) do(ctx context.Context, method, path string, body io.Reader, length int64) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, method, "http://gatherd"+path, body)
	if err != nil {
		return nil, err
	}
	request.ContentLength = length
	transport := &http.Transport{DisableKeepAlives: true, ResponseHeaderTimeout: answersWithin, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "unix", c.Socket)
	}}
	if method == http.MethodPut { // as long as a slow disk takes
		transport.ResponseHeaderTimeout = 0
	}
	response, err := (&http.Client{Transport: transport}).Do(request)
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		var asked *url.Error // its words are about HTTP, which nobody chose
		if errors.As(err, &asked) {
			err = asked.Err
		}
		var network net.Error
		return nil, &AwayError{Hangs: errors.As(err, &network) && network.Timeout(), cause: err}
	}
	if response.StatusCode < 300 {
		return response, nil
	}
	defer response.Body.Close()
	var said struct{ Detail string }
	if json.NewDecoder(io.LimitReader(response.Body, 64<<10)).Decode(&said) != nil || said.Detail == "" {
		return nil, fmt.Errorf("gatherd answered %s", response.Status)
	}
	return nil, fmt.Errorf("gatherd: %s", said.Detail)
}

// kept writes on, and keeps why that failed.
type kept struct {
	w   io.Writer
	err error
}

func (k *kept) Write(p []byte) (int, error) {
	n, err := k.w.Write(p)
	k.err = err
	return n, err
}

// lastWords is how long after the deadline of a step gatherd may say what it had until then.
const lastWords = HangGrace + 2*time.Second

// Raw writes what gatherd collects for a step to w, no more than its limit.
func (c *Client) Raw(ctx context.Context, s *Step, w io.Writer) error {
	inner, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(ctx, func() {
		if !errors.Is(ctx.Err(), context.DeadlineExceeded) {
			cancel()
			return
		}
		select {
		case <-inner.Done():
		case <-time.After(lastWords):
			cancel()
		}
	})()
	response, err := c.do(inner, http.MethodGet, "/steps/"+url.PathEscape(s.Category)+"/"+url.PathEscape(s.Name), nil, 0)
	switch {
	case err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded):
		return &AwayError{Hangs: true, cause: errors.New("it has not even begun")}
	case err != nil:
		return errors.Join(ctx.Err(), err)
	}
	defer response.Body.Close()
	out := &kept{w: w}
	_, err = io.CopyN(out, response.Body, s.rawLimit())
	switch {
	case out.err != nil:
		return out.err
	case err == nil:
		// Behind the limit there must be nothing.
		if n, _ := io.ReadFull(response.Body, make([]byte, 1)); n > 0 {
			return ErrCut
		}
	case errors.Is(err, io.EOF):
	case ctx.Err() != nil:
		return ctx.Err()
	default:
		return errEnded
	}
	switch response.Trailer.Get(resultHeader) {
	case resultDone:
		return nil
	case resultNothing:
		return ErrNothing
	case resultCut:
		return ErrCut
	case resultTimeout:
		return context.DeadlineExceeded
	case resultFailed:
		said, err := url.PathUnescape(response.Trailer.Get(errorHeader))
		if err != nil || said == "" {
			said = "it failed, and did not say why"
		}
		return errors.New(said)
	}
	return errEnded
}

// CrashFiles are those that there are.
func (c *Client) CrashFiles(ctx context.Context) ([]CrashFile, error) {
	response, err := c.do(ctx, http.MethodGet, "/crash-files", nil, 0)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	var answer struct{ Files []CrashFile }
	return answer.Files, json.NewDecoder(response.Body).Decode(&answer)
}

// OpenCrashFile is the content of one that was listed.
func (c *Client) OpenCrashFile(ctx context.Context, path string) (io.ReadCloser, error) {
	response, err := c.do(ctx, http.MethodGet, "/crash-files/content?"+url.Values{"path": {path}}.Encode(), nil, 0)
	if err != nil {
		return nil, err
	}
	return response.Body, nil
}

// TryDisk says why a bundle cannot be written to a disk, before it is made.
func (c *Client) TryDisk(ctx context.Context, device string) error {
	response, err := c.do(ctx, http.MethodPost, "/disks/"+url.PathEscape(device), nil, 0)
	if err != nil {
		return err
	}
	return response.Body.Close()
}

// CopyToDisk writes a finished bundle to a disk.
func (c *Client) CopyToDisk(ctx context.Context, device, name string, content io.Reader, length int64) error {
	response, err := c.do(ctx, http.MethodPut, "/disks/"+url.PathEscape(device)+"/"+url.PathEscape(name), content, length)
	if err != nil {
		return err
	}
	return response.Body.Close()
}
