package fake

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"cistern/services/platform/illumos/commands"
)

// act is one thing that a process does on illumos. Without a command it is the process' own doing; needs then says what for,
// as docs of the system call have it.
type act struct {
	does    string
	command string
	needs   []string // "privilege NAME", "device PATH": of what is no command
	refused string   // what the process does instead, when its privileges are not enough
}

// doings are the processes, by the manifest that starts them.
var doings = []struct {
	process, manifest string
	acts              []act
}{
	{"execd", "manifest/execd.xml", []act{
		{does: "lists disks", command: "diskinfo -Hp"},
		{does: "their serial numbers and places", command: "diskinfo -HP"},
		{does: "looks who uses a disk", command: "zpool status -P"},
		{does: "the same", command: "swap -l"},
		{does: "finds new disks", command: "devfsadm -c disk"},
		{does: "makes a pool", command: "zpool create -o ashift=12 -o cachefile=none -O compression=lz4 -O mountpoint=none tank mirror /dev/dsk/c2t0d0 /dev/dsk/c2t1d0"},
		{does: "imports one", command: "zpool import -N -o cachefile=none tank"},
		{does: "exports one", command: "zpool export tank"},
		{does: "destroys one", command: "zpool destroy tank"},
		{does: "replaces a disk", command: "zpool replace tank c2t0d0 c2t2d0"},
		{does: "scrubs", command: "zpool scrub tank"},
		{does: "makes a dataset", command: "zfs create -o mountpoint=/srv/telemetry tank/telemetry"},
		{does: "changes one", command: "zfs set quota=1073741824 tank/home"},
		{does: "mounts one", command: "zfs mount tank/home"},
		{does: "unmounts one", command: "zfs unmount tank/home"},
		{does: "takes a snapshot", command: "zfs snapshot tank/home@monday"},
		{does: "goes back to one", command: "zfs rollback tank/home@monday"},
		{does: "loads a key", command: "zfs load-key tank/safe"},
		{does: "reads a snapshot's files, below the mount point of its dataset", needs: []string{"privilege file_dac_read"}},
		{does: "wipes a disk", needs: []string{"device /dev/rdsk/*", "privilege sys_devices"}},
		{does: "gives the store its dataset", needs: []string{"privilege file_chown"}},
		{does: "starts and stops services", command: "svcadm enable -rs svc:/application/cistern/storaged:default"},
		{does: "sets the host name (by cistern-identity)", command: "hostname cellar"},
		{does: "reads what the fault manager has found", command: "fmadm faulty"},
		{does: "switches a disk's light", command: "/usr/lib/fm/fmd/fmtopo -P facility.mode=uint32:1 hc:///x"},
		{does: "reads the firmware's tables", command: "smbios"},
		{does: "lists boot environments", command: "beadm list -H"},
		{does: "chooses one", command: "beadm activate -- omnios"},
		{does: "adds a disk to the system pool", command: "zpool attach rpool c1t0d0 c4t0d0"},
		{does: "writes its boot loader", command: "bootadm install-bootloader -M -P rpool"},
		{does: "restarts the machine", command: "init 6"},
	}},
	{"cistern-pools", "illumos/pools.xml", []act{
		{does: "imports the data pools", command: "zpool import -N -o cachefile=none tank"},
		{does: "mounts them", command: "zfs mount -a"},
		{does: "gives the store its dataset", needs: []string{"privilege file_chown"}},
	}},
	{"cistern-identity", "illumos/identity.xml", []act{
		{does: "sets the host name", command: "hostname cellar"},
		{does: "makes the folders of each user", needs: []string{"privilege file_chown", "privilege file_dac_write", "privilege file_owner"}},
	}},
	{"akd", "manifest/akd.xml", []act{
		{does: "reads pools", command: "zpool status"},
		{does: "reads datasets", command: "zfs list -Hp -t all -o name,used"},
		{does: "reads services", command: "svcprop -f -p restarter svc:/application/cistern/*"},
		{does: "reads the processes of services", command: "ps -e -o ctid= -o rss= -o time="},
		{does: "reads links", command: "dladm show-phys -p -o link,state,speed"},
		{does: "reads addresses", command: "ipadm show-addr -p -o addrobj,type,state,addr"},
		{does: "reads counters", command: "kstat -p -m link"},
		{does: "reads the clock's source", command: "chronyc -c -n tracking"},
		{does: "lists disks", command: "diskinfo -Hp", refused: "asks execd (`disks.list`)"},
		{does: "reads faults", command: "fmadm faulty", refused: "asks execd (`faults.list`)"},
	}},
	{"supportd", "manifest/supportd.xml", []act{
		{does: "stacks of akd, storaged and replicd; of execd, tracerd, nginx and snmpd they are refused", command: "pstack 1234"},
		{does: "reads faults", command: "fmadm faulty -av", refused: "asks execd (`faults.list`)"},
		{does: "the error log", command: "fmdump -eV"},
		{does: "disks", command: "diskinfo -p"},
		{does: "memory of the kernel", command: "mdb -ke ::memstat"},
		{does: "reads everybody's logs", needs: []string{"privilege file_dac_read", "privilege file_dac_search"}},
	}},
	{"tracerd", "manifest/tracerd.xml", []act{
		{does: "traces", command: "dtrace -n BEGIN"},
		{does: "reads counters", command: "kstat -p"},
	}},
	{"nginx", "manifest/nginx.xml", []act{{does: "listens at 443", needs: []string{"privilege net_privaddr"}}}},
	{"snmpd", "manifest/snmpd.xml", []act{{does: "listens at 161", needs: []string{"privilege net_privaddr"}}}},
	{"storaged", "manifest/storaged.xml", []act{{does: "files and sockets of its own, ports from 1024 on", needs: nil}}},
	{"replicd", "manifest/replicd.xml", []act{{does: "sockets, and execd for everything else", needs: nil}}},
}

