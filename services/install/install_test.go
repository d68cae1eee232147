package install

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"testing/iotest"
)

// medium is what a stick holds, with a system of some MiB; the real programs write it.
func medium(t *testing.T) Medium {
	t.Helper()
	for _, program := range []string{"sfdisk", "mformat", "mmd", "mcopy"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Fatalf("%v: ./build.sh prepare tools go installs it", err)
		}
	}
	dir := t.TempDir()
	m := Medium{Files: dir, System: filepath.Join(dir, "system")}
	system := make([]byte, 5*mib)
	source := rand.NewChaCha8([32]byte{1})
	_, _ = source.Read(system)
	copy(system, "hsqs")
	binary.LittleEndian.PutUint64(system[40:], uint64(len(system)-100))
	put(t, m.System, system)
	for _, name := range files {
		content := make([]byte, 200_000)
		_, _ = source.Read(content)
		put(t, filepath.Join(dir, name), content)
	}
	sum := sha256.Sum256(system)
	put(t, filepath.Join(dir, "cistern/a/image.cfg"), []byte("set image="+hex.EncodeToString(sum[:])+"\n# of the suite forky: dtrace\n"))
	return m
}

func put(t *testing.T, path string, content []byte) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, content, 0o644)); err != nil {
		t.Fatal(err)
	}
}

// emptyDisk is a plain file that stands for a disk.
func emptyDisk(t *testing.T, name string) Disk {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	put(t, path, nil)
	if err := os.Truncate(path, SmallestDisk); err != nil {
		t.Fatal(err)
	}
	return Disk{Name: name, Path: path, Bytes: SmallestDisk}
}

type tableOf struct {
	Partitions []struct {
		Start, Size      int64
		Type, UUID, Name string
	}
}

func readTable(t *testing.T, path string) tableOf {
	t.Helper()
	out, err := exec.Command("sfdisk", "--json", path).Output()
	if err != nil {
		t.Fatal(err)
	}
	var document struct {
		PartitionTable tableOf `json:"partitiontable"`
	}
	if err := json.Unmarshal(out, &document); err != nil {
		t.Fatal(err)
	}
	return document.PartitionTable
}

func TestTwoDisks(t *testing.T) {
	m := medium(t)
	a, b := emptyDisk(t, "a"), emptyDisk(t, "b")
	steps := map[string][]string{}
	if err := To(t.Context(), m, []Disk{a, b}, func(s Step) {
		if known := steps[s.Disk]; len(known) == 0 || known[len(known)-1] != s.What {
			steps[s.Disk] = append(known, s.What)
		}
	}); err != nil {
		t.Fatal(err)
	}
	for disk, want := range map[string]string{
		"a":   "partitioning; writing the boot files; reading it back; done",
		"a b": "writing the system",
		"b":   "partitioning; writing the boot files; reading it back; done",
	} {
		if got := strings.Join(steps[disk], "; "); got != want {
			t.Errorf("%s: %s", disk, got)
		}
	}
	first, second := readTable(t, a.Path), readTable(t, b.Path)
	for i, want := range parts() {
		for _, got := range []tableOf{first, second} {
			if p := got.Partitions[i]; p.Name != want.name || !strings.EqualFold(p.Type, want.kind) || p.Start != want.start || want.sectors > 0 && p.Size != want.sectors {
				t.Errorf("%+v, want %+v", p, want)
			}
		}
	}
	own, other := strings.ToLower(first.Partitions[4].UUID), strings.ToLower(second.Partitions[4].UUID)
	if own[:35] != other[:35] || own[35] != '0' || other[35] != '1' {
		t.Errorf("the pool's partitions are %s and %s", own, other)
	}
	for _, d := range []Disk{a, b} {
		checkDisk(t, m, d)
	}
}

