package otlp

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/encoding/gzip"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"
)

// over serves the handler of a store on a port, and returns how a message is sent there.
func over(t *testing.T, m *memory) func(body []byte, options ...grpc.CallOption) ([]byte, error) {
	h, _ := handler(m)
	g, err := ListenGRPC("127.0.0.1:0", h, nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() { g.Serve(ctx); close(ended) }()
	connection, err := grpc.NewClient(g.Address().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = connection.Close()
		cancel()
		select {
		case <-ended:
		case <-time.After(10 * time.Second):
			t.Error("it does not end")
		}
	})
	return func(body []byte, options ...grpc.CallOption) ([]byte, error) {
		var reply message
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		err := connection.Invoke(ctx, "/opentelemetry.proto.collector.metrics.v1.MetricsService/Export", &message{bytes: body}, &reply, append(options, grpc.ForceCodecV2(bytesCodec{}))...)
		return reply.bytes, err
	}
}

func TestGRPC(t *testing.T) {
	m := &memory{}
	send := over(t, m)
	good := toProtobuf(t, around(`{"name":"a","gauge":{"dataPoints":[{"asInt":"1",`+at+`}]}}`))
	for _, options := range [][]grpc.CallOption{nil, {grpc.UseCompressor(gzip.Name)}} {
		if reply, err := send(good, options...); err != nil || len(reply) != 0 {
			t.Fatal(reply, err)
		}
	}
	m.mu.Lock()
	if len(m.samples) != 2 {
		t.Error(m.samples)
	}
	m.mu.Unlock()
	reply, err := send(toProtobuf(t, around(`{"name":"old","gauge":{"dataPoints":[{"asInt":"1","timeUnixNano":"1"},{"asInt":"1",`+at+`}]}}`)))
	if err != nil || !strings.Contains(string(reply), "1 data points were refused (too_old: 1), the others were stored") || reply[2] != 0x08 || reply[3] != 1 {
		t.Errorf("%q %v", reply, err)
	}
	malformed := func() int {
		m.mu.Lock()
		defer m.mu.Unlock()
		return m.rejected["malformed_body"]
	}
	deep := bytes.Repeat([]byte{0x12, 0}, maxParts)
	for _, c := range []struct {
		body []byte
		code codes.Code
		text string
	}{
		{[]byte("garbage"), codes.InvalidArgument, "the metrics cannot be read"},
		{make([]byte, maxGRPCMessage+1), codes.ResourceExhausted, "larger than max (16777217 vs. 16777216)"},
		{protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType), deep), codes.ResourceExhausted, "more than 1048576 parts"},
	} {
		before := malformed()
		if _, err := send(c.body); status.Code(err) != c.code || !strings.Contains(err.Error(), c.text) {
			t.Error(err)
		}
		for deadline := time.Now().Add(10 * time.Second); malformed() != before+1; time.Sleep(time.Millisecond) { // the client is answered first
			if time.Now().After(deadline) {
				t.Fatalf("%s: %d refused, %d before", c.text, malformed(), before)
			}
		}
	}
	// A small message that unpacks to a large one.
	if _, err := send(make([]byte, maxGRPCMessage+1), grpc.UseCompressor(gzip.Name)); status.Code(err) != codes.ResourceExhausted {
		t.Error(err)
	}
	m.mu.Lock()
	m.err = errors.New("the pool is full")
	m.mu.Unlock()
	_, err = send(good)
	details := status.Convert(err).Details()
	if status.Code(err) != codes.Unavailable || !strings.Contains(err.Error(), "the pool is full") || len(details) != 1 || details[0].(*errdetails.RetryInfo).GetRetryDelay().GetSeconds() != 5 {
		t.Error(err, details)
	}
}

// However many messages come at once, all of them are stored.
func TestManyOverGRPC(t *testing.T) {
	m := &memory{}
	send := over(t, m)
	good := toProtobuf(t, around(`{"name":"a","gauge":{"dataPoints":[{"asInt":"1",`+at+`}]}}`))
	done := make(chan error)
	for range 100 {
		go func() { _, err := send(good); done <- err }()
	}
	for range 100 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	if len(m.samples) != 100 {
		t.Error(len(m.samples))
	}
}

func TestGRPCPortInUse(t *testing.T) {
	h, _ := handler(&memory{})
	g, err := ListenGRPC("127.0.0.1:0", h, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer g.listener.Close()
	if _, err := ListenGRPC(g.Address().String(), h, nil); err == nil || !strings.Contains(err.Error(), "otlp.grpc_address") {
		t.Error(err)
	}
}
