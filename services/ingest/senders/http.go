package senders

// Senders of requests. nginx, which comes by the Unix socket, names them in X-Forwarded-For; whoever comes by that socket
// without the header is one of the appliance's own parts, which may always send, and under the appliance's own names.

import (
	"context"
	"net"
	"net/http"
	"net/netip"
	"strings"

	"cistern/services/daemon/problem"
	"cistern/services/store/tsdb"
)

// Handler lets an input's requests through to next under their sender's name, if the input is on and the sender allowed. The
// appliance's own parts always go on to next.
func (in *Input) Handler(store tsdb.Ingester, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		from, own := of(r)
		if own {
			next.ServeHTTP(w, r)
			return
		}
		if !in.on.Load() {
			problem.Write(w, http.StatusForbidden, "forbidden", "The input "+in.name+" is switched off.", "Settings, Inputs switches it on.")
			return
		}
		if reason := in.Unwanted(from); reason != "" {
			store.Reject(reason, 1)
			in.Refused(from, reason, 1)
			problem.Write(w, http.StatusForbidden, "forbidden", "Nothing is taken from "+Text(from)+" by "+in.name+".", WhatToDo(reason))
			return
		}
		next.ServeHTTP(w, r.WithContext(tsdb.WithSender(r.Context(), in.From(from))))
	})
}

// of is who sent a request; own says that it is a part of the appliance.
func of(r *http.Request) (from netip.Addr, own bool) {
	if at, err := netip.ParseAddrPort(r.RemoteAddr); err == nil {
		return at.Addr(), false
	}
	forwarded := r.Header.Values("X-Forwarded-For")
	if len(forwarded) == 0 {
		return netip.Addr{}, true
	}
	_, last, found := cutLast(forwarded[len(forwarded)-1], ",")
	if !found {
		last = forwarded[len(forwarded)-1]
	}
	from, _ = netip.ParseAddr(strings.TrimSpace(last))
	return from, false
}

func cutLast(s, sep string) (before, after string, found bool) {
	if at := strings.LastIndex(s, sep); at >= 0 {
		return s[:at], s[at+len(sep):], true
	}
	return s, "", false
}

// Address is the address of a connection or a packet's sender; not valid of a Unix socket.
func Address(from net.Addr) netip.Addr {
	switch at := from.(type) {
	case *net.TCPAddr:
		return at.AddrPort().Addr()
	case *net.UDPAddr:
		return at.AddrPort().Addr()
	}
	return netip.Addr{}
}

// Under is a context that names the sender of what is ingested; without one it stays as it is.
func Under(ctx context.Context, sender tsdb.Sender) context.Context {
	if sender == nil {
		return ctx
	}
	return tsdb.WithSender(ctx, sender)
}
