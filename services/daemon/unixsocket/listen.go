// Package unixsocket opens the Unix sockets on which Cistern's services answer each other: a stale socket of one's own
// is removed, a living one is never stolen, the mode is set before anyone can connect, and the peer's user is known.
package unixsocket

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"
)

// Mode is that of every socket: its owner and its group, nobody else.
const Mode = 0o660

// Listen listens on path. Its folder is made (0755) when it is missing. A socket file on which nobody answers is a
// leftover and is removed; when somebody answers, or path is not a socket, that is an error.
func Listen(path string) (*net.UnixListener, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, fmt.Errorf("making the folder of the socket %s: %w", path, err)
	}
	if err := removeStale(path); err != nil {
		return nil, err
	}
	// Bound under another name and renamed, so that the socket never exists with a wider mode than Mode (the umask
	// belongs to the whole process and is not ours to change).
	temporary := path + ".new"
	if err := os.Remove(temporary); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("removing a leftover socket: %w", err)
	}
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: temporary, Net: "unix"})
	if err != nil {
		return nil, fmt.Errorf("listening on %s: %w", path, err)
	}
	// The listener would remove the temporary name; the next start removes the real one.
	listener.SetUnlinkOnClose(false)
	if err = os.Chmod(temporary, Mode); err == nil {
		err = os.Rename(temporary, path)
	}
	if err != nil {
		listener.Close()
		os.Remove(temporary)
		return nil, fmt.Errorf("placing the socket %s: %w", path, err)
	}
	return listener, nil
}

func removeStale(path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("looking at the socket %s: %w", path, err)
	}
	if info.Mode()&os.ModeSocket == 0 {
		return fmt.Errorf("%s is in the way: it is not a socket; remove it, or give another path", path)
	}
	connection, err := net.DialTimeout("unix", path, time.Second)
	if err == nil {
		connection.Close()
		return fmt.Errorf("another process answers on %s already; stop it first", path)
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("removing the stale socket %s: %w", path, err)
	}
	return nil
}

type connKey struct{}

// ConnContext is for http.Server.ConnContext: it lets RequestPeerUID find the connection of a request.
func ConnContext(ctx context.Context, connection net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, connection)
}

// RequestPeerUID is the user id of the process at the other end of r's connection, as the kernel saw it when the
// connection was made. The server needs ConnContext.
func RequestPeerUID(r *http.Request) (int, error) {
	connection, ok := r.Context().Value(connKey{}).(net.Conn)
	if !ok {
		return -1, errors.New("the connection of this request is not known: http.Server.ConnContext is not set")
	}
	return PeerUID(connection)
}

// PeerUID is the user id of the process at the other end of a Unix connection, as the kernel saw it when the
// connection was made.
func PeerUID(connection net.Conn) (int, error) {
	unix, ok := connection.(*net.UnixConn)
	if !ok {
		return -1, fmt.Errorf("a %T has no peer credentials", connection)
	}
	raw, err := unix.SyscallConn()
	if err != nil {
		return -1, fmt.Errorf("peer credentials: %w", err)
	}
	uid, inner := -1, error(nil)
	if err := raw.Control(func(fd uintptr) { uid, inner = peerUID(int(fd)) }); err != nil {
		return -1, fmt.Errorf("peer credentials: %w", err)
	}
	if inner != nil {
		return -1, fmt.Errorf("peer credentials: %w", inner)
	}
	return uid, nil
}
