package fake

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"cistern/services/platform/illumos/commands"
)

// fields are the programs whose names stand in a field, because the tests have others in their place.
var fields = map[string]string{
	module + "/trace/tracer.zpool":          "zpool",
	module + "/trace/tracer.program":        "dtrace",
	module + "/platform/kstat.Program":      "kstat",
	module + "/execd/compressestimate.path": "zstd",
	module + "/support/logs.Program":        "journalctl",
	module + "/support/crash.Program":       "journalctl",
}

// notInTheTable are programs that are built in and are no command of illumos, each with the reason.
var notInTheTable = map[string]string{
	"zstd":       "of ooce: it only measures files of execd's own, where it is installed",
	"node":       "runs a program of ours",
	"journalctl": "of systemd: the readers of the journal are built in, and not started on illumos",
}

// fromElsewhere are calls whose words do not stand in the source beside them, each with where they do.
var fromElsewhere = map[string]string{
	"services/support/collect/step.go":       "a step's Command: each is looked at where it is made",
	"services/replication/gate.go":           "what a sender asks for: allowed() takes only the words that Here and Look send",
	"services/execd/events.go":               "EventsCommand, which is none on illumos",
	"services/execd/enclosures.go":           "of Enclosures, of which there are none on illumos",
	"services/execd/host/illumos/illumos.go": "a method of ours, by the folder that it is in",
}

// othersRun are files that are built into two processes, of which one runs what is in them.
var othersRun = map[string][]string{
	"supportd": {"services/support/collect/root_omnios.go", "services/support/collect/stacks.go"}, // steps of root: gatherd
	"gatherd":  {"services/support/collect/contents_omnios.go"},
}

// The list image/omnios/calls follows the code: what a process runs has a row there, with all its options, and a row is of
// something that is run.
func TestEachCallIsInTheList(t *testing.T) {
	table, err := commands.Load(Table())
	if err != nil {
		t.Fatal(err)
	}
	repo := filepath.Join(Table(), "../../..")
	rows := acts(t)
	used := map[string]bool{}
	for _, process := range []string{"execd", "replicd", "storaged", "supportd", "gatherd", "tracerd", "akd"} {
		listed := map[string][]string{}
		for _, a := range rows {
			if a.process != process || a.how == "itself" {
				continue
			}
			command, _, _ := strings.Cut(a.by, ";")
			if key, options, wrong := useOf(table, strings.Fields(command)); wrong != "" {
				t.Errorf("image/omnios/calls: %s: %s: %s", process, command, wrong)
			} else {
				listed[key] = append(append(listed[key], options...), "")
			}
		}
		var runs []found
		if process == "akd" {
			runs = scripts(t, repo, "appliance-kit/src/platform/illumos", "appliance-kit/src/platform/zfs")
		} else {
			p, err := readProgram(filepath.Join(repo, "services"), process)
			if err != nil {
				t.Fatal(err)
			}
			runs = p.runs()
		}
		if len(runs) == 0 {
			t.Errorf("%s: no call was found: the scan does not work", process)
		}
		seen := map[string]bool{}
		for _, f := range runs {
			file, _, _ := strings.Cut(f.place, ":")
			if len(f.words) == 0 {
				f.words = []string{""}
			}
			if slices.Contains(othersRun[process], file) {
				used[process+" "+file] = true
				continue
			}
			switch {
			case f.words[0] == "" && fromElsewhere[file] != "":
				used[file] = true
				continue
			case f.words[0] == "":
				t.Errorf("%s: %s runs a program whose name cannot be read here: write it as a literal", f.place, process)
				continue
			case notInTheTable[filepath.Base(f.words[0])] != "":
				used[filepath.Base(f.words[0])] = true
				continue
			}
			key, options, wrong := useOf(table, f.words)
			if wrong != "" {
				t.Errorf("%s: %s runs “%s”: %s", f.place, process, strings.Join(f.words, " "), wrong)
				continue
			}
			seen[key] = true
			lacks := slices.DeleteFunc(options, func(one string) bool { return slices.Contains(listed[key], one) })
			switch {
			case listed[key] == nil:
				t.Errorf("%s: %s runs “%s”, and image/omnios/calls has no row for it", f.place, process, key)
			case len(lacks) > 0:
				t.Errorf("%s: %s gives “%s” the options %s, and image/omnios/calls has no row with them", f.place, process, key, strings.Join(lacks, ", "))
			}
		}
		for _, a := range rows {
			command, _, _ := strings.Cut(a.by, ";")
			if a.process != process || a.how == "itself" || a.how == "refused" {
				continue
			}
			key, _, _ := useOf(table, strings.Fields(command))
			if method := byMethod.FindStringSubmatch(a.does); method != nil {
				script, err := os.ReadFile(filepath.Join(repo, "smf/method", method[1]))
				seen[key] = err == nil && strings.Contains(string(script), key)
			}
			if !seen[key] {
				t.Errorf("image/omnios/calls: %s: “%s”: nothing in its source runs it", process, command)
			}
		}
	}
	for name := range fromElsewhere {
		if !used[name] {
			t.Errorf("%s has no such call any more: take it out of the list above", name)
		}
	}
	for process, files := range othersRun {
		for _, file := range files {
			if !used[process+" "+file] {
				t.Errorf("%s has nothing of %s any more: take it out of the list above", process, file)
			}
		}
	}
	for name := range notInTheTable {
		if !used[name] {
			t.Errorf("nothing runs %s any more: take it out of the list above", name)
		}
	}
}

