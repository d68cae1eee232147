package statsd

import (
	"fmt"
	"runtime"
	"testing"
	"time"
)

// What names take is bounded, and what is counted is what they take.
func TestMemoryOfNames(t *testing.T) {
	const names = 50_000
	a, s := one(&memory{forget: true})
	live := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	empty := live()
	for second := range 20 { // a twentieth of them in each, as of requests that come now and then
		for i := second; i < names; i += 20 {
			s.packets([][]byte{
				fmt.Appendf(nil, "app.requests.%d.duration:%d|ms\napp.requests.%d.duration:9|ms", 2*(i/2), i%300, 2*(i/2)),
				fmt.Appendf(nil, "app.requests.%d.size:%d|g", i|1, i),
			}, 1)
		}
		if err := a.Flush(t.Context(), time.Unix(int64(second), 0)); err != nil {
			t.Fatal(err)
		}
	}
	known := len(a.all())
	took, counted := live()-empty, a.bytes.Load()
	each := took / int64(known)
	t.Logf("%d names take %d bytes each; %d are counted", known, each, counted/int64(known))
	if each > 420 {
		t.Errorf("a name takes %d bytes", each)
	}
	if counted < took*3/4 || counted > took*5/4 {
		t.Errorf("%d bytes are counted of %d", counted, took)
	}
	runtime.KeepAlive(s)
}

func TestMemoryForNamesIsBounded(t *testing.T) {
	m := &memory{}
	a := NewAggregator(m, Options{Clock: clock, NamesBytes: 100_000})
	s := a.shard()
	for i := range 1000 {
		s.packets([][]byte{fmt.Appendf(nil, "name.%d:1|c", i)}, 1)
	}
	known := len(a.all())
	if known < 100 || known > 500 {
		t.Errorf("%d names are known", known)
	}
	s.packets([][]byte{[]byte("name.0:1|c")}, 1)
	if err := a.Flush(t.Context(), time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
	if refused := m.rejected[Names]; refused != 1000-known {
		t.Errorf("%d lines were refused, %d names are known", refused, known)
	}
	// Who is forgotten makes room.
	a.flushing.Lock()
	a.remove(a.all(), true)
	a.flushing.Unlock()
	if a.bytes.Load() != 0 {
		t.Errorf("%d bytes are counted of no name", a.bytes.Load())
	}
	s.packets([][]byte{[]byte("another:1|c")}, 1)
	if len(a.all()) != 1 {
		t.Error("there is no room")
	}
}
