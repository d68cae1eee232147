package otlp

// OTLP over gRPC: the one method Export, in which a message is what the body of a request over HTTP is. The messages are
// read as bytes and decoded where those are, with the same limits.

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"cistern/services/ingest/admission"
	"cistern/services/ingest/senders"

	"golang.org/x/net/netutil"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	_ "google.golang.org/grpc/encoding/gzip" // what exporters compress with
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"
)

const (
	// maxGRPCMessage is what a message may have when it is unpacked. A receiver of the Collector takes 4 MiB.
	maxGRPCMessage = 16 << 20
	// maxReceiving messages are in memory at once, and each has receiveWithin to arrive: so much memory is enough for however
	// many clients, and a slow one is not waited for.
	maxReceiving  = 8
	receiveWithin = 30 * time.Second
	// What clients may open. An exporter has one connection, and one message under way.
	maxConnections = 256
	maxStreams     = 16
	stopWithin     = 3 * time.Second
)

// GRPC is a listener for OTLP over gRPC. It asks nobody who he is.
type GRPC struct {
	handler   *Handler
	senders   *senders.Input
	server    *grpc.Server
	listener  net.Listener
	receiving admission.Slots
}

// ListenGRPC opens the port. What it takes is the handler's; who may send, and how much that is new, say the senders.
func ListenGRPC(address string, h *Handler, from *senders.Input) (*GRPC, error) {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("otlp.grpc_address: %w", err)
	}
	g := &GRPC{handler: h, senders: from, listener: netutil.LimitListener(listener, maxConnections), receiving: admission.NewSlots(maxReceiving)}
	g.server = grpc.NewServer(
		grpc.ForceServerCodecV2(bytesCodec{}), grpc.MaxRecvMsgSize(maxGRPCMessage), grpc.MaxConcurrentStreams(maxStreams),
		grpc.MaxHeaderListSize(64<<10), grpc.ConnectionTimeout(10*time.Second),
		// What a stream may send before its message is asked for.
		grpc.StaticStreamWindowSize(256<<10), grpc.StaticConnWindowSize(1<<20),
		grpc.KeepaliveParams(keepalive.ServerParameters{MaxConnectionIdle: 15 * time.Minute, Time: 2 * time.Minute, Timeout: 20 * time.Second}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: 10 * time.Second, PermitWithoutStream: true}))
	// As a stream of one message, so that it is received when there is a place for it, and not before.
	g.server.RegisterService(&grpc.ServiceDesc{
		ServiceName: "opentelemetry.proto.collector.metrics.v1.MetricsService", HandlerType: (*any)(nil),
		Streams:  []grpc.StreamDesc{{StreamName: "Export", Handler: g.export, ClientStreams: true}},
		Metadata: "opentelemetry/proto/collector/metrics/v1/metrics_service.proto",
	}, g)
	return g, nil
}

// Address is where it listens.
func (g *GRPC) Address() net.Addr { return g.listener.Addr() }

// Serve takes messages until ctx ends. What is under way then is finished, for some seconds.
func (g *GRPC) Serve(ctx context.Context) {
	stop := context.AfterFunc(ctx, func() {
		kill := time.AfterFunc(stopWithin, g.server.Stop)
		defer kill.Stop()
		g.server.GracefulStop()
	})
	defer stop()
	_ = g.server.Serve(g.listener)
	g.server.GracefulStop() // waits for what is under way
}

func (g *GRPC) export(_ any, stream grpc.ServerStream) error {
	ctx := stream.Context()
	if p, ok := peer.FromContext(ctx); ok {
		from := senders.Address(p.Addr)
		if reason := g.senders.Unwanted(from); reason != "" {
			g.handler.store.Reject(reason, 1)
			g.senders.Refused(from, reason, 1)
			return status.Errorf(codes.PermissionDenied, "nothing is taken from %s by otlp. %s", senders.Text(from), senders.WhatToDo(reason))
		}
		ctx = senders.Under(ctx, g.senders.From(from))
	}
	if err := g.receiving.Enter(ctx); err != nil {
		return unavailableNow(err)
	}
	defer g.receiving.Leave()
	var one message
	received := make(chan error, 1)
	go func() { received <- stream.RecvMsg(&one) }()
	late := time.NewTimer(receiveWithin)
	defer late.Stop()
	select {
	case err := <-received:
		if err != nil {
			if status.Code(err) == codes.ResourceExhausted { // larger than maxGRPCMessage: the library has answered that
				g.handler.store.Reject("malformed_body", 1)
			}
			return err
		}
	case <-late.C:
		return status.Errorf(codes.DeadlineExceeded, "the message did not arrive within %s", receiveWithin)
	}
	took, err := g.handler.message(ctx, one.bytes, typeProtobuf, "")
	if err != nil {
		var f *failure
		if !errors.As(err, &f) {
			return unavailableNow(err)
		}
		g.handler.store.Reject("malformed_body", 1)
		return status.Error(codes.Code(f.code), f.message)
	}
	return stream.SendMsg(&message{bytes: took.response()})
}

// unavailableNow asks for the message again, as 503 with Retry-After does over HTTP.
func unavailableNow(err error) error {
	now := status.New(codes.Unavailable, "the metrics cannot be stored now: "+err.Error())
	if detailed, err := now.WithDetails(&errdetails.RetryInfo{RetryDelay: durationpb.New(5 * time.Second)}); err == nil {
		now = detailed
	}
	return now.Err()
}

// message is one as it is on the wire.
type message struct{ bytes []byte }

// bytesCodec leaves messages as they are.
type bytesCodec struct{}

func (bytesCodec) Marshal(v any) (mem.BufferSlice, error) {
	return mem.BufferSlice{mem.SliceBuffer(v.(*message).bytes)}, nil
}

func (bytesCodec) Unmarshal(data mem.BufferSlice, v any) error {
	v.(*message).bytes = data.Materialize()
	return nil
}

// Name is that of the messages' own encoding.
func (bytesCodec) Name() string { return "proto" }
