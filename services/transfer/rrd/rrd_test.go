package rrd

import (
	"bytes"
	"compress/gzip"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"cistern/services/transfer"
)

func dumped(t testing.TB) []byte {
	t.Helper()
	content, err := os.ReadFile("testdata/router.xml") // by testdata/make.sh
	if err != nil {
		t.Fatal(err)
	}
	return content
}

var rowLine = regexp.MustCompile(`/ (\d+) --> <row><v>(\S+?)</v><v>(\S+?)</v></row>|<cf>(\w+)</cf>|<pdp_per_row>(\d+)<`)

// The times are those that rrdtool writes beside the rows, and of each time the finest archive's value is taken.
func TestParse(t *testing.T) {
	text := dumped(t)
	d, err := Parse(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	if len(d.Sources) != 2 || d.Sources[0] != (DataSource{"in", "COUNTER"}) || d.Sources[1] != (DataSource{"temperature", "GAUGE"}) ||
		strings.Join(d.Functions(), " ") != "AVERAGE MAX" {
		t.Fatalf("%+v %v", d.Sources, d.Functions())
	}
	got := map[int64]float64{}
	points := d.Points(1, "AVERAGE")
	for i, p := range points {
		got[p.Time] = p.Value
		if i > 0 && p.Time <= points[i-1].Time {
			t.Errorf("%d comes behind %d", p.Time, points[i-1].Time)
		}
	}
	function, width, seen := "", int64(0), map[int64]bool{}
	first, checked := int64(1)<<62, 0
	var finerFirst int64 = 1 << 62
	for _, m := range rowLine.FindAllStringSubmatch(string(text), -1) {
		switch {
		case m[4] != "":
			function = m[4]
		case m[5] != "":
			rows, _ := strconv.ParseInt(m[5], 10, 64)
			width, finerFirst = rows*60, min(first, finerFirst)
		case function == "AVERAGE":
			at, _ := strconv.ParseInt(m[1], 10, 64)
			v, _ := strconv.ParseFloat(m[3], 64)
			if v != v {
				continue
			}
			first = min(first, at)
			if at < finerFirst && !seen[at] { // nothing finer is there
				if w, there := got[at]; !there || w != v {
					t.Errorf("%d of the archive of %d s is %v %v, want %v", at, width, w, there, v)
				}
				checked++
			}
			seen[at] = true
		}
	}
	if checked < 30 || len(points) < checked {
		t.Errorf("%d of %d points were compared", checked, len(points))
	}
}

func TestFiles(t *testing.T) {
	folder := t.TempDir()
	text := dumped(t)
	put := func(name string, content []byte) {
		path := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var packed bytes.Buffer
	packer := gzip.NewWriter(&packed)
	_, _ = packer.Write(text)
	_ = packer.Close()
	put("router.rrd.xml", text)
	put("web1/router.xml.gz", packed.Bytes())
	put("cut.xml", text[:len(text)/2])
	put("binary.xml", []byte("RRD\x000003\x00"))
	put("page.xml", []byte("<html></html>"))
	put("empty.xml", nil)
	put("rows.xml", []byte(strings.Replace(string(text), "<row><v>", "<row><v>1</v><v>", 1)))
	put("step.xml", []byte(strings.Replace(string(text), "<step>60", "<step>-60", 1)))
	put("deep.xml", []byte("<rrd>"+strings.Repeat("<a>", 100)))
	put("endless.xml", []byte("<rrd>"+strings.Repeat("a", 2<<20)))
	put("value.xml", []byte(strings.Replace(string(text), "<row><v>", "<row><v>many", 1)))
	put("old.rrd", []byte("RRD\x000003\x00"))
	s, err := Open([]string{folder}, Options{Function: "AVERAGE"})
	if err != nil {
		t.Fatal(err)
	}
	var damaged, read []string
	walk := transfer.Walk{Selection: transfer.Everything(),
		Damaged: func(where string, why error, _ int64) {
			damaged = append(damaged, filepath.Base(where)+": "+why.Error())
		},
		Use: func(p *transfer.Part) error {
			n := 0
			err := p.Each(func(transfer.Sample) error { n++; return nil })
			if n == 0 || p.Kind != transfer.Gauge {
				t.Errorf("%s: %d samples, %s", p.Labels, n, p.Kind)
			}
			read = append(read, p.Labels.String())
			return err
		}}
	if err := s.Walk(t.Context(), walk); err != nil || len(damaged) != 9 {
		t.Errorf("%v\n%s", err, strings.Join(damaged, "\n"))
	}
	if want := `{__name__="router", ds="in"} {__name__="router", ds="temperature"} {__name__="router", dir="web1", ds="in"} {__name__="router", dir="web1", ds="temperature"}`; strings.Join(read, " ") != want {
		t.Errorf("%s", read)
	}
	// A function that no archive has is said with those that there are.
	s.options.Function, damaged = "LAST", nil
	if err := s.Walk(t.Context(), walk); err != nil || !strings.Contains(strings.Join(damaged, "\n"), "no archive of LAST, only of AVERAGE, MAX") {
		t.Error(err, damaged)
	}
	if _, err := Open([]string{filepath.Join(folder, "router.rrd.xml"), filepath.Join(folder, "web1/router.xml.gz")}, Options{}); err == nil || !strings.Contains(err.Error(), "same series") {
		t.Error(err)
	}
	only := t.TempDir()
	if err := os.WriteFile(filepath.Join(only, "a.rrd"), []byte("RRD\x00"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open([]string{only}, Options{}); err == nil || !strings.Contains(err.Error(), "rrdtool dump") {
		t.Error(err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(dumped(f))
	f.Add([]byte("<rrd><step>1</step><lastupdate>9</lastupdate><ds><name>a</name></ds><rra><cf>LAST</cf><pdp_per_row>2</pdp_per_row><database><row><v>-nan</v></row></database></rra></rrd>"))
	f.Fuzz(func(t *testing.T, text []byte) {
		d, err := Parse(bytes.NewReader(text))
		if err != nil {
			return
		}
		for _, function := range d.Functions() {
			for i := range d.Sources {
				for k, p := range d.Points(i, function) {
					if p.Value != p.Value || p.Time < 0 {
						t.Fatal(k, p)
					}
				}
			}
		}
	})
}
