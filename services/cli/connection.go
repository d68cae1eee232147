package cli

// The appliance's store for commands that move samples: over HTTPS like everything else, and on the appliance itself by
// storaged's own socket, which root and the group of the web server may use.

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"runtime"
	"time"
)

// StoreSocket is where storaged listens on the appliance itself.
const StoreSocket = runFolder + "/cistern/storaged/http.sock"

// Connection sends requests to an appliance's store.
type Connection struct {
	client *client
	wrong  error // in the options: nothing is sent
}

// Connect is a connection with these options. Nothing is sent yet.
func (o Options) Connect() *Connection {
	if o.Socket == "" {
		o.Socket = StoreSocket
	}
	c := o.clientAt(o.Socket)
	c.http.Timeout = 10 * time.Minute
	return &Connection{c, o.named(nil)}
}

// Name is the appliance's address, or "this appliance".
func (c *Connection) Name() string {
	if c.client.session.URL == "" {
		return "this appliance"
	}
	return c.client.base
}

// Do sends a request and returns the answer, whatever it is; an error means that there was none.
func (c *Connection) Do(ctx context.Context, method, path string, header http.Header, body []byte) (*http.Response, error) {
	if c.wrong != nil {
		return nil, c.wrong
	}
	var content io.Reader
	if body != nil {
		content = bytes.NewReader(body)
	}
	response, err := c.client.send(ctx, method, path, header, content)
	var refused *net.OpError
	switch {
	case err == nil:
		return response, nil
	case c.client.session.URL == "" && !appliances(runtime.GOOS):
		return nil, c.client.unreachable(err)
	case c.client.session.URL == "" && errors.Is(err, fs.ErrPermission):
		return nil, errors.New("only root may do this on the appliance itself; on another machine, name the appliance with --url https://HOST")
	case c.client.session.URL == "" && errors.As(err, &refused):
		return nil, fmt.Errorf("the store does not answer on its socket: %w\nOn another machine, name the appliance with --url https://HOST; on the appliance itself, see whether storaged runs", refused)
	}
	return nil, c.client.unreachable(err)
}
