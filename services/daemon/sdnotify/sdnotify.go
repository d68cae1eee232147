// Package sdnotify tells the service manager that a service is ready, in systemd's protocol: datagrams of KEY=VALUE
// lines to the Unix socket that NOTIFY_SOCKET names. Where no manager asks for it (a laptop, SMF) it does nothing.
package sdnotify

import (
	"context"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"time"
)

// Ready says that the service answers now. A nil error without NOTIFY_SOCKET.
func Ready() error { return send("READY=1") }

// Stopping says that the service has begun to end in an orderly way.
func Stopping() error { return send("STOPPING=1") }

// Watchdog tells the service manager again and again that the process is alive, until ctx ends, when the manager asks for it
// by WATCHDOG_USEC (sd_watchdog_enabled(3)): twice as often as it wants.
func Watchdog(ctx context.Context) {
	microseconds, err := strconv.ParseInt(os.Getenv("WATCHDOG_USEC"), 10, 64)
	if pid := os.Getenv("WATCHDOG_PID"); err != nil || microseconds <= 1 || pid != "" && pid != strconv.Itoa(os.Getpid()) {
		return
	}
	ticker := time.NewTicker(time.Duration(microseconds) * time.Microsecond / 2)
	defer ticker.Stop()
	for {
		_ = send("WATCHDOG=1") // one that is lost is followed by the next
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// Status is a sentence that `systemctl status` shows.
func Status(sentence string) error { return send("STATUS=" + strings.ReplaceAll(sentence, "\n", " ")) }

func send(message string) error {
	path := os.Getenv("NOTIFY_SOCKET")
	if path == "" {
		return nil
	}
	// "@name" is Linux's abstract namespace; the net package understands it as it stands.
	connection, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		return fmt.Errorf("telling the service manager %q: %w", message, err)
	}
	defer connection.Close()
	if _, err := connection.Write([]byte(message)); err != nil {
		return fmt.Errorf("telling the service manager %q: %w", message, err)
	}
	return nil
}
