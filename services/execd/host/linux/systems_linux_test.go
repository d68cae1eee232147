package linux

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"cistern/services/execd/host"
	"cistern/services/execd/host/hosttest"
)

// bootPartition is an EFI system partition that mtools made as image/debian/disk.sh does: esp-one has a system in slot A,
// esp-two in both.
func bootPartition(t *testing.T, name string) []byte {
	t.Helper()
	packed, err := os.Open(filepath.Join("testdata", name+".img.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer packed.Close()
	reader, err := gzip.NewReader(packed)
	if err != nil {
		t.Fatal(err)
	}
	image, err := io.ReadAll(reader)
	if err != nil {
		t.Fatal(err)
	}
	return image
}

// slotOf is the beginning of a slot; nothing in it when used is 0.
func slotOf(used uint64) io.ReaderAt {
	head := make([]byte, 4096)
	if used > 0 {
		copy(head, "hsqs")
		binary.LittleEndian.PutUint64(head[40:], used)
	}
	return bytes.NewReader(head)
}

const runsA = "BOOT_IMAGE=/cistern/a/vmlinuz root=PARTLABEL=cistern-a rootfstype=squashfs ro\n"

func TestSlots(t *testing.T) {
	read := func(esp []byte, a, b uint64, kernel string) []host.System {
		t.Helper()
		systems, err := readSlots(bytes.NewReader(esp), []io.ReaderAt{slotOf(a), slotOf(b)}, kernel)
		if err != nil {
			t.Fatal(err)
		}
		return systems
	}
	one, two := bootPartition(t, "esp-one"), bootPartition(t, "esp-two")
	hosttest.Recorded(t, "systems-linux.json", map[string]any{"systems": read(two, 191690365, 4096, runsA)})

	// As it leaves the factory.
	factory := read(one, 191690365, 0, runsA)
	if b := factory[1]; b.Obstacle != "Nothing is installed in this slot." || b.Bytes != nil || b.Version != nil || b.Running || b.Starts != host.StartsNot {
		t.Errorf("an empty slot: %+v", b)
	}
	// The file system was written, and the kernel was not yet.
	if b := read(one, 191690365, 4096, runsA)[1]; b.Obstacle != "Its kernel is missing from the boot partition." {
		t.Errorf("a slot without a kernel: %+v", b)
	}
	if b := read(two, 1, 1, "root=PARTLABEL=cistern-b")[1]; !b.Running {
		t.Errorf("what runs is not seen: %+v", b)
	}
	// Nobody who tries things with the other disk's label is taken for a slot.
	if a := read(two, 1, 1, "root=PARTLABEL=cistern-ab")[0]; a.Running {
		t.Error("a label that only begins alike")
	}
}

func TestBootPartitionsThatAreNone(t *testing.T) {
	image := bootPartition(t, "esp-one")
	broken := func(change func([]byte)) []byte {
		other := slices.Clone(image)
		change(other)
		return other
	}
	environment := bytes.Index(image, []byte(environmentHead))
	sector := int(binary.LittleEndian.Uint16(image[11:]))
	table := int(binary.LittleEndian.Uint16(image[14:])) * sector
	for says, esp := range map[string][]byte{
		"no FAT32 file system":         make([]byte, 4096),
		"EOF":                          {},
		"makes no sense":               broken(func(b []byte) { binary.LittleEndian.PutUint32(b[32:], 1<<31) }),
		"GRUB's environment":           broken(func(b []byte) { b[environment] = 'x' }),
		"cistern: file does not exist": broken(func(b []byte) { binary.LittleEndian.PutUint32(b[44:], 5) }),
		// The root directory's clusters go in a circle.
		"has no end": broken(func(b []byte) {
			const root = 2
			binary.LittleEndian.PutUint32(b[table+root*4:], root)
			data := table + 2*int(binary.LittleEndian.Uint32(b[36:]))*sector
			for at := range int(b[13]) * sector / 32 {
				b[data+at*32] = 0xe5 // deleted; the next cluster is looked into
			}
		}),
	} {
		_, err := readSlots(bytes.NewReader(esp), []io.ReaderAt{slotOf(1), slotOf(0)}, runsA)
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", says, err)
		}
	}
}

func TestChoosingASlot(t *testing.T) {
	folder := t.TempDir()
	put := func(name string, image []byte) string {
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, image, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	before := bootPartition(t, "esp-two")
	// Two system disks, whose clusters are not of the same size.
	first, second := put("first", before), put("second", bootPartition(t, "esp-one"))
	chosen := func(path string) string {
		esp, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer esp.Close()
		boot, err := openFAT(esp)
		if err != nil {
			t.Fatal(err)
		}
		environment, err := readEnvironment(boot)
		if err != nil {
			t.Fatal(err)
		}
		return environment.chosen()
	}
	if err := chooseSlot([]string{second, first}, "b"); err != nil {
		t.Fatal(err)
	}
	if chosen(first) != "b" || chosen(second) != "b" {
		t.Error("not both disks have the other slot")
	}
	after, _ := os.ReadFile(first)
	different := 0
	for i := range after {
		if after[i] != before[i] {
			different++
		}
	}
	if len(after) != len(before) || different != 1 {
		t.Errorf("%d bytes of the partition are different; one letter was to be", different)
	}
	// A disk whose boot partition cannot be used: the others start what they started.
	if err := chooseSlot([]string{first, put("third", make([]byte, 1<<20))}, "a"); err == nil || !strings.Contains(err.Error(), "third") {
		t.Errorf("%v", err)
	}
	if chosen(first) != "b" {
		t.Error("one disk was changed although another one could not be")
	}
}

func TestGrubsEnvironment(t *testing.T) {
	block := func(lines string) *environment {
		text := environmentHead + lines
		return &environment{text: []byte(text + strings.Repeat("#", environmentBytes-len(text)))}
	}
	for lines, want := range map[string]string{
		"slot=a\n":                     "a",
		"slot=b\n":                     "b",
		"":                             "a",
		"slot=\n":                      "a",
		"slot=c\n":                     "a", // GRUB starts the first entry when it has none of that name
		"otherslot=b\n":                "a",
		"saved_entry=x\nslot=b\n":      "b",
		"# WARNING: by hand\nslot=b\n": "b",
	} {
		if got := block(lines).chosen(); got != want {
			t.Errorf("%q starts %s", lines, got)
		}
		text, err := block(lines).choose("b")
		if err != nil || len(text) != environmentBytes || (&environment{text: text}).chosen() != "b" {
			t.Errorf("%q, and then b: %v %q", lines, err, text)
		}
		if rest := strings.ReplaceAll(strings.TrimRight(string(text), "#"), "\nslot=b\n", "\n"); !strings.HasSuffix(rest, "\n") ||
			strings.Contains(lines, "saved_entry") != strings.Contains(rest, "saved_entry=x\n") {
			t.Errorf("%q lost something: %q", lines, rest)
		}
	}
	full := block("long=" + strings.Repeat("x", environmentBytes-len(environmentHead)-8) + "\n")
	if _, err := full.choose("b"); err == nil || !strings.Contains(err.Error(), "full") {
		t.Errorf("%v", err)
	}
}
