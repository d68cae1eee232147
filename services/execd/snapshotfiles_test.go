package execd

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func (b *bench) get(verb, body string) string {
	b.t.Helper()
	response, err := b.client.Post("http://unix/v1/"+verb, "application/json", strings.NewReader(body))
	if err != nil {
		b.t.Fatal(err)
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		b.t.Fatalf("%s %s: %d %s %v", verb, body, response.StatusCode, content, err)
	}
	return string(content)
}

func TestFilesOfASnapshot(t *testing.T) {
	b := start(t, "", "")
	b.host.snapshot = t.TempDir()
	outside := filepath.Join(t.TempDir(), "secret")
	for _, err := range []error{
		os.WriteFile(outside, []byte("secret"), 0o600),
		os.Mkdir(filepath.Join(b.host.snapshot, "dir"), 0o755),
		os.WriteFile(filepath.Join(b.host.snapshot, "dir", "file one"), []byte("hello"), 0o600),
		os.Symlink(outside, filepath.Join(b.host.snapshot, "out")),
		os.Symlink("../..", filepath.Join(b.host.snapshot, "up")),
		os.Symlink("dir", filepath.Join(b.host.snapshot, "in")),
		unix.Mkfifo(filepath.Join(b.host.snapshot, "pipe"), 0o600),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	list := b.get("snapshot.list-files", `{"snapshot":"tank/a@s","path":""}`)
	for _, want := range []string{`"name":"dir","kind":"directory"`, `"name":"out","kind":"link"`, `"name":"pipe","kind":"other"`, `"cut":false`} {
		if !strings.Contains(list, want) {
			t.Errorf("no %s in %s", want, list)
		}
	}
	if got := b.get("snapshot.read-file", `{"snapshot":"tank/a@s","path":"dir/file one"}`); got != "hello" {
		t.Errorf("read %q", got)
	}
	for path, code := range map[string]string{
		"out": "conflict", "up/secret": "conflict", "pipe": "conflict", "dir": "conflict", "": "conflict",
		"none": "not_found", "../secret": "invalid_request", "/etc/passwd": "invalid_request", "dir/../../secret": "invalid_request",
	} {
		if status, got := b.call("snapshot.read-file", `{"snapshot":"tank/a@s","path":"`+path+`"}`); got != code || status < 400 {
			t.Errorf("%q: %d %s, want %s", path, status, got, code)
		}
	}
	b.want("snapshot.list-files", `{"snapshot":"tank/a@s","path":"up"}`, 409, "conflict")
	b.want("snapshot.read-file", `{"snapshot":"system/state@s","path":"akd/state.db"}`, 403, "forbidden")
	b.want("snapshot.read-file", `{"snapshot":"tank/a","path":"x"}`, 400, "invalid_request")
	did := strings.Join(b.host.did, ",")
	if mounted := strings.Count(did, "unmount snapshot"); mounted == 0 || strings.Count(did, "mount snapshot") != 2*mounted {
		t.Errorf("not every mount was taken away: %s", did)
	}
}

func TestDiffIsBounded(t *testing.T) {
	b := start(t, "", `case "$1" in
get) printf 'mountpoint\t/srv/a\nmounted\tyes\n' ;;
diff) i=0; while [ $i -lt 3 ]; do printf '1760000000.0\t+\tF\t/srv/a/%s\n' $i; i=$((i+1)); done ;;
esac`)
	answer := b.get("snapshot.diff", `{"snapshot":"tank/a@s1","other":""}`)
	if !strings.Contains(answer, `"mountpoint":"/srv/a"`) || strings.Count(answer, "1760000000.0") != 3 {
		t.Errorf("answered %s", answer)
	}
	b.ran("zfs diff -H -F -t tank/a@s1 tank/a")
	b.want("snapshot.diff", `{"snapshot":"tank/a@s1","other":"tank/b@s2"}`, 400, "invalid_request")
	b.want("snapshot.diff", `{"snapshot":"system/state@s1","other":""}`, 403, "forbidden")
}

func TestSamplesOfADataset(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "log"), []byte(strings.Repeat("GET /products/1234 HTTP/1.1 200\n", 20_000)), 0o600); err != nil {
		t.Fatal(err)
	}
	b := start(t, "", `printf 'type\tfilesystem\nmounted\tyes\nmountpoint\t`+dir+`\nrecordsize\t131072\nvolblocksize\t-\n'`)
	answer := b.get("dataset.sample", `{"dataset":"tank/a","bytes":1048576}`)
	if !strings.Contains(answer, `"sampledBlocks":5`) || !strings.Contains(answer, `"compression":"zstd-19"`) {
		t.Errorf("answered %s", answer)
	}
	b.want("dataset.sample", `{"dataset":"tank/a","bytes":1}`, 400, "invalid_request")
	unmounted := start(t, "", `printf 'type\tfilesystem\nmounted\tno\nmountpoint\t/srv/a\nrecordsize\t131072\n'`)
	unmounted.want("dataset.sample", `{"dataset":"tank/a","bytes":1048576}`, 409, "conflict")
}
