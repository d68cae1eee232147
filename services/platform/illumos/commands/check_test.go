package commands

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

const small = `# A table of a command that nobody has.
command pool
path /usr/sbin/pool
package system/pool
source main nobody/nothing usr/src/cmd/pool.c 2025-01
parser getopt
bad-option invalid option '%c'
  usage:
  %u
bad-subcommand unrecognized command '%s'
bad-operands missing argument
  %u
bad-value bad property list: invalid property '%s'
bad-setting bad property: '%s'
usage-exit 2

form create
usage 	create [-fn] [-o property=value] ... <pool> <vdev> ...
options :fno:
operands 2 *
settings -o compression on|off|lz4|gzip(-[1-9])?
  ashift 9|1[0-6]
needs
  privilege sys_config
without exit 1
  cannot create: permission denied
source main do_create

form list
usage 	list [-Hp] [-o property[,...]] [pool] ...
options Hpo:
operands 0 *
values -o name size
  health
prints tab name size
source main do_list
checked 2026-11 main getopt string
`

func loaded(t *testing.T, text string) (*Table, error) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "pool"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return Load(dir)
}

func TestCallsAreTakenApart(t *testing.T) {
	table, err := loaded(t, small)
	if err != nil {
		t.Fatal(err)
	}
	call, refused, err := table.Check(strings.Fields("/usr/sbin/pool create -fo compression=lz4 -o ashift=12 tank mirror a b -n"), Everything)
	if err != nil || refused != nil {
		t.Fatal(refused, err)
	}
	// illumos' getopt ends at the first operand: -n is one, too.
	if !reflect.DeepEqual(call.Operands, []string{"tank", "mirror", "a", "b", "-n"}) || !call.Has("f") || call.Has("n") {
		t.Errorf("%+v", call)
	}
	if call.Value("o") != "ashift=12" || len(call.Options["o"]) != 2 {
		t.Errorf("%v", call.Options)
	}
}

func TestWhatTheRealOneRefusesIsRefusedInItsWords(t *testing.T) {
	table, err := loaded(t, small)
	if err != nil {
		t.Fatal(err)
	}
	usage := "\tcreate [-fn] [-o property=value] ... <pool> <vdev> ...\n"
	for _, c := range []struct {
		call, says string
	}{
		{"pool create -u tank a", "invalid option 'u'\nusage:\n" + usage},
		{"pool create tank", "missing argument\n" + usage},
		{"pool create -o", "invalid option 'o'\nusage:\n" + usage},
		{"pool events -H", "unrecognized command 'events'\n"},
		{"pool", "unrecognized command ''\n"},
		{"pool -x", "invalid option 'x'\nusage:\n\n"},
		{"pool create -o compression=zstd tank a", "bad property: 'compression=zstd'\n"},
		{"pool create -o relatime=on tank a", "bad property: 'relatime=on'\n"},
		{"pool list -Hpo name,guid", "bad property list: invalid property 'guid'\n"},
	} {
		_, refused, err := table.Check(strings.Fields(c.call), Everything)
		if err != nil || refused == nil || refused.Exit != 2 || refused.Stderr != c.says {
			t.Errorf("%s: %+v %v", c.call, refused, err)
		}
	}
	for _, call := range []string{"pool list", "pool list -H -p -o name,cistern:made,health tank", "pool create -o a:b=c tank a"} {
		if _, refused, err := table.Check(strings.Fields(call), Everything); refused != nil || err != nil {
			t.Errorf("%s: %+v %v", call, refused, err)
		}
	}
	var unknown *UnknownError
	if _, _, err := table.Check([]string{"lsblk", "-J"}, Everything); !errors.As(err, &unknown) || !strings.Contains(err.Error(), "lsblk -J") {
		t.Error(err)
	}
}

func TestWhoLacksAPrivilegeSeesWhatIsSeenThere(t *testing.T) {
	table, err := loaded(t, small)
	if err != nil {
		t.Fatal(err)
	}
	argv := strings.Fields("pool create tank a")
	_, refused, err := table.Check(argv, Caller{Root: true, Privileges: []string{"sys_mount"}})
	if err != nil || refused == nil || *refused != (Answer{Exit: 1, Stderr: "cannot create: permission denied\n"}) {
		t.Error(refused, err)
	}
	if _, refused, err = table.Check(argv, Caller{Privileges: []string{"sys_config"}}); refused != nil || err != nil {
		t.Error(refused, err)
	}
	table, err = loaded(t, strings.Replace(small, "without exit 1\n  cannot create: permission denied\n", "", 1))
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err = table.Check(argv, Caller{}); err == nil || !strings.Contains(err.Error(), "does not say what one without sees") {
		t.Error(err)
	}
}

func TestATypingErrorWidensNothing(t *testing.T) {
	for from, to := range map[string]string{
		"options :fno:":         "option :fno:",
		"operands 2 *":          "operands two *",
		"parser getopt":         "parser getopts",
		"options Hpo:":          "options H,p",
		"without exit 1":        "without a word",
		"checked 2026-11 main ": "checked 2026-11 manual ",
		"source main do_list":   "source manual list",
		"form list":             "form create",
		"command pool":          "command pools",
		"ashift 9|1[0-6]":       "ashift 9|1[0-6",
	} {
		if _, err := loaded(t, strings.Replace(small, from, to, 1)); err == nil {
			t.Errorf("%q was read as well as %q", to, from)
		}
	}
}