// byMethod: a method of ours, which the process starts, runs it.
var byMethod = regexp.MustCompile(`, by (cistern-[a-z]+)$`)

// useOf is a command with its subcommand, and the options that it is given.
func useOf(table *commands.Table, words []string) (key string, options []string, wrong string) {
	c := table.Command(words[0])
	if c == nil {
		return "", nil, "image/omnios/commands has no such command"
	}
	use, unknown := c.Use(words[1:])
	switch {
	case unknown != "":
		return "", nil, "the table has no " + unknown
	case use.Form == nil:
		return "", nil, "its subcommand cannot be read here: write it as a literal"
	}
	return strings.TrimSpace(c.Name + " " + use.Form.Subcommand), use.Options, ""
}

var (
	scriptCall = regexp.MustCompile(`(?:#?\bcommand|#ask)\(\s*(?:'[a-z]+',\s*\w+,\s*)?'([a-z]+)',\s*(\[[^\]]*\]|[A-Z_]+)`)
	scriptList = regexp.MustCompile(`(?s)const ([A-Z_]+)(?:: [^=]+)? = \[([^\]]*)\]`)
	scriptWord = regexp.MustCompile(`'([^']*)'|(\.\.\.)?([A-Za-z_]+)[^,]*`)
)

// scripts are the commands that the platform drivers of the management daemon run: `command('zfs', ['list', …])`. A call of
// another form is an error.
func scripts(t *testing.T, repo string, folders ...string) []found {
	t.Helper()
	var all []found
	for _, folder := range folders {
		files, _ := filepath.Glob(filepath.Join(repo, folder, "*.ts"))
		for _, file := range files {
			if strings.HasSuffix(file, ".test.ts") {
				continue
			}
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			short, _ := filepath.Rel(repo, file)
			place := func(at int) string {
				return short + ":" + number(int64(1+strings.Count(string(text[:at]), "\n")))
			}
			calls := scriptCall.FindAllSubmatchIndex(text, -1)
			for _, at := range regexp.MustCompile(`[#.( ]command\(|this\.#ask\(`).FindAllIndex(text, -1) {
				inside := slices.ContainsFunc(calls, func(call []int) bool { return call[0] <= at[1]-1 && at[1] <= call[1] })
				if handsOn := strings.HasPrefix(string(text[at[1]:]), "program, args,"); !inside && !handsOn {
					t.Errorf("%s: this call is of a form that cannot be read here: write its program and its words as literals", place(at[0]))
				}
			}
			for _, call := range calls {
				words := []string{string(text[call[2]:call[3]])}
				list := string(text[call[4]:call[5]])
				if !strings.HasPrefix(list, "[") {
					list = named(t, repo, list, folders)
				}
				for _, word := range scriptWord.FindAllStringSubmatch(strings.Trim(list, "[]"), -1) {
					words = append(words, word[1])
				}
				all = append(all, found{place(call[0]), words})
			}
		}
	}
	return all
}

// named is the list of a constant.
func named(t *testing.T, repo, name string, folders []string) string {
	t.Helper()
	for _, folder := range folders {
		files, _ := filepath.Glob(filepath.Join(repo, folder, "*.ts"))
		for _, file := range files {
			text, _ := os.ReadFile(file)
			for _, found := range scriptList.FindAllStringSubmatch(string(text), -1) {
				if found[1] == name {
					return found[2]
				}
			}
		}
	}
	t.Errorf("there is no list %s", name)
	return ""
}
