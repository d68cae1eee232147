package tsdb

// Which labels make the series many.

import (
	"cmp"
	"context"
	"slices"
	"strings"
)

// Figure is a name and what was counted of it.
type Figure struct {
	Name  string
	Count uint64
}

// Cardinality is what makes the series many. The same series is in memory and in several blocks; each figure is the largest
// that memory or one block has, and never counts a series twice.
type Cardinality struct {
	Pairs int // pairs of a label's name and a value that there are
	// The greatest of each, descending.
	Names  []Figure // series of a metric's name
	Values []Figure // values of a label's name
	Bytes  []Figure // bytes of all values of a label's name
	Series []Figure // series with a label, as name=value
}

// Cardinality counts in memory and in the blocks that have samples in [minTime, maxTime]; it gives the most greatest of each.
func (s *Store) Cardinality(ctx context.Context, minTime, maxTime int64, most int) (Cardinality, error) {
	if Narrowed(ctx) {
		return Cardinality{}, errNarrowed
	}
	v, release, err := s.view(ctx, minTime, maxTime)
	if err != nil {
		return Cardinality{}, err
	}
	defer release()
	var all Cardinality
	for _, b := range v.blocks {
		x, err := b.index()
		var c counting
		if err == nil {
			c.most = most
			err = x.eachLabel(ctx, func(l *blockLabel) { c.add(l.Name, l.Value, uint64(l.count)) })
		}
		if err != nil {
			if ctx.Err() != nil {
				return Cardinality{}, context.Cause(ctx)
			}
			if err := v.spoiled(b, err); err != nil {
				return Cardinality{}, err
			}
		}
		all.join(c.result(), most)
	}
	for _, h := range v.heads {
		c := counting{most: most}
		h.mu.RLock()
		for name, values := range h.labels {
			for value, p := range values {
				c.add(name, value, uint64(p.size()))
			}
		}
		h.mu.RUnlock()
		all.join(c.result(), most)
	}
	return all, nil
}

// counting counts one place, whose labels come name by name.
type counting struct {
	most   int
	done   Cardinality
	name   string
	values uint64
	bytes  uint64
}

func (c *counting) add(name, value string, series uint64) {
	if name != c.name {
		c.endName()
		c.name = strings.Clone(name)
	}
	c.values++
	c.bytes += uint64(len(value))
	c.done.Pairs++
	if name == NameLabel && enters(c.done.Names, c.most, series) {
		c.done.Names = enter(c.done.Names, c.most, Figure{strings.Clone(value), series})
	}
	if enters(c.done.Series, c.most, series) {
		c.done.Series = enter(c.done.Series, c.most, Figure{name + "=" + value, series})
	}
}

func (c *counting) endName() {
	if c.values > 0 {
		c.done.Values = enter(c.done.Values, c.most, Figure{c.name, c.values})
		c.done.Bytes = enter(c.done.Bytes, c.most, Figure{c.name, c.bytes})
	}
	c.values, c.bytes = 0, 0
}

func (c *counting) result() *Cardinality {
	c.endName()
	return &c.done
}

// compareFigures puts the greater one first, and of equal ones that whose name comes first.
func compareFigures(a, b Figure) int {
	return cmp.Or(cmp.Compare(b.Count, a.Count), strings.Compare(a.Name, b.Name))
}

// enters says whether a count can be among the most greatest.
func enters(list []Figure, most int, count uint64) bool {
	return len(list) < most || most > 0 && count >= list[len(list)-1].Count
}

// enter puts a figure among the most greatest, in its place.
func enter(list []Figure, most int, one Figure) []Figure {
	at, _ := slices.BinarySearchFunc(list, one, compareFigures)
	if at >= most {
		return list
	}
	if len(list) == most {
		list = list[:most-1]
	}
	return slices.Insert(list, at, one)
}

// join takes what another place has of figures that are greater there.
func (c *Cardinality) join(other *Cardinality, most int) {
	c.Pairs = max(c.Pairs, other.Pairs)
	for _, lists := range [][2]*[]Figure{{&c.Names, &other.Names}, {&c.Values, &other.Values}, {&c.Bytes, &other.Bytes}, {&c.Series, &other.Series}} {
		merged := append(slices.Clone(*lists[0]), *lists[1]...)
		slices.SortFunc(merged, compareFigures)
		seen := map[string]bool{}
		merged = slices.DeleteFunc(merged, func(f Figure) bool {
			twice := seen[f.Name]
			seen[f.Name] = true
			return twice
		})
		*lists[0] = merged[:min(most, len(merged))]
	}
}

// size is how many series have the label.
func (p *posting) size() int {
	if p.list != nil {
		return len(p.list)
	}
	return 1
}

// eachLabel calls f with every label, in order.
func (x *blockIndex) eachLabel(ctx context.Context, f func(*blockLabel)) error {
	for number := range x.labelPages {
		if err := ctx.Err(); err != nil {
			return err
		}
		bytes, err := x.block.read(x.labelPages[number]) // not kept: they are all of them
		if err != nil {
			return err
		}
		page, err := parseLabelPage(bytes)
		if err != nil {
			return err
		}
		for i := range page {
			f(&page[i])
		}
	}
	return nil
}
