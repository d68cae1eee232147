package importer

// Samples in Cistern's own form, which agents and benchmarks send: POST /api/v1/import with the content type
// application/vnd.cistern.samples. u and v are uvarint and varint:
//
//	"CISTSMP3", or "CISTSMP2", in which no histogram has a sum
//	u  number of series, each: byte kind (1 gauge, 2 counter, 3 histogram), u length, the key: for each label, ascending by
//	   name, __name__ among them: 0x0a, u length of the rest, 0x0a, u length, name, 0x12, u length, value
//	u  number of samples, each:
//	   v  the series' number, from 0, minus the previous sample's
//	   v  time in ms since 1970 minus the previous sample's
//	   8 bytes, the number, little-endian; or of a histogram:
//	   u  twice the number of its bins, and one when they are given by chunks
//	   by chunks: v the first chunk, u steps to the others; behind each 8 bytes, little-endian: which of the 64 bins from
//	      64·chunk on are meant, the lowest bit the first
//	   otherwise: v the first bin; u steps to the others
//	   u  count of each bin, never 0
//	   When its sum is known a byte 1 comes before that, and behind it, so that it has one bin at least:
//	   u  k + 16·number: what the values are beyond their bins' bounds nearer to zero is number × 10^(w-k), 10^w being the
//	      width of the bin furthest from zero; the number is zigzag when there are bins below zero
//	   Bins are OpenHistogram's: (exponent+128)·90 + two digits-9 for positive values, 0 for zero, negative mirrored
//
// A body that cannot be read to its end is refused as a whole; one bad series or sample is not.

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"net/http"
	"unsafe"

	"cistern/services/histogram"
	"cistern/services/ingest/admission"
	"cistern/services/store/tsdb"
)

const (
	samplesType  = "application/vnd.cistern.samples"
	samplesMagic = "CISTSMP3"
	noSumsMagic  = "CISTSMP2"
	maxBinary    = 4 * admission.MaxParts // samples of a request: they cost no more than their place in a list
)

var errSamples = errors.New("the body is not in the form of " + samplesType)

type binaryReader struct {
	rest []byte
	bad  bool
}

func (r *binaryReader) uvarint() uint64 {
	v, n := binary.Uvarint(r.rest)
	if n <= 0 {
		r.bad, r.rest = true, nil
		return 0
	}
	r.rest = r.rest[n:]
	return v
}

func (r *binaryReader) varint() int64 {
	v, n := binary.Varint(r.rest)
	if n <= 0 {
		r.bad, r.rest = true, nil
		return 0
	}
	r.rest = r.rest[n:]
	return v
}

func (r *binaryReader) take(n uint64) []byte {
	if n > uint64(len(r.rest)) {
		r.bad, r.rest = true, nil
		return nil
	}
	front := r.rest[:n:n]
	r.rest = r.rest[n:]
	return front
}

// decodeBinary turns a body into samples, which share its memory. Keys are checked by the store when it does not know
// them.
func decodeBinary(body []byte) (samples []tsdb.Sample, err error) {
	r := binaryReader{rest: body}
	magic := string(r.take(uint64(len(samplesMagic))))
	if magic != samplesMagic && magic != noSumsMagic {
		return nil, errSamples
	}
	type series struct {
		key  []byte
		kind tsdb.Kind
	}
	n := r.uvarint()
	if n > uint64(len(r.rest)) {
		return nil, errSamples
	}
	if n > admission.MaxParts {
		return nil, admission.ErrTooMany
	}
	list := make([]series, n)
	for i := range list {
		kind := r.take(1)
		key := r.take(r.uvarint())
		if r.bad || tsdb.Kind(kind[0]) < tsdb.Gauge || tsdb.Kind(kind[0]) > tsdb.Histogram {
			return nil, fmt.Errorf("%w: series %d", errSamples, i)
		}
		list[i] = series{key, tsdb.Kind(kind[0])}
	}
	n = r.uvarint()
	if n > uint64(len(r.rest))/3+1 { // two numbers and a histogram's none are the least
		return nil, errSamples
	}
	if n > maxBinary {
		return nil, admission.ErrTooMany
	}
	samples = make([]tsdb.Sample, n)
	ref, at := int64(0), int64(0)
	for i := range samples {
		ref += r.varint()
		at += r.varint()
		if r.bad || ref < 0 || ref >= int64(len(list)) {
			return nil, fmt.Errorf("%w: sample %d", errSamples, i)
		}
		one := &samples[i]
		one.Key, one.Raw, one.Kind, one.Time = list[ref].key, true, list[ref].kind, at
		if one.Kind != tsdb.Histogram {
			value := r.take(8)
			if r.bad {
				return nil, fmt.Errorf("%w: sample %d", errSamples, i)
			}
			one.Value = math.Float64frombits(binary.LittleEndian.Uint64(value))
			continue
		}
		one.Encoded = r.rest
		if r.rest, err = histogram.Skip(r.rest); err != nil {
			return nil, fmt.Errorf("%w: the histogram of sample %d", errSamples, i)
		}
		one.Encoded = one.Encoded[:len(one.Encoded)-len(r.rest)]
		if histogram.Summed(one.Encoded) && magic == noSumsMagic {
			return nil, fmt.Errorf("%w: the histogram of sample %d has a sum, which %s has none of", errSamples, i, magic)
		}
	}
	if r.bad || len(r.rest) > 0 {
		return nil, errSamples
	}
	return samples, nil
}

// takeBinary answers as takeJSON does.
func (h *Handler) takeBinary(w http.ResponseWriter, r *http.Request, body []byte, slot *admission.Slot) {
	samples, err := decodeBinary(body)
	if err != nil {
		h.gate.Malformed(w, err)
		return
	}
	slot.LeaveWith(len(body) + len(samples)*int(unsafe.Sizeof(tsdb.Sample{})))
	rejected, err := h.store.Ingest(r.Context(), "import", samples, h.Durability)
	if err != nil {
		admission.Unavailable(w, "samples", err)
		return
	}
	h.answer(w, len(samples), rejected)
}
