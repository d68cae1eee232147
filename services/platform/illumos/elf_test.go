// Package illumos holds what is checked of the programs for illumos on a machine that is not one.
package illumos

import (
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// libraries that every OmniOS has: what a program without cgo needs of the system, and nothing more.
var libraries = []string{"libc.so", "libsendfile.so", "libsocket.so"}

// Every command builds for illumos into a program that illumos' linker starts.
func TestProgramsForIllumos(t *testing.T) {
	commands, err := os.ReadDir("../../cmd")
	if err != nil || len(commands) < 7 {
		t.Fatalf("found %d commands, %v", len(commands), err)
	}
	folder := t.TempDir()
	build := exec.Command("go", "build", "-ldflags", "-s -w", "-o", folder+"/", "./cmd/...")
	build.Dir = "../.."
	build.Env = append(os.Environ(), "GOOS=illumos", "GOARCH=amd64", "CGO_ENABLED=0")
	if said, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	for _, command := range commands {
		program, err := elf.Open(filepath.Join(folder, command.Name()))
		if err != nil {
			t.Error(err)
			continue
		}
		defer program.Close()
		if program.Class != elf.ELFCLASS64 || program.Machine != elf.EM_X86_64 {
			t.Errorf("%s is %v, %v", command.Name(), program.Class, program.Machine)
		}
		interpreter := ""
		if section := program.Section(".interp"); section != nil {
			data, err := section.Data()
			if err != nil {
				t.Error(err)
			}
			interpreter = strings.TrimRight(string(data), "\x00")
		}
		if interpreter != "/lib/amd64/ld.so.1" {
			t.Errorf("%s is started by %q", command.Name(), interpreter)
		}
		needed, err := program.ImportedLibraries()
		slices.Sort(needed)
		if err != nil || !slices.Equal(needed, libraries) {
			t.Errorf("%s needs %v, %v; wanted %v", command.Name(), needed, err, libraries)
		}
	}
}
