package tracer

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"cistern/services/trace/statistics"
)

func init() { otherMain = launcherMain }

// withCgo is so where the race detector is.
var withCgo bool

func unixConn(t *testing.T, fd int) *net.UnixConn {
	t.Helper()
	file := os.NewFile(uintptr(fd), "pair")
	defer file.Close()
	conn, err := net.FileConn(file)
	if err != nil {
		t.Fatal(err)
	}
	return conn.(*net.UnixConn)
}

// besideIt is a launcher in this process, with the real messages.
func besideIt(t *testing.T, program string) *Launcher {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	ours, theirs := unixConn(t, pair[0]), unixConn(t, pair[1])
	served := make(chan error, 1)
	go func() { served <- serveLaunches(theirs, program, -1) }()
	t.Cleanup(func() {
		ours.Close()
		if err := <-served; err != nil {
			t.Errorf("the launcher: %v", err)
		}
		theirs.Close()
	})
	return newLauncher(ours)
}

// What a tracer does with a dtrace of its own it does with one that was started for it.
func TestByLauncher(t *testing.T) {
	launched = besideIt
	t.Cleanup(func() { launched = nil })
	for name, test := range map[string]func(*testing.T){
		"traced": TestTracedDataset, "hand over": TestHandOver, "dies": TestTracerThatDies, "hangs": TestTracerThatHangs,
		"garbage": TestTracerThatPrintsGarbage, "drops": TestTracerThatDrops, "refused": TestProgramThatIsRefused, "restart": TestRestart,
	} {
		t.Run(name, test)
	}
}

func TestWhatIsNotLaunched(t *testing.T) {
	program := filepath.Join(t.TempDir(), "dtrace")
	if err := os.WriteFile(program, []byte("#!/bin/sh\necho started\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	l := besideIt(t, program)
	for text, want := range map[string]string{
		"#pragma D option destructive\nBEGIN { system(\"id\"); }": "directive",
		"/* destructive */":                     "destructive",
		"BEGIN\x00":                             "zero",
		strings.Repeat("x", maxLaunchMessage+1): "too long",
	} {
		if p, err := l.start(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: %v, %v; want an error with %q", text, p, err, want)
		}
	}
	// None of the ones that are measured is refused.
	for _, text := range everyProgram(t) {
		if wrong := mustNotDo(text); wrong != "" || len(text) > maxLaunchMessage/2 {
			t.Errorf("a program of our own: %s, %d bytes", wrong, len(text))
		}
	}
	p, err := l.start("BEGIN { exit(0); }")
	if err != nil {
		t.Fatal(err)
	}
	if out, err := io.ReadAll(p.out); err != nil || string(out) != "started\n" {
		t.Errorf("%q, %v", out, err)
	}
	if err := p.wait(); err != nil {
		t.Error(err)
	}
	p.signal(syscall.SIGKILL) // it has ended: nothing happens, to nobody
}

// launcherMain is the second process, and the one that starts it, of the test below.
func launcherMain() bool {
	if IsLauncher(os.Args) {
		if err := RunLauncher(os.Args); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		return true
	}
	program := os.Getenv("LAUNCHER_TEST_PROGRAM")
	if program == "" {
		return false
	}
	l, err := StartLauncher(program, os.Getuid(), slog.New(slog.NewTextHandler(os.Stderr, nil)))
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	for _, file := range must(filepath.Glob("/proc/self/task/*/status")) {
		fmt.Printf("own %s", capabilities(file))
	}
	p := must(l.start("BEGIN"))
	out := must(io.ReadAll(p.out))
	fmt.Printf("dtrace %s%v\n", out, p.wait())
	l.Close()
	select {
	case <-l.gone:
	default:
		fmt.Println("it has not ended")
		os.Exit(1)
	}
	return true
}

func capabilities(file string) string {
	text, _ := os.ReadFile(file) // a thread that has ended
	return string(regexp.MustCompile(`(?m)^CapPrm:.*\n`).Find(text))
}

// Who reads what dtrace prints has no capability any more, in none of its threads; dtrace itself has them.
func TestLauncherIsAnotherProcess(t *testing.T) {
	if withCgo {
		t.Skip("built with cgo, as for the race detector, Go cannot take capabilities from all threads; the product is built without")
	}
	program := filepath.Join(t.TempDir(), "dtrace")
	script := "#!/bin/sh\nsed -n /CapPrm/p /proc/self/status\nfor script; do :; done\ncat $script\necho\n"
	if err := os.WriteFile(program, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	command := exec.Command(os.Args[0])
	command.Env = append(os.Environ(), "LAUNCHER_TEST_PROGRAM="+program)
	var said bytes.Buffer
	command.Stderr = &said
	out, err := command.Output()
	t.Logf("%s%s", out, said.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	const none = "CapPrm:\t0000000000000000\n"
	before := capabilities("/proc/self/status")
	own := regexp.MustCompile(`own (CapPrm:.*\n)`).FindAllStringSubmatch(string(out), -1)
	if len(own) < 2 {
		t.Error("it has fewer than two threads")
	}
	for _, one := range own {
		if one[1] != none {
			t.Errorf("a thread has %q", one[1])
		}
	}
	if want := "dtrace " + before + "BEGIN\n<nil>\n"; !strings.Contains(string(out), want) {
		t.Errorf("want %q in it", want)
	}
}

// everyProgram is a program for each breakdown of each statistic that dtrace measures.
func everyProgram(t *testing.T) (texts []string) {
	for _, s := range statistics.All() {
		if s.Source != statistics.DTrace || s.Reason(platform) != "" {
			continue
		}
		d, err := statistics.Parse(s.Name)
		if err != nil {
			t.Fatal(err)
		}
		text, err := statistics.Render(platform, []*statistics.Dataset{d})
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, text)
	}
	if len(texts) < 5 {
		t.Fatalf("only %d programs", len(texts))
	}
	return texts
}
