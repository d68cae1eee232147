package compressestimate

import "encoding/binary"

// The compressors that ZFS has of its own, from their public descriptions: they only count what would be written.

// lzjb: a byte of eight flags, then for each flag a byte as it is, or two bytes that say how far back (up to 1,023)
// and how long (3 to 66) something is repeated. The last place of each three bytes' hash is remembered, 1,024 of them.
type lzjb struct{ last [1024]uint16 }

func (l *lzjb) size(block []byte) int {
	const shortest, longest, farthest = 3, 66, 1023
	clear(l.last[:])
	out, flags := 0, 0
	for at := 0; at < len(block); {
		if flags == 0 {
			out, flags = out+1, 8
		}
		flags--
		if at > len(block)-longest {
			out, at = out+1, at+1
			continue
		}
		hash := uint32(block[at])<<16 + uint32(block[at+1])<<8 + uint32(block[at+2])
		hash += hash >> 9
		hash += hash >> 5
		slot := &l.last[hash&1023]
		back := (at - int(*slot)) & farthest
		*slot = uint16(at)
		from := at - back
		if from < 0 || back == 0 || block[at] != block[from] || block[at+1] != block[from+1] || block[at+2] != block[from+2] {
			out, at = out+1, at+1
			continue
		}
		length := shortest
		for length < longest && block[at+length] == block[from+length] {
			length++
		}
		out, at = out+2, at+length
	}
	return out
}

// zle: a byte below 64 says how many bytes follow as they are, less one; from 64 on how many zeros there are.
type zle struct{}

func (zle) size(block []byte) int {
	const literal, zeros = 64, 192
	out := 0
	for at := 0; at < len(block); {
		from := at
		if block[at] == 0 {
			for at < len(block) && at-from < zeros && block[at] == 0 {
				at++
			}
			out++
			continue
		}
		// A single zero among others is cheaper as it is.
		for at < len(block) && at-from < literal && (block[at] != 0 || at+1 < len(block) && block[at+1] != 0) {
			at++
		}
		out += 1 + at - from
	}
	return out
}

// lz4 as ZFS has it: the fast compressor with a table of 4,096 places (8,192 for blocks below 64 KiB), which finds less
// than one with the usual 16,384. Before the block stand four bytes with its length.
type lz4 struct{ last [8192]int32 }

func (l *lz4) size(block []byte) int {
	const (
		header    = 4
		shortest  = 4
		farthest  = 65535
		lastBytes = 5  // always as they are
		searchEnd = 12 // no match begins in the last ones
		skip      = 6  // after 64 misses every second place is looked at, and so on
	)
	shift := 32 - 12
	if len(block) < 64<<10+searchEnd-1 {
		shift = 32 - 13
	}
	if len(block) < searchEnd+1 {
		return header + literals(len(block)) + len(block)
	}
	for i := range l.last {
		l.last[i] = -1
	}
	hash := func(at int) uint32 { return binary.LittleEndian.Uint32(block[at:]) * 2654435761 >> shift }
	out, anchor, at := header, 0, 1
	l.last[hash(0)] = 0
	end := len(block) - searchEnd
	for {
		attempts, found := 1<<skip+3, -1
		for step := 1; at <= end; at += step {
			h := hash(at)
			from := int(l.last[h])
			l.last[h] = int32(at)
			if from >= 0 && at-from <= farthest && binary.LittleEndian.Uint32(block[from:]) == binary.LittleEndian.Uint32(block[at:]) {
				found = from
				break
			}
			step = attempts >> skip
			attempts++
		}
		if found < 0 {
			break
		}
		for at > anchor && found > 0 && block[at-1] == block[found-1] {
			at, found = at-1, found-1
		}
		length := shortest
		for at+length < len(block)-lastBytes && block[at+length] == block[found+length] {
			length++
		}
		// A token, the literals with their length, two bytes of offset, the rest of the match's length.
		out += literals(at-anchor) + at - anchor + 2
		if rest := length - shortest; rest >= 15 {
			out += 1 + (rest-15)/255
		}
		at += length
		anchor = at
		if at > end {
			break
		}
		l.last[hash(at-2)] = int32(at - 2)
	}
	return out + literals(len(block)-anchor) + len(block) - anchor
}

// literals is the size of a token with the length of so many literals.
func literals(n int) int {
	if n < 15 {
		return 1
	}
	return 2 + (n-15)/255
}
