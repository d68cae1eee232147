package replication

// A zfs for these tests: the same commands, over one file. The real one is in the VM tests. This test binary is it, when
// it is called "zfs".

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"cistern/services/platform/illumos/commands/fake"
)

type fakeSnapshot struct {
	Name, GUID string
	Size       int64
}

type fakeDataset struct {
	Token     string // of what was received half
	Modified  bool
	Encrypted bool
	Full      bool // no room for anything
	Snapshots []fakeSnapshot
}

// fakeStream is one snapshot on its way.
type fakeStream struct {
	FromGUID string
	Raw      bool
	To       fakeSnapshot
	Source   string // dataset, for tokens
	Skip     int64
}

type fakeStore map[string]*fakeDataset

func storeFile() string { return os.Getenv("FAKE_ZFS_STORE") }

// change reads, changes and writes the store, alone.
func change(use func(fakeStore)) {
	lock, err := os.OpenFile(storeFile()+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		panic(err)
	}
	defer lock.Close()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		panic(err)
	}
	store := fakeStore{}
	if content, err := os.ReadFile(storeFile()); err == nil {
		if err := json.Unmarshal(content, &store); err != nil {
			panic(err)
		}
	}
	use(store)
	content, _ := json.Marshal(store)
	if err := os.WriteFile(storeFile(), content, 0o600); err != nil {
		panic(err)
	}
}

func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == "zfs" {
		os.Exit(fakeZFS(os.Args[1:]))
	}
	os.Exit(m.Run())
}

// withZFS puts the fake first in the path, with an empty store. It takes what that of illumos takes from replicd, which is less than
// that of Linux takes.
func withZFS(t *testing.T) {
	t.Helper()
	credential, err := fake.Credential("../../smf/manifest/replicd.xml")
	if err != nil {
		t.Fatal(err)
	}
	m := fake.New(t, credential)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.Symlink(self, filepath.Join(dir, "zfs")); err != nil {
		t.Fatal(err)
	}
	m.Program("bin/zfs", "exec '"+dir+"/zfs' \"$@\"")
	t.Setenv("FAKE_ZFS_STORE", filepath.Join(dir, "store"))
}

func complain(format string, a ...any) int {
	fmt.Fprintf(os.Stderr, format+"\n", a...)
	return 1
}

func fakeZFS(args []string) (code int) {
	name := args[len(args)-1]
	switch args[0] {
	case "get":
		change(func(s fakeStore) {
			d := s[name]
			switch {
			case d == nil:
				code = complain("cannot open '%s': dataset does not exist", name)
			case args[len(args)-2] == "encryption" && d.Encrypted:
				fmt.Println("aes-256-gcm")
			case args[len(args)-2] == "encryption":
				fmt.Println("off")
			default:
				token := "-"
				if d.Token != "" {
					token = d.Token
				}
				fmt.Printf("type\tfilesystem\nreceive_resume_token\t%s\n", token)
			}
		})
	case "list":
		change(func(s fakeStore) {
			if s[name] == nil {
				code = complain("cannot open '%s': dataset does not exist", name)
				return
			}
			for _, one := range s[name].Snapshots {
				fmt.Printf("%s@%s\t%s\n", name, one.Name, one.GUID)
			}
		})
	case "send":
		return fakeSend(args[1:])
	case "receive":
		if slices.Contains(args, "-F") {
			return complain("this must never be asked for")
		}
		return fakeReceive(name)
	}
	return code
}

