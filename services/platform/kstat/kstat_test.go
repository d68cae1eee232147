package kstat

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"cistern/services/platform/illumos/commands/fake"
)

// As kstat.c prints: %s:%d:%s:%s, a tab, and a value by its type; times with nine digits, 0 as "0".
const printed = "cpu:0:sys:class\tmisc\ncpu:0:sys:cpu_nsec_idle\t9000000000\ncpu:0:sys:crtime\t65.123456789\ncpu:0:sys:snaptime\t0\n" +
	"cpu:1:sys:cpu_nsec_idle\t18446744073709551615\n" +
	"sd:3:sd3:class\tdisk\nsd:3:sd3:rtime\t12.500000000\n\n" +
	"odd:0:a:b:c:value\t7\nodd:0:empty:text\t\nodd:-1:minus:value\t-5\nodd:0:tab:text\ta\tb\n"

func TestParse(t *testing.T) {
	stats, err := Parse(printed)
	if err != nil {
		t.Fatal(err)
	}
	s := &Snapshot{Stats: stats}
	if len(stats) != 7 {
		t.Fatalf("%d kstats", len(stats))
	}
	cpu, disk, odd := s.Find("cpu", 0, "sys"), s.Find("sd", 3, "sd3"), s.Find("odd", 0, "a:b:c")
	if cpu.Class != "misc" || cpu.Values["cpu_nsec_idle"] != 9e9 || cpu.Values["snaptime"] != 0 || cpu.Values["crtime"] != 65.123456789 {
		t.Errorf("%+v", cpu)
	}
	if disk.Class != "disk" || disk.Values["rtime"] != 12.5 || odd.Values["value"] != 7 || s.Find("odd", -1, "minus").Values["value"] != -5 {
		t.Errorf("%+v %+v", disk, odd)
	}
	if len(s.Find("odd", 0, "empty").Values) != 0 || s.Find("cpu", 2, "sys") != nil {
		t.Error("a text is a number, or there is a processor that was not printed")
	}
	for _, bad := range []string{"cpu:0:sys:x 1\n", "cpu:0:sys\t1\n", "cpu:x:sys:y\t1\n", "kstat_open: Permission denied\n", "cpu\t1\n"} {
		if _, err := Parse("cpu:0:sys:x\t1\n" + bad); err == nil || !strings.Contains(err.Error(), "cannot be read") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

// standIn makes a kstat that writes down its arguments and prints a file, or fails.
func standIn(t *testing.T, script string) (*Reader, string) {
	t.Helper()
	credential, err := fake.Credential("../../../smf/manifest/tracerd.xml")
	if err != nil {
		t.Fatal(err)
	}
	m := fake.New(t, credential)
	m.Program("kstat", script)
	return &Reader{Program: filepath.Join(m.Root, "kstat"), within: 20 * time.Second}, m.Root
}

func TestReader(t *testing.T) {
	r, folder := standIn(t, "case $* in *rbytes64) printf 'link:0:net0:rbytes64\\t1\\nlink:0:a*b:rbytes64\\t1\\n' ;; *) printf 'cpu:0:sys:cpu_nsec_idle\\t5\\n' ;; esac\n")
	first, err := r.Read()
	if err != nil || first.Find("cpu", 0, "sys") == nil {
		t.Fatal(err)
	}
	if again, _ := r.Read(); again != first {
		t.Error("a second statistic of the same second has kstat started again")
	}
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("links are not found")
		}
		r.linksMu.Lock()
		found := !r.looked.IsZero()
		r.linksMu.Unlock()
		if found {
			break
		}
	}
	r.asked = time.Time{}
	if _, err := r.Read(); err != nil {
		t.Fatal(err)
	}
	calls, _ := os.ReadFile(filepath.Join(folder, "calls"))
	lines := strings.Split(strings.TrimSpace(string(calls)), "\n")
	// A link with a pattern's character in its name is not asked for.
	if want := "kstat -p " + strings.Join(selectors, " ") + " link:0:net0"; len(lines) != 3 || lines[2] != want {
		t.Errorf("%q, wanted the last to be %q", lines, want)
	}
}

func TestReaderFails(t *testing.T) {
	for script, want := range map[string]string{
		"echo 'kstat_open: Permission denied' >&2; exit 3\n": "Permission denied",
		"echo nonsense\n":             "cannot be read",
		"exec sleep 600\n":            "did not finish in time",
		"head -c 5000000 /dev/zero\n": "more than 4 MiB",
	} {
		r, _ := standIn(t, script)
		r.looked = time.Now()
		if strings.Contains(want, "in time") {
			r.within = 100 * time.Millisecond
		}
		if _, err := r.Read(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, wanted %q", script, err, want)
		}
	}
}
