package prometheus

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cistern/services/transfer"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/tsdb/chunks"
	"github.com/prometheus/prometheus/tsdb/tombstones"
)

const begin, chunkSamples = 1_700_000_000_000, 120

func numbers(t testing.TB, from int64) chunks.Meta {
	t.Helper()
	chunk := chunkenc.NewXORChunk()
	appender, err := chunk.Appender()
	if err != nil {
		t.Fatal(err)
	}
	for i := range int64(chunkSamples) {
		appender.Append(0, from+i*15_000, float64(i))
	}
	return chunks.Meta{Chunk: chunk, MinTime: from, MaxTime: from + (chunkSamples-1)*15_000}
}

// natives are whole numbers, as Prometheus scrapes them.
func natives(t testing.TB, from int64) chunks.Meta {
	t.Helper()
	var chunk chunkenc.Chunk = chunkenc.NewHistogramChunk()
	appender, err := chunk.Appender()
	if err != nil {
		t.Fatal(err)
	}
	for i := range int64(10) {
		h := &histogram.Histogram{Schema: 2, Count: uint64(i + 3), Sum: 7, ZeroCount: 3, PositiveSpans: []histogram.Span{{Offset: 1, Length: 1}}, PositiveBuckets: []int64{i}}
		if _, _, appender, err = appender.AppendHistogram(nil, 0, from+i*15_000, h, false); err != nil {
			t.Fatal(err)
		}
	}
	return chunks.Meta{Chunk: chunk, MinTime: from, MaxTime: from + 9*15_000}
}