// checkDisk compares what is on a finished disk with the medium.
func checkDisk(t *testing.T, m Medium, d Disk) {
	t.Helper()
	disk, err := os.Open(d.Path)
	if err != nil {
		t.Fatal(err)
	}
	defer disk.Close()
	read := func(name string) []byte {
		content, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		return content
	}
	place := parts()
	at := func(number, length int) []byte {
		content := make([]byte, length)
		from := int64(0)
		if number > 0 {
			from = place[number-1].start * sector
		}
		if _, err := disk.ReadAt(content, from); err != nil {
			t.Fatal(err)
		}
		return content
	}
	if system := read(m.System); !bytes.Equal(at(numberA, len(system)), system) {
		t.Error("the system is not in slot A")
	}
	if core := read(filepath.Join(m.Files, "cistern/bios/core.img")); !bytes.Equal(at(numberBIOS, len(core)), core) {
		t.Error("GRUB's second stage is not in its partition")
	}
	if boot := read(filepath.Join(m.Files, "cistern/bios/boot.img")); !bytes.Equal(at(0, bootCode), boot[:bootCode]) || at(0, sector)[510] != 0x55 {
		t.Error("the first sector")
	}
	for _, name := range files {
		out, err := exec.Command("mcopy", "-i", fmt.Sprintf("%s@@%d", d.Path, place[numberESP-1].start*sector), "::/"+name, "-").Output()
		if err != nil || !bytes.Equal(out, read(filepath.Join(m.Files, name))) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Cut off anywhere, a disk is either as it was, or one that says that it is not finished and that nothing starts from.
func TestCutOff(t *testing.T) {
	m := medium(t)
	for after := range 12 {
		d := emptyDisk(t, "a")
		ctx, cut := context.WithCancel(t.Context())
		step := 0
		err := To(ctx, m, []Disk{d}, func(Step) {
			if step == after {
				cut()
			}
			step++
		})
		cut()
		if err == nil {
			if after < 5 {
				t.Fatalf("it went on after it was cut off at step %d", after)
			}
			checkDisk(t, m, d)
			continue
		}
		code := make([]byte, bootCode)
		disk, openErr := os.Open(d.Path)
		if openErr != nil {
			t.Fatal(openErr)
		}
		_, _ = disk.ReadAt(code, 0)
		_ = disk.Close()
		if !bytes.Equal(code, make([]byte, bootCode)) {
			t.Errorf("cut off at step %d: a BIOS would start it", after)
		}
		if after == 0 {
			continue // before anything was written
		}
		for _, p := range readTable(t, d.Path).Partitions {
			if p.Name != unfinished || !strings.EqualFold(p.Type, typeOther) {
				t.Errorf("cut off at step %d: %+v", after, p)
			}
		}
		// Begun anew, it is done.
		if err := To(t.Context(), m, []Disk{d}, func(Step) {}); err != nil {
			t.Fatal(err)
		}
		checkDisk(t, m, d)
	}
}

func TestDamagedMedium(t *testing.T) {
	for name, damage := range map[string]func(m Medium){
		"has not the checksum": func(m Medium) {
			file, _ := os.OpenFile(m.System, os.O_RDWR, 0)
			_, _ = file.WriteAt([]byte("x"), 3*mib)
			_ = file.Close()
		},
		"there is no system on it":    func(m Medium) { put(t, m.System, make([]byte, mib)) },
		"cistern/a/initrd is missing": func(m Medium) { put(t, filepath.Join(m.Files, "cistern/a/initrd"), nil) },
		"should hold a checksum":      func(m Medium) { put(t, filepath.Join(m.Files, "cistern/a/image.cfg"), []byte("?")) },
	} {
		m := medium(t)
		damage(m)
		if err := To(t.Context(), m, []Disk{emptyDisk(t, "a")}, func(Step) {}); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// What a disk reports is the disk's fault, and what the medium reports is the medium's.
func TestFaultyDiskOrMedium(t *testing.T) {
	broken := &os.PathError{Op: "write", Path: "/dev/sda", Err: syscall.EIO}
	a, b := emptyDisk(t, "a"), emptyDisk(t, "b")
	_, err := diskWriter{a, writerOf(func([]byte) (int, error) { return 0, broken })}.Write(nil)
	if err == nil || err.Error() != "the disk a: write /dev/sda: input/output error: the disk or its cable is faulty; install to another one" {
		t.Error(err)
	}
	_, err = mediumReader{iotest.ErrReader(syscall.EIO)}.Read(nil)
	if err == nil || err.Error() != "the medium cannot be read: input/output error; write it again, or take another stick" {
		t.Error(err)
	}
	// The second disk is too small for what belongs behind the system; the first is no more finished than it is.
	if err := os.Truncate(b.Path, 500*mib); err != nil {
		t.Fatal(err)
	}
	err = To(t.Context(), medium(t), []Disk{a, b}, func(Step) {})
	if err == nil || !strings.HasPrefix(err.Error(), "the disk b: ") || !strings.HasSuffix(err.Error(), "; neither disk is finished, and no machine starts from them") {
		t.Error(err)
	}
	for _, p := range readTable(t, a.Path).Partitions {
		if p.Name != unfinished {
			t.Errorf("%+v", p)
		}
	}
}

type writerOf func([]byte) (int, error)

func (w writerOf) Write(p []byte) (int, error) { return w(p) }

func TestDiskThatIsGone(t *testing.T) {
	d := emptyDisk(t, "a")
	if err := os.Remove(d.Path); err != nil {
		t.Fatal(err)
	}
	if err := To(t.Context(), medium(t), []Disk{d}, func(Step) {}); err == nil || !strings.HasPrefix(err.Error(), "the disk a: ") {
		t.Error(err)
	}
}

// The places are those of image/debian/disk.sh.
func TestLayoutAgrees(t *testing.T) {
	text, err := os.ReadFile("../../image/debian/disk.sh")
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]int{"BIOS_MIB": biosMiB, "ESP_MIB": espMiB, "SLOT_MIB": slotMiB} {
		if found := regexp.MustCompile(`(?m)^` + name + `=(\d+)$`).FindSubmatch(text); found == nil || string(found[1]) != fmt.Sprint(want) {
			t.Errorf("%s is not %d in disk.sh", name, want)
		}
	}
	for _, p := range parts()[:4] {
		if !strings.Contains(string(text), "type="+p.kind+", name="+p.name+"\n") {
			t.Errorf("disk.sh has no partition %s of the type %s", p.name, p.kind)
		}
	}
	pool, err := os.ReadFile("../../image/debian/files/usr/lib/cistern/system-pool")
	if err != nil || !strings.Contains(string(pool), "type="+typePool) || !strings.Contains(string(pool), "cistern-pool-new") {
		t.Errorf("system-pool makes another partition (%v)", err)
	}
}

const lsblk = `{"blockdevices": [
 {"name":"sda","path":"/dev/sda","type":"disk","model":"INTEL SSDSC2KB48 ","serial":"PHYF1","tran":"sata","size":480103981056,"log-sec":512,"ro":false,"fstype":null,"label":null,"partlabel":null,"pttype":null,"mountpoints":[null]},
 {"name":"sdb","path":"/dev/sdb","type":"disk","model":"ST4000NM","serial":"ZC1","tran":"sas","size":4000787030016,"log-sec":512,"ro":false,"fstype":null,"label":null,"partlabel":null,"pttype":"gpt","mountpoints":[null],"children":[
  {"name":"sdb1","path":"/dev/sdb1","type":"part","size":4000776716288,"log-sec":512,"ro":false,"fstype":"zfs_member","label":"tank","partlabel":"zfs-1","pttype":"gpt","mountpoints":[null]},
  {"name":"sdb9","path":"/dev/sdb9","type":"part","size":8388608,"log-sec":512,"ro":false,"fstype":null,"label":null,"partlabel":null,"pttype":"gpt","mountpoints":[null]}]},
 {"name":"sdc","path":"/dev/sdc","type":"disk","model":"Stick","serial":"U1","tran":"usb","size":31457280000,"log-sec":512,"ro":false,"fstype":null,"label":null,"partlabel":null,"pttype":"gpt","mountpoints":[null]},
 {"name":"sdd","path":"/dev/sdd","type":"disk","model":"Small","serial":"S1","tran":"sata","size":4000000000,"log-sec":512,"ro":false,"fstype":"isw_raid_member","label":null,"partlabel":null,"pttype":null,"mountpoints":[null]},
 {"name":"sde","path":"/dev/sde","type":"disk","model":"Cut","serial":"C1","tran":"sata","size":480103981056,"log-sec":512,"ro":false,"fstype":null,"label":null,"partlabel":null,"pttype":"gpt","mountpoints":[null],"children":[
  {"name":"sde1","path":"/dev/sde1","type":"part","size":1048576,"log-sec":512,"ro":false,"fstype":null,"label":null,"partlabel":"cistern-unfinished","pttype":"gpt","mountpoints":[null]}]},
 {"name":"nvme0n1","path":"/dev/nvme0n1","type":"disk","model":"4K","serial":"N1","tran":"nvme","size":480103981056,"log-sec":4096,"ro":false,"fstype":null,"label":null,"partlabel":null,"pttype":null,"mountpoints":[null]},
 {"name":"sdf","path":"/dev/sdf","type":"disk","model":"Raid","serial":"R1","tran":"sata","size":480103981056,"log-sec":512,"ro":false,"fstype":"linux_raid_member","label":"nas:0","partlabel":null,"pttype":null,"mountpoints":[null]},
 {"name":"sdg","path":"/dev/sdg","type":"disk","model":"Vol","serial":"L1","tran":"sata","size":480103981056,"log-sec":512,"ro":false,"fstype":null,"label":null,"partlabel":null,"pttype":"dos","mountpoints":[null],"children":[
  {"name":"sdg1","path":"/dev/sdg1","type":"part","size":480102932480,"log-sec":512,"ro":false,"fstype":"LVM2_member","label":null,"partlabel":null,"pttype":"dos","mountpoints":[null]}]},
 {"name":"sr0","path":"/dev/sr0","type":"rom","size":0,"log-sec":2048,"ro":false,"mountpoints":[null]}
]}`

func TestDisksInWords(t *testing.T) {
	disks, err := disksIn([]byte(lsblk), "sdc")
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, d := range disks {
		lines = append(lines, strings.Join(strings.Fields(Line(d)), " "))
	}
	if got := strings.Join(lines, "\n"); got != `nvme0n1 480 GB 4K N1 nvme empty; cannot be taken: it has sectors of 4096 bytes; only 512 are supported for a system disk
sda 480 GB INTEL SSDSC2KB48 PHYF1 sata empty
sdb 4.0 TB ST4000NM ZC1 sas the ZFS pool "tank"
sdd 4.0 GB Small S1 sata a disk of a RAID controller (isw); cannot be taken: it is too small: it holds 4.0 GB, and 6.7 GB are needed
sde 480 GB Cut C1 sata an installation of Cistern that was not finished
sdf 480 GB Raid R1 sata a side of the software RAID "nas:0"
sdg 480 GB Vol L1 sata a volume of LVM` {
		t.Error(got)
	}
}

func TestConversation(t *testing.T) {
	disks, err := disksIn([]byte(lsblk), "sdc")
	if err != nil {
		t.Fatal(err)
	}
	for typed, want := range map[string]string{
		"\n":                       "left",
		"sdz\n\n":                  `There is no disk called "sdz" here.`,
		"sdd\n\n":                  "sdd cannot be taken: it is too small",
		"sda sda\n\n":              "sda twice is no mirror.",
		"sda sdb sde\n\n":          "3 names: a system lies on one disk or on two.",
		"sda\nno\n":                "back",
		"sda\nyes\n":               "sda",
		"sdb\nyes\n":               "back", // it is not empty: its name has to be typed
		"sdb\nsdb\n":               "sdb",
		"/dev/sda sdb\nyes\nsdb\n": "sda sdb",
		"sdb\nsda\n":               "back",
		"sdz\nsde\nsde\n":          "sde",
		"":                         "EOF",
	} {
		var out strings.Builder
		chosen, err := Ask(bufio.NewReader(strings.NewReader(typed)), &out, disks)
		var names []string
		for _, d := range chosen {
			names = append(names, d.Name)
		}
		got := strings.Join(names, " ")
		switch {
		case errors.Is(err, ErrBack):
			got = "back"
		case errors.Is(err, ErrLeft):
			got = "left"
		case err != nil:
			got = err.Error()
		}
		if got != want && !strings.Contains(out.String(), want) {
			t.Errorf("%q: %s\n%s", typed, got, out.String())
		}
	}
	var out strings.Builder
	if _, err := Ask(bufio.NewReader(strings.NewReader("")), &out, nil); !errors.Is(err, ErrBack) || !strings.Contains(out.String(), "There is no disk to install to") {
		t.Error(err, out.String())
	}
}

// stick is a file with a FAT file system, and the answer file in it when there is one.
func stick(t *testing.T, answers string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "stick")
	run := func(argv ...string) {
		command := exec.Command(argv[0], argv[1:]...)
		command.Stdin = strings.NewReader(answers)
		if out, err := command.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	run("mformat", "-C", "-i", path, "-T", "2880", "-h", "2", "-s", "18", "::")
	if answers != "" {
		run("mmd", "-i", path, "::/cistern")
		run("mcopy", "-i", path, "-", "::/cistern/install.json")
	}
	return path
}

func TestAnswersOnSticks(t *testing.T) {
	one, two, none := stick(t, `{"disks":["A"],"then":"restart"}`), stick(t, `{"disks":["B"],"then":"restart"}`), stick(t, "")
	// A disk of the machine is no stick, whatever is on it; the medium is one on any bus.
	list := func(bus, first, second string) []byte {
		return fmt.Appendf(nil, `{"blockdevices":[
 {"name":"sda","path":"/dev/sda","type":"disk","model":"Ultra","serial":"U1","tran":%q,"rm":false,"children":[{"name":"sda2","path":%q,"type":"part","fstype":"vfat"}]},
 {"name":"sdb","path":%q,"type":"disk","model":"Flash","serial":"F1","tran":"usb","rm":true,"fstype":"vfat","children":[{"name":"sdb1","path":%q,"type":"part","fstype":"vfat"}]},
 {"name":"sdc","path":%q,"type":"disk","model":"SSD","serial":"S1","tran":"sata","rm":false,"children":[{"name":"sdc1","path":%q,"type":"part","fstype":"vfat"}]}]}`, bus, first, second, second, one, one)
	}
	for name, c := range map[string]struct {
		list []byte
		from string
		want string
	}{
		"the medium":    {list("virtio", one, none), "sda", "[A]"},
		"another stick": {list("usb", none, two), "sr0", "[B]"},
		"none":          {list("usb", none, none), "sr0", ErrNoAnswers.Error()},
		"no medium":     {list("virtio", one, none), "sr0", ErrNoAnswers.Error()},
		"two":           {list("usb", one, two), "sr0", "2 sticks have an answer file, sda2 Ultra U1 and sdb Flash F1: leave in the one that is meant, and start again"},
		"a wrong one":   {list("usb", stick(t, "?"), none), "sda", "install.json cannot be read: "},
	} {
		answers, err := answersIn(t.Context(), c.list, c.from)
		got := ""
		if err != nil {
			got = err.Error()
		} else {
			got = fmt.Sprint(answers.Disks)
		}
		if !strings.HasPrefix(got, c.want) {
			t.Errorf("%s: %s", name, got)
		}
	}
}

func TestAnswers(t *testing.T) {
	disks, err := disksIn([]byte(lsblk), "sdc")
	if err != nil {
		t.Fatal(err)
	}
	nothing := &Answers{Disks: []string{"X"}, Then: "restart"}
	if _, err := nothing.Choose(nil); err == nil || !strings.HasSuffix(err.Error(), "there are: no disks at all") {
		t.Error(err)
	}
	twin := disks[1]
	twin.Name, twin.Serial = "sdx", "TWIN"
	again := twin
	again.Name = "sdy"
	disks = append(disks, twin, again)
	for text, want := range map[string]string{
		`{"disks":["PHYF1"],"then":"restart"}`:                             "sda",
		`{"disks":["PHYF1","ZC1"],"overwrite":["ZC1"],"then":"power-off"}`: "sda sdb",
		`{"disks":["ZC1"],"then":"restart"}`:                               `is not empty: the ZFS pool "tank"`,
		`{"disks":["S1"],"overwrite":["S1"],"then":"restart"}`:             "cannot be taken: it is too small",
		`{"disks":["GONE"],"then":"restart"}`:                              `there is none of that serial number; there are: "N1" (nvme0n1, 480 GB)`,
		`{"disks":["PHYF1","PHYF1"],"then":"restart"}`:                     "twice",
		`{"disks":["TWIN"],"then":"restart"}`:                              "2 disks have that serial number",
		`{"disks":[""],"then":"restart"}`:                                  "there is none",
		`{"disks":[],"then":"restart"}`:                                    "names 0 disks",
		`{"disks":["PHYF1"],"then":"reboot"}`:                              `"then" is "reboot"; it must be "restart" or "power-off"`,
		`{"disks":["PHYF1"],"overwrit":["ZC1"],"then":"restart"}`:          `unknown field "overwrit"`,
		`{"disks":["PHYF1"],"then":"restart"} and more`:                    "goes on after its end",
		`disks: PHYF1`: "install.json cannot be read",
	} {
		var got string
		a, err := ReadAnswers(strings.NewReader(text))
		if err == nil {
			var chosen []Disk
			chosen, err = a.Choose(disks)
			var names []string
			for _, d := range chosen {
				names = append(names, d.Name)
			}
			got = strings.Join(names, " ")
		}
		if err != nil {
			got = err.Error()
		}
		if got != want && (err == nil || !strings.Contains(got, want)) {
			t.Errorf("%s: %s", text, got)
		}
	}
}
