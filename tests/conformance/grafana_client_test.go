//go:build clients

package conformance

// Grafana's own client of Prometheus, npm's @grafana/prometheus, in Node: its data source asks the real daemon what is asked when
// it is saved, when a dashboard is opened and while a query is built, and understands the answers. By night: it comes with the whole of
// Grafana's user interface, half a gigabyte. The package is AGPL-3.0, and nothing but this test uses it.

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
)

// grafanaPackages is a folder with what grafana/package-lock.json names.
func grafanaPackages(t *testing.T) string {
	t.Helper()
	lock, err := os.ReadFile("grafana/package-lock.json")
	if err != nil {
		t.Fatal(err)
	}
	return filled(t, fmt.Sprintf("npm-grafana-%.6x", sha256.Sum256(lock)), 20*time.Minute, func(ctx context.Context, folder string) error {
		copyFiles(t, folder, "grafana/package.json", "grafana/package-lock.json")
		return run(ctx, folder, "npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts")
	})
}

func copyFiles(t *testing.T, folder string, paths ...string) {
	t.Helper()
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err == nil {
			err = os.WriteFile(filepath.Join(folder, filepath.Base(path)), text, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func TestGrafanaClient(t *testing.T) {
	// Below the packages, which is where Node looks for them.
	scripts, err := os.MkdirTemp(grafanaPackages(t), "run-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(scripts)
	copyFiles(t, scripts, "grafana/browser.mjs", "grafana/client.mjs", "grafana/nothing.cjs", "grafana/server.mjs")
	d := storaged(t)
	exporter, err := otlpmetrichttp.New(t.Context(), otlpmetrichttp.WithEndpoint(d.http), otlpmetrichttp.WithInsecure())
	if err != nil {
		t.Fatal(err)
	}
	goClient(t, "grafana", exporter)
	now := d.sends(t)
	var buckets []imported
	for i := range int64(60) {
		for le, count := range map[string]float64{"0.1": 10, "1": 30, "+Inf": 40} {
			buckets = append(buckets, imported{"shop_time_bucket", map[string]string{"le": le}, now - 59 + i, count})
		}
	}
	d.imports(t, buckets)
	command := exec.CommandContext(t.Context(), "node", filepath.Join(scripts, "client.mjs"), "http://"+d.http, fmt.Sprint(now))
	out, err := command.CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	t.Logf("%s", out)
}
