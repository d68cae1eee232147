package collect

// What of a bundle of the OmniOS appliance only root may read, or is answered.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"time"
)

// faults are what the fault manager has diagnosed. It answers nobody without PRIV_SYS_ADMIN, which gatherd has not: so
// execd, which has it, is asked for them with its verb faults.list.
func faults(p Paths) Step {
	return Step{Category: "hardware", Name: "faults.txt", Deadline: time.Minute, Limit: UsualLimit,
		Collect: func(ctx context.Context, limit int64, w io.Writer) error {
			request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://unix/v1/faults.list", strings.NewReader("{}"))
			if err != nil {
				return err
			}
			request.Header.Set("Content-Type", "application/json")
			if err := answer(request, filepath.Join(p.Run, "execd/http.sock"), limit, w); err != nil {
				return fmt.Errorf("execd, which asks the fault manager, did not: %w", err)
			}
			return nil
		},
		Refine: func(_ context.Context, raw io.Reader, w io.Writer) error {
			said, err := io.ReadAll(raw)
			var listed struct{ Text string }
			if parsed := json.Unmarshal(said, &listed); err != nil || parsed != nil {
				_, _ = w.Write(said) // a problem document, or the beginning of a text beyond the limit
				return errors.Join(err, parsed)
			}
			_, err = io.WriteString(w, listed.Text)
			return err
		}}
}

func illumosRoot(p Paths) []Step {
	state := func(path string) string { return filepath.Join(p.State, path) }
	return append(stacksOf(p),
		// Of those, the system does not let gatherd examine execd, tracerd, nginx and snmpd (each has a privilege that it lacks).
		each("stacks", "pstack.txt", long, []string{"pgrep", "-d", " ", "-f", "/opt/cistern/|nginx|snmpd"}, "pstack"),
		each("stacks", "files.txt", long, []string{"pgrep", "-d", " ", "-f", "/opt/cistern/|nginx|snmpd"}, "pfiles"),
		Command("identity", "boot-environments.txt", short, "beadm", "list", "-H"),
		Command("hardware", "disks.txt", long, "diskinfo", "-p"),
		faults(p),
		Command("kernel", "memory.txt", long, "mdb", "-ke", "::memstat"),
		zfs("pool-history.txt", short, "zpool", "history", "-il"),
		Ask("storage", "tracerd.json", filepath.Join(p.Run, "tracerd/http.sock"), "/v1/datasets"),
		Ask("storage", "statistics.json", filepath.Join(p.Run, "tracerd/http.sock"), "/v1/statistics"),
		Configuration("/opt/ooce/node-24/bin/node", filepath.Join(p.Opt, "akd/export-configuration.js"), state("akd"), p.Temporary),
		Files("configuration", "files.txt", "/etc/opt/cistern/nginx.conf", "/etc/opt/cistern/cistern-store.conf", "/etc/opt/cistern/cistern-asked.conf", "/etc/opt/cistern/snmpd.conf", state("identity/hostname"), state("identity/timezone"), state("execd/pools")),
		Files("configuration", "privileged-actions.txt", state("execd/audit.log")),
		Command("crashes", "dump-settings.txt", short, "dumpadm"),
		Command("crashes", "cores.txt", short, "ls", "-la", "/var/cores"),
		Command("crashes", "kernel-dumps.txt", short, "ls", "-laR", "/var/crash"),
		Newest("cores", "newest.core", 256<<20, "/var/cores/core.*"),
	)
}
