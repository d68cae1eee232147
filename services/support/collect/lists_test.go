package collect

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func write(t *testing.T, path, content string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// Both platforms' lists are data: each step says one thing to do, how long and how much, and no two write the same file.
func TestTheListsOfSteps(t *testing.T) {
	for name, steps := range map[string][]Step{"debian": LinuxSteps(Paths{Run: "/run/cistern", State: "/var/lib/cistern", Opt: "/opt/cistern"}), "omnios": IllumosSteps(Paths{Run: "/run/cistern", State: "/var/lib/cistern", Opt: "/opt/cistern"})} {
		seen := map[string]bool{}
		categories := map[string]bool{}
		for _, s := range steps {
			path := s.Category + "/" + s.Name
			categories[s.Category] = true
			if seen[path] || s.Deadline <= 0 || s.Limit <= 0 {
				t.Errorf("%s %s: twice, or without a deadline or a limit", name, path)
			}
			ways := 0
			for _, way := range []bool{s.Command != nil, s.Files != nil, s.Socket != "", s.Collect != nil} {
				if way {
					ways++
				}
			}
			if ways != 1 || s.Socket != "" && s.Path == "" || strings.ContainsAny(path, " \\:") || strings.Count(path, "/") != 1 {
				t.Errorf("%s %s: %d ways to collect it, or a bad name", name, path, ways)
			}
			for _, pattern := range s.Files {
				if _, err := filepath.Match(pattern, ""); err != nil || !filepath.IsAbs(pattern) {
					t.Errorf("%s %s: the pattern %q", name, path, pattern)
				}
			}
			if s.Binary && !s.OnRequest {
				t.Errorf("%s %s: nothing can be taken out of it, and it was not asked for", name, path)
			}
			if s.Binary && !s.Root {
				t.Errorf("%s %s: what a process had in memory is root's", name, path)
			}
			seen[path] = true
		}
		for _, want := range []string{"identity", "hardware", "kernel", "services", "logs", "zfs", "network", "time", "storage", "configuration", "statistics", "stacks", "crashes", "cores"} {
			if !categories[want] {
				t.Errorf("%s: nothing of %s", name, want)
			}
		}
	}
}

func TestDisksThatWerePluggedIn(t *testing.T) {
	sys := t.TempDir()
	for path, content := range map[string]string{
		"devices/pci/host0/block/sda/removable": "0", "devices/pci/host0/block/sda/size": "1000", "devices/pci/host0/block/sda/ro": "0",
		"devices/pci/usb1/block/sdb/removable": "0", "devices/pci/usb1/block/sdb/size": "2048", "devices/pci/usb1/block/sdb/ro": "0", "devices/pci/usb1/block/sdb/sdb1/size": "2000",
		"devices/pci/usb1/block/sdb/device/vendor": "ACME  ", "devices/pci/usb1/block/sdb/device/model": "Stick",
		"devices/pci/host1/block/sdc/removable": "1", "devices/pci/host1/block/sdc/size": "4096", "devices/pci/host1/block/sdc/ro": "0",
		"devices/pci/host2/block/sr0/removable": "1", "devices/pci/host2/block/sr0/size": "4096",
		"devices/pci/host3/block/sdd/removable": "1", "devices/pci/host3/block/sdd/size": "0",
	} {
		write(t, filepath.Join(sys, path), content+"\n")
	}
	if err := os.Mkdir(filepath.Join(sys, "block"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, at := range map[string]string{"sda": "host0", "sdb": "usb1", "sdc": "host1", "sr0": "host2", "sdd": "host3"} {
		if err := os.Symlink("../devices/pci/"+at+"/block/"+name, filepath.Join(sys, "block", name)); err != nil {
			t.Fatal(err)
		}
	}
	found, err := PluggedIn(sys)
	if err != nil {
		t.Fatal(err)
	}
	got, _ := json.Marshal(found)
	if want := `[{"device":"sdb1","title":"ACME Stick","bytes":1024000},{"device":"sdc","title":"","bytes":2097152}]`; string(got) != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}