func fakeSend(args []string) (code int) {
	dry := args[0] == "-nvP"
	if dry {
		args = args[1:]
	}
	var streams []fakeStream
	change(func(s fakeStore) {
		if args[0] == "-t" {
			var token fakeStream
			text, _ := base64.StdEncoding.DecodeString(args[1])
			_ = json.Unmarshal(text, &token)
			if d := s[token.Source]; d == nil || !slices.Contains(d.Snapshots, token.To) {
				code = complain("cannot resume send: '%s@%s' used in the initial send no longer exists", token.Source, token.To.Name)
				return
			}
			streams = []fakeStream{token}
			return
		}
		dataset, own, _ := strings.Cut(args[len(args)-1], "@")
		raw := args[0] == "-w"
		d := s[dataset]
		if d.Encrypted != raw {
			code = complain("an encrypted dataset is sent raw, another one is not")
			return
		}
		index := func(name string) int {
			return slices.IndexFunc(d.Snapshots, func(one fakeSnapshot) bool { return one.Name == name })
		}
		last := index(own)
		if len(args) == 2 {
			streams = []fakeStream{{To: d.Snapshots[last], Source: dataset, Raw: raw}}
			return
		}
		first := index(args[2][1:])
		for i := first + 1; i <= last; i++ {
			if args[1] == "-i" && i != last {
				continue
			}
			from := d.Snapshots[i-1].GUID
			if args[1] == "-i" {
				from = d.Snapshots[first].GUID
			}
			streams = append(streams, fakeStream{FromGUID: from, To: d.Snapshots[i], Source: dataset, Raw: raw})
		}
	})
	if code != 0 {
		return code
	}
	total := int64(0)
	for _, one := range streams {
		total += one.To.Size - one.Skip
	}
	if dry {
		fmt.Printf("full\t%s\t%d\nsize\t%d\n", streams[0].Source, total, total)
		return 0
	}
	out := bufio.NewWriterSize(os.Stdout, 64<<10)
	for _, one := range streams {
		header, _ := json.Marshal(one)
		fmt.Fprintf(out, "%s\n", header)
		if _, err := io.CopyN(out, zeros{}, one.To.Size-one.Skip); err != nil {
			return 1
		}
	}
	fmt.Fprintln(out, "END")
	if out.Flush() != nil {
		return 1
	}
	return 0
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

func fakeReceive(name string) (code int) {
	in := bufio.NewReader(os.Stdin)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return complain("cannot receive: failed to read from stream")
		}
		if string(line) == "END\n" {
			return 0
		}
		var stream fakeStream
		if err := json.Unmarshal(line, &stream); err != nil {
			return complain("cannot receive: invalid stream (bad magic number)")
		}
		change(func(s fakeStore) {
			d := s[name]
			switch {
			case s[name[:strings.LastIndexByte(name, '/')]] == nil:
				code = complain("cannot receive: destination '%s' does not exist", name)
			case d != nil && d.Full:
				code = complain("cannot receive new filesystem stream: out of space")
			case d == nil && stream.FromGUID != "":
				code = complain("cannot receive incremental stream: destination '%s' does not exist", name)
			case d == nil:
				s[name] = &fakeDataset{Encrypted: stream.Raw}
			case stream.Skip > 0 && d.Token == "":
				code = complain("cannot receive resume stream: nothing to resume")
			case stream.FromGUID == "" && stream.Skip == 0:
				code = complain("cannot receive new filesystem stream: destination '%s' exists\nmust specify -F to overwrite it", name)
			case stream.FromGUID != "" && d.Modified:
				code = complain("cannot receive incremental stream: destination %s has been modified\nsince most recent snapshot", name)
			case stream.FromGUID != "" && d.Snapshots[len(d.Snapshots)-1].GUID != stream.FromGUID:
				code = complain("cannot receive incremental stream: most recent snapshot of %s does not match incremental source", name)
			}
		})
		if code != 0 {
			return code
		}
		got, err := io.CopyN(io.Discard, in, stream.To.Size-stream.Skip)
		change(func(s fakeStore) {
			d := s[name]
			if err != nil {
				stream.Skip += got
				token, _ := json.Marshal(stream)
				d.Token = base64.StdEncoding.EncodeToString(token)
				code = complain("cannot receive: checksum mismatch or incomplete stream.\nPartially received snapshot is saved.")
				return
			}
			d.Token = ""
			d.Snapshots = append(d.Snapshots, stream.To)
		})
		if code != 0 {
			return code
		}
	}
}
