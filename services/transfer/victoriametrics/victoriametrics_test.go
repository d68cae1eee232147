package victoriametrics

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cistern/services/transfer"

	"github.com/prometheus/prometheus/model/value"
)

// As VictoriaMetrics v1 writes it: numbers as they are, null for its marks that a series ended, infinities as text.
const export = `{"metric":{"__name__":"up","job":"a"},"values":[1,0.5,null,"Infinity","-Infinity",1e+300],"timestamps":[1700000000000,1700000015000,1700000030000,1700000045000,1700000060000,1700000075000]}
{"metric":{"__name__":"temperature","place":"a \"b\" ☃","empty":""},"values":[-1.5],"timestamps":[1700000000123]}
`

func read(t testing.TB, s *Source, from int64) (got []string, damaged []string) {
	t.Helper()
	err := s.Walk(t.Context(), transfer.Walk{Selection: transfer.Everything(), From: from,
		Damaged: func(where string, why error, _ int64) { damaged = append(damaged, where+": "+why.Error()) },
		Use: func(p *transfer.Part) error {
			line := p.Labels.String()
			err := p.Each(func(one transfer.Sample) error {
				if one.Stale() {
					line += fmt.Sprintf(" stale@%d", one.Time)
					return nil
				}
				line += fmt.Sprintf(" %v@%d", one.Value, one.Time)
				return nil
			})
			got = append(got, line)
			return err
		}})
	if err != nil {
		t.Fatal(err)
	}
	return got, damaged
}

func write(t testing.TB, content []byte) *Source {
	t.Helper()
	path := filepath.Join(t.TempDir(), "export.jsonl")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func TestRead(t *testing.T) {
	want := []string{
		`{__name__="up", job="a"} 1@1700000000000 0.5@1700000015000 stale@1700000030000 +Inf@1700000045000 -Inf@1700000060000 1e+300@1700000075000`,
		`{__name__="temperature", place="a \"b\" ☃"} -1.5@1700000000123`,
	}
	var packed bytes.Buffer
	packer := gzip.NewWriter(&packed)
	_, _ = packer.Write([]byte(export))
	_ = packer.Close()
	folder := t.TempDir()
	piped, err := Spool(strings.NewReader(export), folder)
	if err != nil {
		t.Fatal(err)
	}
	for name, s := range map[string]*Source{"plain": write(t, []byte(export)), "packed": write(t, packed.Bytes()), "piped": piped} {
		got, damaged := read(t, s, 0)
		if strings.Join(got, "\n") != strings.Join(want, "\n") || len(damaged) > 0 {
			t.Errorf("%s: %s %s", name, strings.Join(got, "\n"), damaged)
		}
		if got, _ := read(t, s, 1); len(got) != 1 || got[0] != want[1] {
			t.Errorf("%s, from the second line: %s", name, got)
		}
	}
	if err := piped.Close(); err != nil {
		t.Fatal(err)
	}
	if left, _ := os.ReadDir(folder); len(left) > 0 {
		t.Errorf("the copy of standard input is left: %v", left)
	}
	if !value.IsStaleNaN(stale) {
		t.Error("null is no mark")
	}
}

// A line that cannot be read is named, and the others are read.
func TestDamagedLines(t *testing.T) {
	lines := []string{
		`{"metric":{"__name__":"a"},"values":[1],"timestamps":[1]}`,
		`hello`, `{"metric":{"__name__":"b"},"values":[1,2],"timestamps":[1]}`, `{"metric":{"__name__":"b"},"values":["x"],"timestamps":[1]}`,
		`{"metric":{"__name__":"b"},"values":[1],"timestamps":[1.5]}`, `{"metric":{"__name__":"b"},"values":[[1]],"timestamps":[1]}`,
		`{"metric":{"__name__":"b"},"values":{"a":1},"timestamps":[1]}`, `{"values":[1],"timestamps":[1]}`,
		`{"metric":{"__name__":"b"},"values":[1],"timestamps":[99999999999999999999]}`, `{"metric":{"__name__":"b"}}`, `[]`, `null`,
		``, `{"metric":{"__name__":"z"},"values":[1],"timestamps":[1]}`, `{"metric":{"__na`,
	}
	got, damaged := read(t, write(t, []byte(strings.Join(lines, "\n"))), 0)
	if len(got) != 2 || len(damaged) != len(lines)-3 {
		t.Errorf("%s\n%s", got, strings.Join(damaged, "\n"))
	}
	// What is cut off in the middle of a packed file is named too.
	var packed bytes.Buffer
	packer := gzip.NewWriter(&packed)
	for i := range 20_000 {
		fmt.Fprintf(packer, `{"metric":{"__name__":"m","i":"%d"},"values":[%v],"timestamps":[%d]}`+"\n", i, math.Sqrt(float64(i)), i)
	}
	_ = packer.Close()
	got, damaged = read(t, write(t, packed.Bytes()[:packed.Len()/2]), 0)
	if len(got) < 1000 || len(damaged) != 1 || !strings.Contains(damaged[0], "what follows") {
		t.Errorf("%d lines, %s", len(got), damaged)
	}
	path := filepath.Join(t.TempDir(), "a.zst")
	if err := os.WriteFile(path, []byte{0x28, 0xb5, 0x2f, 0xfd, 0, 0}, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(path); err == nil || !strings.Contains(err.Error(), "zstd -dc") {
		t.Error(err)
	}
}

func FuzzLine(f *testing.F) {
	for _, line := range strings.Split(export, "\n") {
		f.Add([]byte(line))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		s := &Source{}
		w := transfer.Walk{Selection: transfer.Everything(), Use: func(p *transfer.Part) error {
			return p.Each(func(transfer.Sample) error { return nil })
		}}
		if err := s.line(0, text, &w); err != nil {
			t.Fatal(err)
		}
	})
}
