package execd

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"cistern/services/execd/host"
)

func TestTheLightOfASlot(t *testing.T) {
	b := start(t, absent, "")
	b.host.disks = map[string]string{"/dev/disk/by-id/a": "/dev/sda", "/dev/disk/by-id/b": "/dev/sdb"}
	b.want("disk.locate", `{"disk":"/dev/disk/by-id/a","on":true}`, 200, "")
	if status, _, text := b.answer("disks.list", `{}`); status != 200 || text != "{\"disks\":[]}\n" {
		t.Errorf("%d %s", status, text)
	}
	b.host.listed = []host.Disk{{Name: "c1t0d0", Bytes: 1}}
	if _, _, text := b.answer("disks.list", `{}`); !strings.Contains(text, `"name":"c1t0d0"`) || !strings.Contains(text, `"solidState":null`) {
		t.Error(text)
	}
	b.want("disks.list", `{"more":1}`, 400, "unknown_field")
	b.want("faults.list", `{}`, 200, "")
	b.want("faults.list", `{"more":1}`, 400, "unknown_field")
	b.want("disk.locate", `{"disk":"/dev/disk/by-id/b","on":true}`, 409, "conflict")
	b.want("disk.locate", `{"disk":"/dev/disk/by-id/c","on":true}`, 409, "disk_missing")
	if !slices.Contains(b.host.did, "locate /dev/sda true") {
		t.Errorf("did %v", b.host.did)
	}
}

// TestLocateScript runs the image's script over a /sys of two disks: one in an enclosure, one behind a PCI slot.
func TestLocateScript(t *testing.T) {
	sys := t.TempDir()
	make := func(path, content string) {
		path = filepath.Join(sys, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	link := func(to, path string) {
		path = filepath.Join(sys, path)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.Symlink(filepath.Join(sys, to), path)); err != nil {
			t.Fatal(err)
		}
	}
	make("devices/scsi/0:0:1:0/vendor", "")
	make("devices/scsi/0:0:2:0/vendor", "")
	make("devices/pci0/port/nvme/nvme0/model", "")
	make("class/block/sda/size", "")
	make("class/block/sdb/size", "")
	make("class/block/nvme0n1/size", "")
	make("class/block/vda/size", "")
	make("devices/virtio/x", "")
	link("devices/scsi/0:0:1:0", "class/block/sda/device")
	link("devices/scsi/0:0:2:0", "class/block/sdb/device")
	link("devices/pci0/port/nvme/nvme0", "class/block/nvme0n1/device")
	link("devices/virtio", "class/block/vda/device")
	for slot, device := range map[string]string{"Slot 01": "0:0:1:0", "Slot 02": "0:0:2:0"} {
		make("class/enclosure/0:0:9:0/"+slot+"/locate", "0\n")
		link("devices/scsi/"+device, "class/enclosure/0:0:9:0/"+slot+"/device")
	}
	make("class/leds/0000:01:00.0:enclosure:locate/brightness", "0\n")
	link("devices/pci0/port", "class/leds/0000:01:00.0:enclosure:locate/device")
	for _, c := range []struct {
		disk, on string
		code     int
		light    string
	}{
		{"sdb", "1", 0, "class/enclosure/0:0:9:0/Slot 02/locate"},
		{"sda", "1", 0, "class/enclosure/0:0:9:0/Slot 01/locate"},
		{"sda", "0", 0, "class/enclosure/0:0:9:0/Slot 01/locate"},
		{"nvme0n1", "1", 0, "class/leds/0000:01:00.0:enclosure:locate/brightness"},
		{"vda", "1", 3, ""},
		{"sdz", "1", 3, ""},
		{"../x", "1", 2, ""},
		{"sda", "2", 2, ""},
	} {
		run := exec.Command("../../image/debian/files/usr/lib/cistern/locate", c.disk, c.on)
		run.Env = append(os.Environ(), "CISTERN_SYS="+sys)
		out, _ := run.CombinedOutput()
		if run.ProcessState.ExitCode() != c.code {
			t.Errorf("%s %s: exit code %d, want %d: %s", c.disk, c.on, run.ProcessState.ExitCode(), c.code, out)
		}
		if c.light == "" {
			continue
		}
		if content, _ := os.ReadFile(filepath.Join(sys, c.light)); string(content) != c.on+"\n" {
			t.Errorf("%s %s: the light is %q", c.disk, c.on, content)
		}
	}
	if content, _ := os.ReadFile(filepath.Join(sys, "class/enclosure/0:0:9:0/Slot 02/locate")); string(content) != "1\n" {
		t.Error("another slot's light was switched")
	}
}
