package tracer

// The web server's log: a datagram for each request, sent by nginx as syslog with a JSON object
// (image/common/nginx/cistern.conf.in, log_format cistern). Each becomes a row of http.requests.

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"unicode/utf8"
)

// maxRequests of one second are kept; 20,000 a second is more than nginx serves on the hardware that this is for.
const maxRequests = 20_000

// logBuffer is asked of the kernel for datagrams that wait.
const logBuffer = 4 << 20

type weblog struct {
	mu       sync.Mutex
	rows     []row
	lost     int
	received atomic.Uint64
	bad      atomic.Uint64
}

// take gives out what came since the last time, and how much was lost.
func (w *weblog) take() (rows []row, lost int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	rows, lost = w.rows, w.lost
	w.rows, w.lost = nil, 0
	return rows, lost
}

// listenLog opens the socket, for those who may write to it by their group.
func listenLog(path string) (*net.UnixConn, error) {
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("removing a leftover socket: %w", err)
	}
	c, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		return nil, fmt.Errorf("listening on %s: %w", path, err)
	}
	if err := os.Chmod(path, 0o660); err != nil {
		c.Close()
		return nil, err
	}
	_ = c.SetReadBuffer(logBuffer)
	return c, nil
}

// listen reads until ctx ends.
func (w *weblog) listen(ctx context.Context, c *net.UnixConn) {
	defer context.AfterFunc(ctx, func() { c.Close() })()
	buffer := make([]byte, 64<<10)
	for {
		n, err := c.Read(buffer)
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			if errors.Is(err, syscall.EINTR) || errors.Is(err, syscall.EAGAIN) {
				continue
			}
			return
		}
		w.received.Add(1)
		r, err := parseRequest(buffer[:n])
		w.mu.Lock()
		switch {
		case err != nil:
			w.bad.Add(1)
			w.lost++
		case len(w.rows) >= maxRequests:
			w.lost++
		default:
			w.rows = append(w.rows, r)
		}
		w.mu.Unlock()
	}
}

var errLog = errors.New("this is no line of the web server's log")

// parseRequest reads a datagram: <PRIORITY>TIME TAG: {"c":client,"u":uri,"m":method,"s":status,"t":seconds,"b":bytes},
// all values strings. It is not encoding/json, which would replace bytes that are not UTF-8.
func parseRequest(text []byte) (row, error) {
	at := bytes.IndexByte(text, '{')
	if at < 0 {
		return row{}, errLog
	}
	text = text[at+1:]
	fields := map[string]string{}
	for {
		name, rest, err := jsonString(text)
		if err != nil || len(rest) == 0 || rest[0] != ':' {
			return row{}, errLog
		}
		value, rest, err := jsonString(rest[1:])
		if err != nil || len(rest) == 0 {
			return row{}, errLog
		}
		fields[name] = value
		text = rest[1:]
		if rest[0] == '}' {
			break
		}
		if rest[0] != ',' {
			return row{}, errLog
		}
	}
	client := fields["c"]
	if address, err := netip.ParseAddr(client); err == nil {
		client = address.Unmap().String()
	}
	status, err := strconv.ParseUint(fields["s"], 10, 16)
	seconds, err2 := strconv.ParseFloat(fields["t"], 64)
	size, err3 := strconv.ParseUint(fields["b"], 10, 63)
	uri := fields["u"]
	if err != nil || err2 != nil || err3 != nil || !(seconds >= 0 && seconds < 1e9) {
		return row{}, errLog
	}
	for i := range len(uri) {
		if uri[i] == '?' {
			uri = uri[:i]
			break
		}
	}
	return row{
		at:     []string{client, uri, fields["m"], strconv.FormatUint(status, 10), "", ""},
		number: []float64{0, 0, 0, 0, seconds, float64(size)}, value: 1,
	}, nil
}

// jsonString reads a JSON string of any bytes, as nginx' escape=json writes it: \" \\ \n \r \t \b \f and \u00XX.
func jsonString(text []byte) (value string, rest []byte, err error) {
	if len(text) == 0 || text[0] != '"' {
		return "", nil, errLog
	}
	var b []byte
	for i := 1; i < len(text); i++ {
		switch c := text[i]; c {
		case '"':
			return string(b), text[i+1:], nil
		case '\\':
			i++
			if i == len(text) {
				return "", nil, errLog
			}
			switch text[i] {
			case 'n':
				b = append(b, '\n')
			case 'r':
				b = append(b, '\r')
			case 't':
				b = append(b, '\t')
			case 'b':
				b = append(b, '\b')
			case 'f':
				b = append(b, '\f')
			case 'u':
				if i+5 > len(text) {
					return "", nil, errLog
				}
				code, err := strconv.ParseUint(string(text[i+1:i+5]), 16, 16)
				if err != nil {
					return "", nil, errLog
				}
				b = utf8.AppendRune(b, rune(code))
				i += 4
			default:
				b = append(b, text[i])
			}
		default:
			b = append(b, c)
		}
	}
	return "", nil, errLog
}
