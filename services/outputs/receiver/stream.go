package receiver

// Delivering bytes over TCP to programs that answer nothing.

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"time"
)

// dialTimeout is how long a connection may take to be made.
const dialTimeout = 10 * time.Second

// Own says whether a port is that of one of the appliance's own inputs; nil: none is. What is sent there would come in again, and be
// sent again, for ever.
type Own func(port int) bool

// refuse is the error of a connection to one of the appliance's own inputs.
func (own Own) refuse(connection net.Conn) error {
	to, err := netip.ParseAddrPort(connection.RemoteAddr().String())
	from, fromErr := netip.ParseAddrPort(connection.LocalAddr().String())
	// Whoever connects to an address of its own machine does so from the same address.
	if own == nil || err != nil || fromErr != nil || to.Addr().Unmap() != from.Addr().Unmap() || !own(int(to.Port())) {
		return nil
	}
	return fmt.Errorf("%s is an input of this appliance itself: name another receiver", to)
}

// Dial connects, and not to the appliance's own inputs.
func (own Own) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	dialer := net.Dialer{Timeout: dialTimeout}
	connection, err := dialer.DialContext(ctx, network, address)
	if err != nil {
		return nil, fmt.Errorf("connecting to %s: %w", address, Reason(err))
	}
	if err := own.refuse(connection); err != nil {
		connection.Close()
		return nil, err
	}
	return connection, nil
}

// DeliverTCP sends bytes over a connection of their own, says that there are no more, and waits until the receiver has closed
// it too: whoever reads lines does so when it has read all of them, and that is the only acknowledgement there is.
func (own Own) DeliverTCP(ctx context.Context, address string, content []byte) error {
	opened, err := own.Dial(ctx, "tcp", address)
	if err != nil {
		return err
	}
	connection := opened.(*net.TCPConn)
	defer connection.Close()
	defer context.AfterFunc(ctx, func() { _ = connection.SetDeadline(time.Unix(1, 0)) })()
	_ = connection.SetDeadline(time.Now().Add(Timeout))
	if _, err := connection.Write(content); err != nil {
		return fmt.Errorf("sending to %s: %w", address, Reason(err))
	}
	if err := connection.CloseWrite(); err != nil {
		return fmt.Errorf("sending to %s: %w", address, Reason(err))
	}
	if _, err := io.Copy(io.Discard, connection); err != nil {
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return fmt.Errorf("%s did not close the connection within %s after everything was sent: whether it has read it is not known", address, Timeout)
		}
		return fmt.Errorf("%s broke the connection off before it had read everything: %w", address, Reason(err))
	}
	return nil
}

// Reason is what happened, without the addresses of both ends, or the path.
func Reason(err error) error {
	var op *net.OpError
	if errors.As(err, &op) && op.Err != nil {
		return op.Err
	}
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}

// CheckAddress says what is wrong with HOST:PORT.
func CheckAddress(address string) error {
	host, port, err := net.SplitHostPort(address)
	if err != nil || host == "" || port == "" {
		return fmt.Errorf("%.100q is no address: write HOST:PORT", address)
	}
	if n, err := net.LookupPort("tcp", port); err != nil || n == 0 {
		return fmt.Errorf("%.20q is no port: it is a number from 1 to 65535", port)
	}
	return nil
}
