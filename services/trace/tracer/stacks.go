package tracer

// The stacks of a profile: kept in memory for ten minutes, given out summed up for a flame graph.

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"

	"cistern/services/daemon/problem"
)

// maxStacks bounds what ten minutes hold: some ten megabytes.
const maxStacks = 20_000

type stackMemoryOf struct {
	seconds []stackSecond
	known   map[string]*stack
	// waiting are samples of which no stacks were printed yet.
	waiting int64
}

// otherStacks stand for those that were too rare to be printed.
var otherStacks = &stack{process: "(rarer stacks)"}

type stackSecond struct {
	time   int64 // ms
	counts map[string]int64
}

func (m *stackMemoryOf) add(at int64, p *printed) {
	if m.known == nil {
		m.known = map[string]*stack{}
	}
	one := stackSecond{at, map[string]int64{}}
	m.waiting += p.total
	for id, n := range p.counts {
		if m.known[id] == nil {
			if len(m.known) >= maxStacks {
				continue // it is among the others
			}
			m.known[id] = p.stacks[id]
		}
		one.counts[id] = n
		m.waiting -= n
	}
	if len(p.counts) > 0 {
		if m.waiting > 0 {
			m.known[otherStacks.id()] = otherStacks
			one.counts[otherStacks.id()] = m.waiting
		}
		m.waiting = 0
	}
	m.seconds = append(m.seconds, one)
	if len(m.seconds) > stackMemory {
		m.seconds = slices.Delete(m.seconds, 0, len(m.seconds)-stackMemory)
	}
	// Forget stacks that no second has any more, once in a while.
	if len(m.known) > maxStacks/2 && len(m.seconds)%60 == 0 {
		used := map[string]*stack{}
		for _, s := range m.seconds {
			for id := range s.counts {
				used[id] = m.known[id]
			}
		}
		m.known = used
	}
}

// Stacks is what a flame graph is made of.
type Stacks struct {
	Samples int64       `json:"samples"`
	Stacks  []StackView `json:"stacks"`
}

// StackView is one stack, the outermost frame first: the process, the frames of its program, those of the kernel.
type StackView struct {
	Frames []string `json:"frames"`
	Count  int64    `json:"count"`
}

// Stacks sums up the last seconds of a dataset of stacks, at most ten minutes.
func (t *Tracer) Stacks(text string, seconds int) (Stacks, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	d, err := t.find(text)
	if err != nil {
		return Stacks{}, err
	}
	if d.stacks == nil {
		return Stacks{}, problem.New(http.StatusBadRequest, "invalid_request", fmt.Sprintf("%s has no stacks; cpu.profile has.", d.name), "")
	}
	sums := map[string]int64{}
	from := t.now().UnixMilli() - int64(seconds+1)*1000
	for _, s := range d.stacks.seconds {
		if s.time >= from {
			for id, n := range s.counts {
				sums[id] += n
			}
		}
	}
	answer := Stacks{Stacks: []StackView{}}
	for id, n := range sums {
		s := d.stacks.known[id]
		frames := []string{s.process}
		for _, side := range [][]string{s.user, s.kernel} {
			for _, frame := range slices.Backward(side) {
				frames = append(frames, frame)
			}
		}
		answer.Samples += n
		answer.Stacks = append(answer.Stacks, StackView{frames, n})
	}
	slices.SortFunc(answer.Stacks, func(a, b StackView) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), slices.Compare(a.Frames, b.Frames))
	})
	return answer, nil
}
