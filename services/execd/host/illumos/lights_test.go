package illumos

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"cistern/services/daemon/problem"
	"cistern/services/execd/host"
)

// fakeTopology prints as fmtopo does: two disks in bays of a shelf, one in a chassis whose bay has a light for faults only, and one
// without a bay. The first bay's light is what is in the file light-0; a pattern that does not name just one light is not
// understood.
const fakeTopology = `
[ ! -e "$root/broken" ] || { echo 'fmtopo: failed to open topology tree: permission denied' >&2; exit 1; }
node() { # FMRI, then group, name, type, value of each property
  echo "$1"
  shift
  while [ $# -gt 0 ]; do
    printf '  group: %-30s version: %-3d stability: %s/%s\n' "$1" 1 Private Private
    printf '    %-17s %-8s  %s\n' "$2" "$3" "$4"
    shift 4
  done
  echo
}
shelf=hc://:product-id=X-SHELF:server-id=:chassis-id=500a098-0004/ses-enclosure=0
box=hc://:product-id=BOX:server-id=nas:chassis-id=1/chassis=0
for last; do :; done
printf 'TIME                 UUID\nNov 22 03:00:00 c0ffee\n\n'
light() { # BAY MODE
  node "$shelf/bay=$1?indicator=ident" facility type uint32 '0x1 (LOCATE)' facility mode uint32 "$2"
}
mode() { [ "$(cat "$root/light-$1")" = 1 ] && echo '0x1 (ON)' || echo '0x0 (OFF)'; }
case $last in
'*/bay=*')
  echo 'fmtopo: failed to get storage.logical-disk: prop not found' >&2
  node "$shelf/bay=1"
  node "$shelf/bay=1?indicator=fail" facility type uint32 '0x0 (SERVICE)' facility mode uint32 '0x0 (OFF)'
  light 1 "$(mode 1)"
  node "hc://:product-id=X-SHELF:server-id=:chassis-id=500a098-0004:serial=S2:part=HUS:revision=A1/ses-enclosure=0/bay=1/disk=0" storage logical-disk string c0t5000CCA01234ABCDd0
  light 11 "$(mode 11)"
  node "$shelf/bay=11/disk=0" storage logical-disk string c2t1d0
  node "$box/bay=1?indicator=fail" facility type uint32 '0x0 (SERVICE)' facility mode uint32 '0x0 (OFF)'
  node "$box/bay=1/nvme=0/disk=0" storage logical-disk string c9t0d0
  ;;
hc://:product-id=X-SHELF:server-id=:chassis-id=500a098-0004/ses-enclosure=0/bay=*'\?indicator=ident')
  bay=${last##*bay=}
  bay=${bay%%\\*}
  case $2 in
  facility.mode=uint32:[01]) ;;
  *) exit 2 ;;
  esac
  if [ -e "$root/refuses" ]; then
    echo "$shelf/bay=$bay?indicator=ident"
    echo 'fmtopo: unable to set property value for mode=uint32:1: method failed' >&2
  else
    [ -e "$root/stuck" ] || echo "${2##*:}" >"$root/light-$bay"
    node "$shelf/bay=$bay?indicator=ident" facility mode uint32 "$(mode "$bay")"
  fi
  ;;
*) echo "fmtopo: no such pattern $last" >&2 ;;
esac
`

func TestLightsOfIllumos(t *testing.T) {
	machine, fakes := withFakes(t)
	put := func(path, text string) { fakes.Put(path, text, 0o644) }
	read := func(name string) string {
		text, _ := os.ReadFile(filepath.Join(machine.Root, name))
		return strings.TrimSpace(string(text))
	}
	fakes.Program("usr/lib/fm/fmd/fmtopo", "root="+machine.Root+fakeTopology)
	put("light-1", "0")
	put("light-11", "0")
	const shelfDisk, otherDisk = "/dev/dsk/c0t5000CCA01234ABCDd0", "/dev/dsk/c2t1d0"
	switched := func(disk string, on bool, one, eleven string) {
		t.Helper()
		if err := machine.Locate(context.Background(), disk, on); err != nil {
			t.Errorf("%s %v: %v", disk, on, err)
		}
		if read("light-1") != one || read("light-11") != eleven {
			t.Errorf("%s %v: the lights are %s and %s", disk, on, read("light-1"), read("light-11"))
		}
	}
	switched(shelfDisk, true, "1", "0")
	switched(otherDisk, true, "1", "1")
	switched(shelfDisk, true, "1", "1") // it is on already
	switched(shelfDisk, false, "0", "1")

	for disk, why := range map[string]string{
		"/dev/dsk/c9t0d0": "its bay has another light only",
		"/dev/dsk/c9t1d0": "it is in no bay",
		"/dev/dsk/c0t5":   "there is none of that name",
	} {
		if err := machine.Locate(context.Background(), disk, true); !errors.Is(err, host.ErrNoLight) {
			t.Errorf("%s (%s): %v", disk, why, err)
		}
	}
	for file, says := range map[string]string{
		"stuck":   "the light stayed as it was",
		"refuses": "unable to set property value for mode=uint32:1: method failed",
		"broken":  "failed to open topology tree: permission denied",
	} {
		put(file, "")
		err := machine.Locate(context.Background(), shelfDisk, true)
		var document problem.Document
		if err == nil || !strings.Contains(err.Error(), says) || errors.Is(err, host.ErrNoLight) || (file != "broken" && !errors.As(err, &document)) {
			t.Errorf("%s: %v", file, err)
		}
		_ = os.Remove(filepath.Join(machine.Root, file))
	}
	if read("light-1") != "0" {
		t.Error("what failed has switched it")
	}
}

// TestShelvesAndCards: the topology is asked for shelves only where the system has a device of one, and for cards always.
func TestShelvesAndCards(t *testing.T) {
	machine, fakes := withFakes(t)
	fakes.Program("usr/lib/fm/fmd/fmtopo", `echo "asked: $*"`)
	none, err := machine.Enclosures()
	if err != nil || none != nil {
		t.Errorf("a machine without a shelf: %+v %v", none, err)
	}
	for _, device := range []string{"dev/es/ses0", "dev/scsi/ses/c0t5d0"} {
		fakes.Put(device, "", 0o600)
		found, err := machine.Enclosures()
		if err != nil || len(found) != 1 {
			t.Fatalf("%s: %+v %v", device, found, err)
		}
		said, err := exec.Command(found[0].Command[0], found[0].Command[1:]...).Output()
		if err != nil || string(said) != "asked: -P facility -P storage.logical-disk */ses-enclosure=*\n" {
			t.Errorf("%s: %q %v", device, said, err)
		}
		_ = os.RemoveAll(filepath.Join(machine.Root, filepath.Dir(device)))
	}
	cards, err := machine.Cards(context.Background())
	if err != nil || cards != "asked: -P pci -P io.driver -P protocol.label */pci*fn=*\n" {
		t.Errorf("%q %v", cards, err)
	}
}
