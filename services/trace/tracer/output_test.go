package tracer

import (
	"errors"
	"io"
	"maps"
	"strings"
	"testing"

	"cistern/services/histogram"
	"cistern/services/histogram/convert"
	"cistern/services/trace/statistics"
)

func datasets(t testing.TB, texts ...string) (list []*statistics.Dataset) {
	for _, text := range texts {
		d, err := statistics.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, d)
	}
	return list
}

// read parses and collects what each second added.
func read(list []*statistics.Dataset, text string) (seconds [][]printed, times []int64, err error) {
	p := newParser(strings.NewReader(text), list, func() {}, func(at int64, added []printed) {
		times, seconds = append(times, at), append(seconds, added)
	})
	err = p.run()
	return seconds, times, err
}

// What dtrace 2.0.7 printed in the appliance, with programs whose names had quotes, line feeds and bytes that are not
// UTF-8, and one without a name.
const recorded = `B
T 1795262958483774975
0 s3:sda=2
0 s3:sde=2
1 s5:we"=x=1
1 s5:q"x
y=1
1 s0:=4
1 s3:a` + "\xff" + `b=1
1 s10:2 t=5

E
x=7
2 h

           value  ------------- Distribution ------------- count    
             < 1 |                                         3        
               1 |@@@@@@@@@@                               1        
          990000 |                                         0        
         1000000 |@@@@@@@@@@                               1        
         1100000 |@@@@@@@@@@@@@@@@@@@@                     2        
         1200000 |                                         0        
.
3 i0=10
3 i18446744073709551615=2
4 t=5
E
T 1795262959484774975
0 s3:sda=5
1 s5:we"=x=1
1 s5:q"x
y=3
1 s0:=4
1 s3:a` + "\xff" + `b=1
2 h

           value  ------------- Distribution ------------- count    
             < 1 |                                         3        
               1 |@@@@@@@@@@                               1        
         1000000 |@@@@@@@@@@                               1        
         1100000 |@@@@@@@@@@@@@@@@@@@@                     9        
         1200000 |                                         0        
.
4 t=5
C 1
E
T 1795262960484774975
1 s3:new=2
4 t=6
E
`

func TestRecordedOutput(t *testing.T) {
	list := datasets(t, "io.ops[disk]", "proc.starts[process]", "io.ops[latency]", "syscall.calls[error]", "io.ops")
	seconds, times, err := read(list, recorded)
	if !errors.Is(err, io.EOF) || len(seconds) != 3 || times[0] != 1795262958483774975 {
		t.Fatal(len(seconds), times, err)
	}
	first, second, third := seconds[0], seconds[1], seconds[2]
	want := map[string]int64{`we"=x`: 1, "q\"x\ny": 1, "": 4, "a\xffb": 1, "2 t=5\n\nE\nx": 7}
	if !maps.Equal(first[1].values, want) || first[1].total != 14 {
		t.Errorf("%v", first[1].values)
	}
	if !maps.Equal(first[3].values, map[string]int64{"0": 10, "-1": 2}) || first[4].total != 5 {
		t.Errorf("%v %v", first[3], first[4])
	}
	if !maps.Equal(second[0].values, map[string]int64{"sda": 3}) || !maps.Equal(second[1].values, map[string]int64{"q\"x\ny": 2}) || second[4].total != 0 {
		t.Errorf("%v", second)
	}
	// Behind C all is new.
	if !maps.Equal(third[1].values, map[string]int64{"new": 2}) || third[4].total != 1 {
		t.Errorf("%v", third)
	}
	bin := func(v float64) histogram.Bin { b, _ := histogram.BinOf(v); return b }
	if got := first[2]; got.total != 7 || !maps.Equal(got.bins, map[histogram.Bin]int64{0: 3, bin(1e-9): 1, bin(1e-3): 1, bin(1.1e-3): 2}) {
		t.Errorf("%v", got)
	}
	if got := second[2]; got.total != 7 || !maps.Equal(got.bins, map[histogram.Bin]int64{bin(1.1e-3): 7}) {
		t.Errorf("%v", got)
	}
}

// The bins are those that the store's own conversion of llquantize makes.
func TestDistributionAsConverted(t *testing.T) {
	source := &histogram.Histogram{}
	for i, v := range []float64{1, 9, 10, 11, 99, 100, 104, 12345, 8.7e9, 3.3e13} {
		_ = source.Insert(v, uint64(i+1))
	}
	l, _, err := convert.ToLLQuantize(source, 10, 0, 14, 100)
	if err != nil {
		t.Fatal(err)
	}
	want, _, err := convert.FromLLQuantizeText(l.String())
	if err != nil {
		t.Fatal(err)
	}
	list := datasets(t, "io.ops[size]") // bytes: nothing is shifted
	seconds, _, _ := read(list, "T 1\n0 h\n"+l.String()+".\nE\n")
	if len(seconds) != 1 || !toHistogram(seconds[0][0].bins).Equal(want) {
		t.Errorf("%v\nnot\n%v", seconds, want)
	}
}

func TestStackOutput(t *testing.T) {
	list := datasets(t, "cpu.profile")
	seconds, _, err := read(list, "T 4\n0 t=20\nE\nT 5\n0 t=160\n0 k7:a\nK\nb c\n\nvmlinux`do_idle+0x269\nvmlinux`start+0x1\nK\n\nlibc.so.6`read+0x4\n0x401234\nU=150\n0 k4:init\n\nK\n\nU=2\nC 0\nE\nT 6\n0 t=170\nE\n")
	if !errors.Is(err, io.EOF) || len(seconds) != 3 || len(seconds[1][0].counts) != 2 || seconds[2][0].total != 10 {
		t.Fatal(seconds, err)
	}
	memory := &stackMemoryOf{}
	for i := range seconds {
		memory.add(int64(i)*1000, &seconds[i][0])
	}
	if n := memory.seconds[1].counts[otherStacks.id()]; n != 8 || len(memory.seconds) != 3 || len(memory.seconds[2].counts) != 0 {
		t.Errorf("%d other stacks in %v", n, memory.seconds)
	}
	for id, n := range memory.seconds[1].counts {
		if s := memory.known[id]; n == 150 && (s.process != "a\nK\nb c" || len(s.kernel) != 2 || s.user[1] != "0x401234") {
			t.Errorf("%q", s)
		}
	}
}

// Whatever is printed, the parser ends with an error or with the output, and never with a negative amount.
func FuzzOutput(f *testing.F) {
	f.Add(recorded)
	list := datasets(f, "io.ops[disk]", "proc.starts[process]", "io.ops[latency]", "syscall.calls[error]", "cpu.profile")
	f.Fuzz(func(t *testing.T, text string) {
		seconds, _, err := read(list, text)
		if err == nil {
			t.Fatal("no end")
		}
		for _, second := range seconds {
			for _, p := range second {
				for key, n := range p.values {
					if n < 0 {
						t.Fatalf("%q: %d", key, n)
					}
				}
			}
		}
	})
}
