package collect

import (
	"archive/tar"
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// gatherd hands over the database as it is; what is kept is what a program makes of a copy, which goes again.
func TestTheConfigurationIsMadeOfACopy(t *testing.T) {
	state, temporary := t.TempDir(), t.TempDir()
	write(t, filepath.Join(state, "state.db"), "database")
	write(t, filepath.Join(state, "state.db-wal"), "log")
	write(t, filepath.Join(state, "secrets.key"), "never in a bundle")
	node := write(t, filepath.Join(t.TempDir(), "node"), "#!/bin/sh\n[ \"$1 $2\" = '--jitless export.js' ] || exit 1\ncd \"$3\" && cat *\n")
	if err := os.Chmod(node, 0o755); err != nil {
		t.Fatal(err)
	}
	one := Configuration(node, "export.js", state, temporary)
	one.Root = true
	c := serve(t, os.Getuid(), &Server{Steps: []Step{one}})
	var out bytes.Buffer
	err := one.RunBy(t.Context(), &out, func(ctx context.Context, w io.Writer) error { return c.Raw(ctx, &one, w) })
	if err != nil || out.String() != "databaselog" {
		t.Errorf("%q %v", out.String(), err)
	}
	if left, _ := filepath.Glob(filepath.Join(temporary, "*")); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	// An archive that would write elsewhere is refused, whoever it comes from.
	var hostile bytes.Buffer
	archive := tar.NewWriter(&hostile)
	if err := archive.WriteHeader(&tar.Header{Name: "state.db/../../x", Mode: 0o600}); err != nil {
		t.Fatal(err)
	}
	if err := archive.Close(); err != nil {
		t.Fatal(err)
	}
	if err := one.Refine(t.Context(), &hostile, io.Discard); err == nil || !strings.Contains(err.Error(), "no file of akd's database") {
		t.Errorf("%v", err)
	}
}
