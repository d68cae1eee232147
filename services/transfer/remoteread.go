package transfer

// Reading from an appliance by remote read: a stream of chunks, so that neither end holds an answer in memory.

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"net/http"
	"time"

	"github.com/golang/snappy"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/prompb"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/tsdb/chunks"
)

// maxFrame bounds one message of the stream; storaged's have half a megabyte and what one chunk is beyond it.
const maxFrame = 64 << 20

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// ReadChunks asks for the samples in [from, to] of the series that match, and hands on their chunks: series after series in the order
// of their labels, each in the order of time; a series may come several times in a row.
func ReadChunks(ctx context.Context, a Appliance, from, to int64, matchers []*labels.Matcher, use func(labels.Labels, []chunks.Meta) error) error {
	query := &prompb.Query{StartTimestampMs: from, EndTimestampMs: to}
	kinds := map[labels.MatchType]prompb.LabelMatcher_Type{labels.MatchEqual: prompb.LabelMatcher_EQ, labels.MatchNotEqual: prompb.LabelMatcher_NEQ,
		labels.MatchRegexp: prompb.LabelMatcher_RE, labels.MatchNotRegexp: prompb.LabelMatcher_NRE}
	for _, m := range matchers {
		query.Matchers = append(query.Matchers, &prompb.LabelMatcher{Type: kinds[m.Type], Name: m.Name, Value: m.Value})
	}
	// One matcher must not match what is empty.
	query.Matchers = append(query.Matchers, &prompb.LabelMatcher{Type: prompb.LabelMatcher_RE, Name: NameLabel, Value: ".+"})
	request := &prompb.ReadRequest{Queries: []*prompb.Query{query}, AcceptedResponseTypes: []prompb.ReadRequest_ResponseType{prompb.ReadRequest_STREAMED_XOR_CHUNKS}}
	raw, err := request.Marshal()
	if err != nil {
		return err
	}
	body, err := ask(ctx, a, http.MethodPost, "/api/v1/read", http.Header{"Content-Type": {"application/x-protobuf"}, "Content-Encoding": {"snappy"}}, snappy.Encode(nil, raw))
	if err != nil {
		return err
	}
	defer body.Close()
	in := bufio.NewReaderSize(body, 64<<10)
	for {
		frame, err := nextFrame(in)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("the appliance's answer ended early: %w", err)
		}
		var answer prompb.ChunkedReadResponse
		if err := answer.Unmarshal(frame); err != nil {
			return fmt.Errorf("the appliance's answer cannot be read: %w", err)
		}
		for _, s := range answer.ChunkedSeries {
			if err := useSeries(s, use); err != nil {
				return err
			}
		}
	}
}

// nextFrame is the next message; io.EOF only between two.
func nextFrame(in *bufio.Reader) ([]byte, error) {
	if _, err := in.Peek(1); err != nil {
		return nil, err
	}
	size, err := binary.ReadUvarint(in)
	if err != nil {
		return nil, unexpected(err)
	}
	if size > maxFrame {
		return nil, fmt.Errorf("a message of %d bytes is too long", size)
	}
	text := make([]byte, 4+size)
	if _, err := io.ReadFull(in, text); err != nil {
		return nil, unexpected(err)
	}
	if binary.BigEndian.Uint32(text) != crc32.Checksum(text[4:], castagnoli) {
		return nil, errors.New("its checksum is wrong")
	}
	return text[4:], nil
}

func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

func useSeries(s *prompb.ChunkedSeries, use func(labels.Labels, []chunks.Meta) error) error {
	pairs := make([]labels.Label, len(s.Labels))
	for i, l := range s.Labels {
		pairs[i] = labels.Label{Name: l.Name, Value: l.Value}
	}
	encodings := map[prompb.Chunk_Encoding]chunkenc.Encoding{prompb.Chunk_XOR: chunkenc.EncXOR, prompb.Chunk_HISTOGRAM: chunkenc.EncHistogram, prompb.Chunk_FLOAT_HISTOGRAM: chunkenc.EncFloatHistogram}
	list := make([]chunks.Meta, len(s.Chunks))
	for i, c := range s.Chunks {
		chunk, err := chunkenc.FromData(encodings[c.Type], c.Data)
		if err != nil {
			return fmt.Errorf("the appliance sent a chunk that cannot be read: %w", err)
		}
		list[i] = chunks.Meta{Chunk: chunk, MinTime: c.MinTimeMs, MaxTime: c.MaxTimeMs}
	}
	return use(FromPairs(pairs), list)
}

// Stretch is a time of which the appliance has samples, in ms, both ends in it.
type Stretch struct{ From, To int64 }

// Stretches asks of which times there are samples, within the selection.
func Stretches(ctx context.Context, a Appliance, s *Selection) ([]Stretch, error) {
	body, err := ask(ctx, a, http.MethodGet, "/api/v1/status/storage", nil, nil)
	if err != nil {
		return nil, fmt.Errorf("asking what the appliance has: %w", err)
	}
	var status struct {
		Head struct {
			Samples int64
			MinTime float64
		}
		Blocks []struct{ MinTime, MaxTime float64 }
	}
	if err := decode(body, &status); err != nil {
		return nil, fmt.Errorf("the appliance's answer about what it has cannot be read: %w", err)
	}
	var all []Stretch
	add := func(from, to int64) {
		if from, to = max(from, s.From), min(to, s.To); from <= to {
			all = append(all, Stretch{from, to})
		}
	}
	for _, b := range status.Blocks {
		add(millisOf(b.MinTime), millisOf(b.MaxTime))
	}
	if status.Head.Samples > 0 {
		add(millisOf(status.Head.MinTime), time.Now().Add(10*time.Minute).UnixMilli()) // as far ahead as samples are taken
	}
	return all, nil
}

// Coarse says since when samples are kept as they came; what is older is there as values of longer times. 0 if the appliance
// does not tell, which it does to administrators only.
func Coarse(ctx context.Context, a Appliance) int64 {
	keeps, err := retention(ctx, a)
	if err != nil {
		return 0
	}
	return keeps.oldest(time.Now())
}

// Persist calls f until it succeeds, for as long as that may be a matter of time.
func Persist(ctx context.Context, patience time.Duration, screen *Screen, f func() error) error {
	again := retry{patient: patience}
	for {
		err := f()
		if err == nil || ctx.Err() != nil {
			return err
		}
		pause, worth := again.wait(err, time.Now())
		if !worth {
			return err
		}
		screen.passing(func() string { return fmt.Sprintf("waiting %s: %v", pause, err) })
		if err := sleep(ctx, pause); err != nil {
			return err
		}
	}
}

// Passing shows how far something is.
func (s *Screen) Passing(format string, values ...any) {
	s.passing(func() string { return fmt.Sprintf(format, values...) })
}

// GetJSON reads an answer.
func GetJSON(ctx context.Context, a Appliance, path string, into any) error {
	body, err := ask(ctx, a, http.MethodGet, path, nil, nil)
	if err != nil {
		return err
	}
	return decode(body, into)
}