// blocks makes a data folder: two blocks of four series, three of which have two chunks.
func blocks(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	for n := range int64(2) {
		from := begin + n*7_200_000
		b, err := NewBlock(dir)
		if err != nil {
			t.Fatal(err)
		}
		if err := b.Add(labels.FromStrings("__name__", "latency"), []chunks.Meta{natives(t, from)}); err != nil {
			t.Fatal(err)
		}
		for i := range 3 {
			if err := b.Add(labels.FromStrings("__name__", "up", "i", fmt.Sprint(i)), []chunks.Meta{numbers(t, from), numbers(t, from+1_800_000)}); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := b.Finish(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

type walked struct {
	series, samples, natives int
	damaged                  []string
	numbers                  []int64
}

func walk(t testing.TB, s *Source, selection *transfer.Selection, from int64) (w walked) {
	t.Helper()
	err := s.Walk(t.Context(), transfer.Walk{Selection: selection, From: from,
		Damaged: func(where string, why error, _ int64) { w.damaged = append(w.damaged, where+": "+why.Error()) },
		Use: func(p *transfer.Part) error {
			w.series++
			w.numbers = append(w.numbers, p.Number)
			return p.Each(func(one transfer.Sample) error {
				if w.samples++; one.Native != nil {
					w.natives++
				}
				return nil
			})
		}})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func TestRead(t *testing.T) {
	dir := blocks(t)
	s, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	all := walk(t, s, transfer.Everything(), 0)
	if all.series != 8 || all.samples != 2*(10+3*240) || all.natives != 20 || len(all.damaged) > 0 {
		t.Errorf("%+v", all)
	}
	if rest := walk(t, s, transfer.Everything(), 5); fmt.Sprint(rest.numbers) != "[5 6 7]" {
		t.Errorf("%+v", rest)
	}
	chosen := transfer.Everything()
	chosen.From, chosen.To = begin+1_800_000, begin+1_800_000+30_000
	chosen.Matchers = []*labels.Matcher{labels.MustNewMatcher(labels.MatchEqual, "__name__", "up")}
	if some := walk(t, s, chosen, 0); some.samples != 9 || some.series != 3 {
		t.Errorf("%+v", some)
	}
	survey, err := s.Survey(t.Context(), transfer.Everything(), begin+7_200_000)
	if err != nil || survey.Samples != 1460 || survey.Older != 730 || survey.Series != 4 || survey.MinTime != begin || survey.Files != 2 {
		t.Errorf("%+v %v", survey, err)
	}
	one, err := Open(filepath.Join(dir, s.blocks[0].id))
	if err != nil || walk(t, one, transfer.Everything(), 0).samples != 730 {
		t.Error(err)
	}
}

// What was deleted stays deleted; a chunk that is damaged is named, and everything else is read.
func TestDamage(t *testing.T) {
	dir := blocks(t)
	s, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	first, second := s.blocks[0].dir, s.blocks[1].dir
	gone := tombstones.NewMemTombstones()
	err = s.each(t.Context(), s.blocks[1], func(o *opened) error {
		name, value := "", ""
		p, err := o.index.Postings(t.Context(), name, value)
		if err != nil {
			return err
		}
		for p.Next() {
			gone.AddInterval(p.At(), tombstones.Interval{Mint: begin + 7_200_000, Maxt: begin + 7_200_000 + 14_999})
		}
		return p.Err()
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tombstones.WriteFile(slog.New(slog.DiscardHandler), second, gone); err != nil {
		t.Fatal(err)
	}
	if all := walk(t, s, transfer.Everything(), 0); all.samples != 1460-4 || len(all.damaged) > 0 {
		t.Errorf("with deletions: %+v", all)
	}
	file := filepath.Join(first, "chunks", "000001")
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	content[len(content)-20] ^= 0xff // in the last chunk
	if err := os.WriteFile(file, content, 0o600); err != nil {
		t.Fatal(err)
	}
	all := walk(t, s, transfer.Everything(), 0)
	if all.samples != 1460-4-chunkSamples || len(all.damaged) != 1 || !strings.Contains(all.damaged[0], `series {__name__="up", i="2"}`) {
		t.Errorf("with a damaged chunk: %+v", all)
	}
	// An index that is no index: the other block is read.
	index, err := os.ReadFile(filepath.Join(first, "index"))
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string][]byte{"cut": index[:len(index)/2], "empty": nil, "text": []byte(strings.Repeat("hello ", 100)), "turned": append([]byte("x"), index[1:]...)} {
		if err := os.WriteFile(filepath.Join(first, "index"), text, 0o600); err != nil {
			t.Fatal(err)
		}
		if all := walk(t, s, transfer.Everything(), 0); all.samples != 730-4 || len(all.damaged) != 1 {
			t.Errorf("%s: %+v", name, all)
		}
		if survey, err := s.Survey(t.Context(), transfer.Everything(), 0); err != nil || survey.Damaged != 1 || survey.Samples == 0 {
			t.Errorf("%s: %+v %v", name, survey, err)
		}
	}
	for name, text := range map[string]string{"cut": `{"ulid":`, "version": `{"ulid":"x","version":2}`, "thanos": `{"ulid":"x","version":1,"thanos":{"downsample":{"resolution":300000}}}`, "empty": ``} {
		if err := os.WriteFile(filepath.Join(first, "meta.json"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		other, err := Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		if all := walk(t, other, transfer.Everything(), 0); all.samples != 730-4 || len(all.damaged) != 1 {
			t.Errorf("%s: %+v", name, all)
		}
	}
}

// What is in no block yet is said.
func TestHead(t *testing.T) {
	dir := t.TempDir()
	if _, err := Open(dir); err == nil || !strings.Contains(err.Error(), "no blocks of Prometheus") {
		t.Error(err)
	}
	if err := os.MkdirAll(filepath.Join(dir, "wal"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "wal", "00000000"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(dir); err == nil || !strings.Contains(err.Error(), "snapshot") {
		t.Error(err)
	}
	if _, err := Open(filepath.Join(dir, "none")); err == nil {
		t.Error("a folder that is not there is read")
	}
}

// FuzzIndex reads blocks whose index was changed: nothing ends the program.
func FuzzIndex(f *testing.F) {
	f.Add(uint32(100), byte(1))
	f.Add(uint32(5), byte(0xff))
	f.Fuzz(func(t *testing.T, at uint32, change byte) {
		dir := blocks(t)
		s, err := Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(s.blocks[0].dir, "index")
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		content[int(at)%len(content)] ^= change
		if err := os.WriteFile(file, content, 0o600); err != nil {
			t.Fatal(err)
		}
		if all := walk(t, s, transfer.Everything(), 0); all.samples < 730 {
			t.Errorf("the other block was not read: %+v", all)
		}
	})
}
