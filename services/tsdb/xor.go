package tsdb

// Numbers as a bit stream that grows sample by sample, after Facebook's Gorilla paper (VLDB 2015, section 4.1): times
// as differences of differences, values as differences of bits. Encoding 1 of a frame:
//
//	first sample: 64 bits time, 64 bits value
//	time:  0 same step as before · 10 + 8 bits · 110 + 14 bits · 1110 + 20 bits · 1111 + 64 bits, two's complement of
//	       how much the step (in ms) changed; the step before the second sample is 0
//	value: 0 same value · 10 + the bits of the exclusive or that the previous window covers · 11 + 5 bits leading
//	       zeros + 6 bits width-1 + that many bits
//
// Widths of the times are for milliseconds: 14 bits hold a change of 8 s, 20 bits one of 8 min.

import (
	"encoding/binary"
	"errors"
	"math"
	"math/bits"
)

var errFrame = errors.New("a frame's bytes are damaged")

type xorEncoder struct {
	bytes    []byte
	free     uint8 // unused bits of the last byte
	leading  uint8
	trailing uint8
	windowed bool // leading and trailing mean something
	count    uint16
	time     int64
	step     int64
	value    uint64
}

func (e *xorEncoder) write(value uint64, width uint8) {
	for width > 0 {
		if e.free == 0 {
			e.bytes = append(e.bytes, 0)
			e.free = 8
		}
		n := min(width, e.free)
		part := byte(value>>(width-n)) & byte(1<<n-1)
		e.bytes[len(e.bytes)-1] |= part << (e.free - n)
		e.free -= n
		width -= n
	}
}

func fits(v int64, width uint8) bool { return v >= -(1<<(width-1)) && v < 1<<(width-1) }

// append adds a sample; its time is after the one before.
func (e *xorEncoder) append(t int64, v float64) {
	valueBits := math.Float64bits(v)
	e.count++
	if e.count == 1 {
		e.bytes = binary.BigEndian.AppendUint64(e.bytes, uint64(t))
		e.bytes = binary.BigEndian.AppendUint64(e.bytes, valueBits)
		e.time, e.value = t, valueBits
		return
	}
	step := t - e.time
	switch change := step - e.step; {
	case change == 0:
		e.write(0, 1)
	case fits(change, 8):
		e.write(0b10<<8|uint64(change)&0xff, 10)
	case fits(change, 14):
		e.write(0b110<<14|uint64(change)&(1<<14-1), 17)
	case fits(change, 20):
		e.write(0b1110<<20|uint64(change)&(1<<20-1), 24)
	default:
		e.write(0b1111, 4)
		e.write(uint64(change), 64)
	}
	e.time, e.step = t, step

	difference := valueBits ^ e.value
	e.value = valueBits
	if difference == 0 {
		e.write(0, 1)
		return
	}
	leading, trailing := uint8(min(bits.LeadingZeros64(difference), 31)), uint8(bits.TrailingZeros64(difference))
	if e.windowed && leading >= e.leading && trailing >= e.trailing {
		e.write(0b10, 2)
		e.write(difference>>e.trailing, 64-e.leading-e.trailing)
		return
	}
	e.leading, e.trailing, e.windowed = leading, trailing, true
	width := 64 - leading - trailing
	e.write(0b11<<11|uint64(leading)<<6|uint64(width-1), 13)
	e.write(difference>>trailing, width)
}

type bitReader struct {
	bytes []byte
	at    int // bits
	short bool
}

func (r *bitReader) read(width uint8) uint64 {
	if r.at+int(width) > len(r.bytes)*8 {
		r.short = true
		return 0
	}
	var value uint64
	for width > 0 {
		free := uint8(8 - r.at&7)
		n := min(width, free)
		part := r.bytes[r.at>>3] >> (free - n) & byte(1<<n-1)
		value = value<<n | uint64(part)
		r.at += int(n)
		width -= n
	}
	return value
}

func signed(v uint64, width uint8) int64 { return int64(v<<(64-width)) >> (64 - width) }

// decodeXOR appends a frame's samples to times and values.
func decodeXOR(frame []byte, count int, times []int64, values []float64) ([]int64, []float64, error) {
	if count == 0 {
		return times, values, nil
	}
	if len(frame) < 16 {
		return times, values, errFrame
	}
	t, value := int64(binary.BigEndian.Uint64(frame)), binary.BigEndian.Uint64(frame[8:])
	times, values = append(times, t), append(values, math.Float64frombits(value))
	r := bitReader{bytes: frame, at: 128}
	var step int64
	var leading, trailing uint8
	for range count - 1 {
		var change int64
		switch {
		case r.read(1) == 0:
		case r.read(1) == 0:
			change = signed(r.read(8), 8)
		case r.read(1) == 0:
			change = signed(r.read(14), 14)
		case r.read(1) == 0:
			change = signed(r.read(20), 20)
		default:
			change = int64(r.read(64))
		}
		step += change
		t += step
		if r.read(1) == 1 {
			if r.read(1) == 1 {
				window := r.read(11)
				leading = uint8(window >> 6)
				width := uint8(window&63) + 1
				if int(leading)+int(width) > 64 {
					return times, values, errFrame
				}
				trailing = 64 - leading - width
			}
			value ^= r.read(64-leading-trailing) << trailing
		}
		if r.short {
			return times, values, errFrame
		}
		times, values = append(times, t), append(values, math.Float64frombits(value))
	}
	return times, values, nil
}
