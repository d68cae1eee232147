package tsdb

// What samples take, by the values of one label: what a recorded statistic costs, what a sender costs.

import (
	"context"
	"sort"
	"strings"
)

// Size is what the series with one value of a label take.
type Size struct {
	Value   string
	Series  int    // the most that were in one part of the store at once
	Samples uint64 // in blocks; 0 of a block of which only rollups are left
	// Bytes. Disk is what their samples and rollups have in blocks, without the index; Memory is what is in no block yet,
	// about, which is in the journal too.
	Disk, Memory int64
}

// Sizes is what the series take that have the label, by its value, ascending. Blocks never change, so that what was
// counted of one is kept as long as it is there. Of a damaged block what could be read is counted.
func (s *Store) Sizes(ctx context.Context, label string) ([]Size, error) {
	if Narrowed(ctx) {
		return nil, errNarrowed
	}
	v, release, err := s.view(ctx, -1<<62, 1<<62)
	if err != nil {
		return nil, err
	}
	defer release()
	all := map[string]*Size{}
	add := func(part Size) {
		one := all[part.Value]
		if one == nil {
			one = &Size{Value: part.Value}
			all[part.Value] = one
		}
		one.Series = max(one.Series, part.Series)
		one.Samples += part.Samples
		one.Disk += part.Disk
		one.Memory += part.Memory
	}
	for _, b := range v.blocks {
		parts, err := b.sizes(ctx, label)
		if err != nil {
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			if err := v.spoiled(b, err); err != nil {
				return nil, err
			}
		}
		for _, part := range parts {
			add(part)
		}
	}
	for _, h := range v.heads {
		if err := h.sizes(label, add); err != nil {
			return nil, err
		}
	}
	list := make([]Size, 0, len(all))
	for _, one := range all {
		list = append(list, *one)
	}
	sort.Slice(list, func(a, b int) bool { return list[a].Value < list[b].Value })
	return list, nil
}

func (b *block) sizes(ctx context.Context, label string) ([]Size, error) {
	b.sizesMu.Lock()
	defer b.sizesMu.Unlock()
	if known, ok := b.sizesOf[label]; ok {
		return known, nil
	}
	x, err := b.index()
	if err != nil {
		return nil, err
	}
	var parts []Size
	err = x.eachValue(label, "", func(value string, series func() ([]uint32, error)) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		refs, err := series()
		if err != nil {
			return err
		}
		part := Size{Value: value, Series: len(refs)}
		for _, ref := range refs {
			one, err := x.seriesAt(int(ref))
			if err != nil {
				return err
			}
			part.Samples += one.samples
			for _, length := range one.lengths {
				part.Disk += int64(length)
			}
		}
		parts = append(parts, part)
		return nil
	})
	if err != nil {
		return parts, err
	}
	// A label that is asked for once, of many, is not worth its memory.
	if len(b.sizesOf) >= 4 {
		clear(b.sizesOf)
	}
	if b.sizesOf == nil {
		b.sizesOf = map[string][]Size{}
	}
	b.sizesOf[label] = parts
	return parts, nil
}

func (h *head) sizes(label string, add func(Size)) error {
	h.mu.RLock()
	defer h.mu.RUnlock()
	return h.eachValue(label, "", func(value string, series func() ([]uint32, error)) error {
		refs, err := series()
		if err != nil {
			return err
		}
		part := Size{Value: strings.Clone(value)} // it shares memory with the head
		for _, ref := range refs {
			if one := h.series[ref]; one.has {
				part.Series++
				part.Memory += one.bytes()
			}
		}
		if part.Series > 0 {
			add(part)
		}
		return nil
	})
}

// bytes is what its samples take in memory, about.
func (s *memSeries) bytes() int64 {
	const pointBytes = 16
	n := int64(len(s.sealed) + len(s.open.inUse())*pieceWords*8)
	if s.more == nil {
		return n
	}
	n += int64(cap(s.more.late)*pointBytes + len(s.more.pending) + cap(s.more.rows.bytes) + cap(s.more.minutes.bytes))
	for i := range s.more.sealedRows {
		n += int64(len(s.more.sealedRows[i].bytes))
	}
	return n
}