// The table in docs/OMNIOS-PRIVILEGES.md is made from the above, the manifests and the commands' table; CISTERN_UPDATE=1 writes it.
func TestPrivilegesAreEnough(t *testing.T) {
	table, err := commands.Load(Table())
	if err != nil {
		t.Fatal(err)
	}
	repo := filepath.Join(Table(), "../../..")
	var doc strings.Builder
	doc.WriteString(`# What each process may do on OmniOS

Made by ` + "`services/platform/illumos/commands/fake/privileges_test.go`" + ` of the manifests in ` + "`smf/`" + ` and of
[image/omnios/commands](../image/omnios/commands/README.md), which names the source of each need. That the table is true of a real
system only a real system shows: ` + "`selftest`" + ` does each of these as its process.

`)
	for _, one := range doings {
		credential, err := Credential(filepath.Join(repo, "smf", one.manifest))
		if err != nil {
			t.Fatal(err)
		}
		caller := CallerOf(credential)
		who := credential
		if who == "" {
			who = "root, all privileges"
		}
		fmt.Fprintf(&doc, "## %s\n\n`smf/%s`: %s\n\n| what it does | by | what that needs | what lets it |\n|---|---|---|---|\n", one.process, one.manifest, strings.ReplaceAll(who, ",", ", "))
		for _, a := range one.acts {
			needs, lets := a.needs, []string(nil)
			if a.command != "" {
				argv := strings.Fields(a.command)
				_, refused, err := table.Check(argv, caller)
				if err != nil {
					t.Errorf("%s: %s: %v", one.process, a.command, err)
				}
				if (refused != nil) != (a.refused != "") {
					t.Errorf("%s: %s: %+v, though the list says %q", one.process, a.command, refused, a.refused)
				}
				needs = needsOf(table, argv)
			}
			for _, need := range needs {
				lets = append(lets, letsBy(t, one.process+": "+a.does, need, caller, a.refused != ""))
			}
			if a.refused != "" {
				lets = []string{"nothing: it " + a.refused}
			}
			by := "itself"
			if a.command != "" {
				by = "`" + a.command + "`"
			}
			fmt.Fprintf(&doc, "| %s | %s | %s | %s |\n", a.does, by, orNothing(needs), orNothing(slices.Compact(lets)))
		}
		doc.WriteString("\n")
	}
	path := filepath.Join(repo, "docs/OMNIOS-PRIVILEGES.md")
	if os.Getenv("CISTERN_UPDATE") != "" {
		if err := os.WriteFile(path, []byte(strings.TrimRight(doc.String(), "\n")+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if kept, err := os.ReadFile(path); err != nil || strings.TrimRight(string(kept), "\n") != strings.TrimRight(doc.String(), "\n") {
		t.Errorf("docs/OMNIOS-PRIVILEGES.md is not what the manifests and the table say; CISTERN_UPDATE=1 go test ./platform/illumos/commands/fake makes it anew (%v)", err)
	}
}

func needsOf(table *commands.Table, argv []string) []string {
	c := table.Command(argv[0])
	if c == nil {
		return nil
	}
	f := c.Form("")
	for at := 1; f == nil && at < len(argv); at++ {
		f = c.Form(argv[at])
	}
	var all []string
	for _, need := range f.Needs {
		text := strings.TrimSpace(need.Kind + " " + strings.ToLower(need.Name))
		if need.Kind != "privilege" {
			text = strings.TrimSpace(need.Kind + " " + need.Name)
		}
		if need.When != "" {
			text += " when " + need.When
		}
		all = append(all, text)
	}
	return all
}

// letsBy is what of a caller satisfies a need; a need with a condition may stay open.
func letsBy(t *testing.T, what, text string, caller commands.Caller, refused bool) string {
	t.Helper()
	plain, _, conditional := strings.Cut(text, " when ")
	kind, name, _ := strings.Cut(plain, " ")
	need := commands.Need{Kind: kind, Name: name}
	if !caller.Has(need) {
		if !conditional && !refused {
			t.Errorf("%s needs %s, and has it not", what, text)
		}
		return "does not apply"
	}
	switch {
	case kind == "privilege":
		return strings.ToLower(name)
	case caller.Root:
		return "user root"
	}
	return "its manifest"
}

func orNothing(words []string) string {
	if len(words) == 0 {
		return "nothing"
	}
	return strings.ReplaceAll(strings.Join(words, "; "), "|", "\\|")
}

// What is mounted without every privilege is mounted nosuid (secpolicy_fs_mount of usr/src/uts/common/os/policy.c): execd's mounts are,
// and those at boot must not be, for a dataset's own setuid to count again.
func TestMountsAtBootHaveEveryPrivilege(t *testing.T) {
	for manifest, all := range map[string]bool{"illumos/pools.xml": true, "manifest/execd.xml": false} {
		caller, err := Credential("../../../../../smf/" + manifest)
		if err != nil || (caller == "") != all {
			t.Errorf("%s: %q %v", manifest, caller, err)
		}
	}
}
