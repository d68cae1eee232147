package linux

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"cistern/services/execd/host"
)

// TestEnclosures: of SCSI's devices as the kernel shows them, those that are an enclosure, and a disk that answers for one.
func TestEnclosures(t *testing.T) {
	sys := t.TempDir()
	device := func(place, generic, kind, vendor, model string, more ...string) {
		t.Helper()
		folder := filepath.Join(sys, "devices", place)
		link := filepath.Join(sys, "class/scsi_generic", generic, "device")
		for _, one := range append([]string{folder, filepath.Dir(link)}, more...) {
			if !filepath.IsAbs(one) {
				one = filepath.Join(folder, one)
			}
			if err := os.MkdirAll(one, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		for name, text := range map[string]string{"type": kind, "vendor": vendor, "model": model} {
			if err := os.WriteFile(filepath.Join(folder, name), []byte(text+"\n"), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Symlink(folder, link); err != nil {
			t.Fatal(err)
		}
	}
	if found, err := enclosures(sys); err != nil || len(found) != 0 {
		t.Errorf("a machine without SCSI: %v %v", found, err)
	}
	device("6:0:0:0", "sg0", "0", "EXAMPLE ", "DISK            ")
	device("6:0:1:0", "sg1", "0", "EXAMPLE ", "DISK ANSWERS    ", "enclosure/6:0:1:0")
	device("6:0:8:0", "sg2", "13", "EXAMPLE ", "SHELF24-12G     ")
	found, err := enclosures(sys)
	want := []host.Enclosure{
		{ID: "6:0:1:0", Title: "EXAMPLE DISK ANSWERS", Command: []string{"sg_ses", "--readonly", "--join", "--join", "/dev/sg1"}},
		{ID: "6:0:8:0", Title: "EXAMPLE SHELF24-12G", Command: []string{"sg_ses", "--readonly", "--join", "--join", "/dev/sg2"}},
	}
	if err != nil || !reflect.DeepEqual(found, want) {
		t.Errorf("%+v %v", found, err)
	}
}
