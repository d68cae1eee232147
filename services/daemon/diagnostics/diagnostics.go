// Package diagnostics is how a Go service tells supportd what it is doing: a Unix socket of its own that answers with the
// stacks of all goroutines, and with the figures of its memory. SIGQUIT would tell the same and end the process.
//
// It also has the runtime say all it knows when the process ends by a fatal error: every goroutine, and then SIGABRT, so
// that the system keeps a core.
package diagnostics

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"runtime/pprof"
	"time"

	"cistern/services/daemon/unixsocket"
)

// Socket is the name of the socket in a service's folder below CISTERN_RUN.
const Socket = "debug.sock"

// Serve answers on dir/debug.sock until the process ends, to root and to the process' own user. A service works without
// it, so that it cannot be served is said on standard error and no more.
func Serve(dir string) {
	debug.SetTraceback("crash")
	listener, err := unixsocket.Listen(filepath.Join(dir, Socket))
	if err != nil {
		fmt.Fprintln(os.Stderr, "what this process is doing cannot be asked for:", err)
		return
	}
	server := &http.Server{Handler: handler(os.Getuid()), ConnContext: unixsocket.ConnContext, ReadHeaderTimeout: 5 * time.Second}
	go func() { _ = server.Serve(listener) }()
}

func handler(own int) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /goroutines", func(w http.ResponseWriter, _ *http.Request) {
		_ = pprof.Lookup("goroutine").WriteTo(w, 2)
	})
	mux.HandleFunc("GET /memory", func(w http.ResponseWriter, _ *http.Request) {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		_ = json.NewEncoder(w).Encode(map[string]any{"goroutines": runtime.NumGoroutine(), "heapBytes": m.HeapAlloc, "heapObjects": m.HeapObjects,
			"systemBytes": m.Sys, "stackBytes": m.StackInuse, "collections": m.NumGC, "pauseNanoseconds": m.PauseTotalNs, "limitBytes": debug.SetMemoryLimit(-1)})
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if uid, err := unixsocket.RequestPeerUID(r); err != nil || uid != 0 && uid != own {
			http.Error(w, "for root only", http.StatusForbidden)
			return
		}
		mux.ServeHTTP(w, r)
	})
}
