// Package diagnostics is how a Go service tells supportd what it is doing: a Unix socket of its own that answers with the
// stacks of all goroutines, the figures of its memory, Go's profiles and metrics. SIGQUIT would print the stacks and end the
// process.
package diagnostics

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	pprofhttp "net/http/pprof"
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

// Serve answers on dir/debug.sock until the process ends, to root and to the process' own user. name is the service's.
func Serve(dir, name string) error {
	listener, err := unixsocket.Listen(filepath.Join(dir, Socket))
	if err != nil {
		return err
	}
	server := &http.Server{Handler: handler(os.Getuid(), name), ConnContext: unixsocket.ConnContext, ReadHeaderTimeout: 5 * time.Second}
	go func() { _ = server.Serve(listener) }()
	return nil
}

func handler(own int, name string) http.Handler {
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
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, _ *http.Request) { metrics(w, name) })
	mux.HandleFunc("GET /debug/pprof/", pprofhttp.Index)
	mux.HandleFunc("GET /debug/pprof/profile", pprofhttp.Profile)
	mux.HandleFunc("GET /debug/pprof/trace", pprofhttp.Trace)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if uid, err := unixsocket.RequestPeerUID(r); err != nil || uid != 0 && uid != own {
			http.Error(w, "for root only", http.StatusForbidden)
			return
		}
		mux.ServeHTTP(w, r)
	})
}

// metrics writes what the runtime counts, in Prometheus' text format.
func metrics(w io.Writer, name string) {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	for _, one := range []struct {
		name, kind, help string
		value            float64
	}{
		{"goroutines", "gauge", "Goroutines.", float64(runtime.NumGoroutine())},
		{"heap_bytes", "gauge", "Memory of objects.", float64(m.HeapAlloc)},
		{"memory_bytes", "gauge", "Memory that the runtime has of the system.", float64(m.Sys - m.HeapReleased)},
		{"collections_total", "counter", "Garbage collections.", float64(m.NumGC)},
	} {
		fmt.Fprintf(w, "# HELP cistern_process_%s %s\n# TYPE cistern_process_%[1]s %[3]s\ncistern_process_%[1]s{service=%[4]q} %[5]g\n",
			one.name, one.help, one.kind, name, one.value)
	}
}
