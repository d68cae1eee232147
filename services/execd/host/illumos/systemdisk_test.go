package illumos

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cistern/services/daemon/problem"
)

// systemZpool is a zpool that gives the disk a label before it takes it, and whose commands fail on demand: what is in the
// file fails is the one that does; attach may fail before or after the label.
const systemZpool = `
fail() { [ "$(cat "$root/fails" 2>/dev/null)" != "$1" ] || { echo "cannot $1: the test says so" >&2; exit 1; }; }
case $1 in
get) fail get; cat "$root/bootsize" ;;
list)
  fail list
  printf 'rpool\n'
  if [ -e "$root/taken" ]; then printf '\tmirror\n\tc1t0d0s1\n\t%ss1\n' "$(sed 's,/dev/dsk/,,' "$root/taken")"; else printf '\tc1t0d0s1\n'; fi
  ;;
attach)
  fail attach
  printf 'EFI PART' | dd of="$root/dev/rdsk/${4##*/}" bs=512 seek=1 conv=notrunc 2>/dev/null
  fail attach-labelled
  [ "$(cat "$root/fails" 2>/dev/null)" = silently ] || echo "$4" >"$root/taken"
  ;;
detach) fail detach; rm "$root/taken" ;;
labelclear) exit 1 ;;
esac
`

func TestSecondSystemDiskOfIllumos(t *testing.T) {
	const disk, leaf = "/dev/dsk/c4t0d0", "c1t0d0s1"
	steps := []string{"zpool list -v -H -P -o name rpool", "zpool get -Hp -o value bootsize rpool", "zpool attach rpool " + leaf + " " + disk,
		"zpool list -v -H -P -o name rpool", "bootadm install-bootloader -M -P rpool"}
	for _, c := range []struct {
		name     string
		fails    string
		bootsize string
		disk     string
		code     string // of the problem, if it is one
		says     []string
		taken    bool
		erased   bool // the beginning is zeros; else it is as it was, unless it was taken
	}{
		{name: "all is well", taken: true},
		{name: "no pool", fails: "list", says: []string{"cannot list"}},
		{name: "no property", fails: "get", says: []string{"cannot get"}},
		{name: "no boot partition", bootsize: "-", code: "conflict", says: []string{"bootsize is '-'", "Log in, give c4t0d0 a label"}},
		{name: "a smaller disk", disk: "/dev/dsk/c2t1d0", code: "disk_too_small", says: []string{"holds 1000 MiB", "needs 16384 MiB"}},
		{name: "no such disk", disk: "/dev/dsk/c3t0d0", code: "disk_missing"},
		{name: "refused at once", fails: "attach", says: []string{"cannot attach"}},
		{name: "refused when it had a label", fails: "attach-labelled", says: []string{"cannot attach-labelled"}, erased: true},
		{name: "not taken, and no word of it", fails: "silently", says: []string{"is not in the pool rpool"}, erased: true},
		{name: "no boot loader", fails: "bootadm", says: []string{"cannot bootadm"}, erased: true},
		{name: "no boot loader, and it stays", fails: "bootadm detach", says: []string{"cannot bootadm", "c4t0d0 stays in the pool rpool, without a boot loader", "cannot detach"}, taken: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			machine, fakes := withFakes(t)
			put := func(path, text string) { fakes.Put(path, text, 0o644) }
			raw := filepath.Join(machine.Root, "dev/rdsk/c4t0d0")
			old := bytes.Repeat([]byte("somebody's "), 10000)
			put("dev/rdsk/c4t0d0", string(old))
			if err := os.Truncate(raw, 17179869184); err != nil {
				t.Fatal(err)
			}
			first, second, _ := strings.Cut(c.fails, " ")
			script := "root=" + machine.Root
			fakes.Program("bin/zpool", script+systemZpool)
			fakes.Program("bin/bootadm", script+"\n[ '"+first+"' != bootadm ] || { echo '"+second+"' >$root/fails; echo 'cannot bootadm: the test says so' >&2; exit 1; }\n")
			put("fails", first)
			put("bootsize", c.bootsize+map[bool]string{true: "268435456"}[c.bootsize == ""]+"\n")
			if c.disk == "" {
				c.disk = disk
			}
			err := machine.AttachSystemDisk(context.Background(), c.disk)
			ran := fakes.Calls()
			if c.says == nil && c.code == "" {
				at := -1
				for _, step := range steps {
					next := strings.Index(ran[at+1:], step+"\n")
					if next < 0 {
						t.Fatalf("%s did not run in its turn:\n%s", step, ran)
					}
					at += 1 + next
				}
				if err != nil {
					t.Error(err)
				}
			} else if err == nil {
				t.Error("it did not fail")
			}
			text := ""
			if err != nil {
				text = err.Error()
			}
			var document problem.Document
			if errors.As(err, &document) {
				text += document.Action
			}
			if c.code != "" && document.Code != c.code {
				t.Errorf("the code is %q: %v", document.Code, err)
			}
			for _, says := range c.says {
				if !strings.Contains(text, says) {
					t.Errorf("it does not say %q: %s", says, text)
				}
			}
			if _, err := os.Stat(filepath.Join(machine.Root, "taken")); (err == nil) != c.taken {
				t.Errorf("in the pool: %v", err == nil)
			}
			f, err := os.Open(raw)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			now := make([]byte, len(old))
			if _, err := f.ReadAt(now, 0); err != nil {
				t.Fatal(err)
			}
			switch {
			case c.erased && !bytes.Equal(now, make([]byte, len(old))):
				t.Error("the label was not erased")
			case !c.erased && !c.taken && !bytes.Equal(now, old):
				t.Error("what somebody had on the disk is not there any more")
			}
		})
	}
}
