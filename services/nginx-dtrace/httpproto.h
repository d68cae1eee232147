/*
 * What the probes of the provider "http" are given: a structure in the memory of nginx. All members are 64 bits wide,
 * pointers too, so that the translators in http.d read them in one way on every system.
 */
#ifndef CISTERN_HTTPPROTO_H
#define CISTERN_HTTPPROTO_H

#include <stdint.h>

typedef struct httpproto {
	uint64_t hp_method;    /* text, as the next ones: ends in a zero byte, cut at the lengths below */
	uint64_t hp_uri;       /* as the client sent it, without the query */
	uint64_t hp_uagent;    /* empty when the client sent none, as the next one */
	uint64_t hp_fwdfor;    /* X-Forwarded-For */
	uint64_t hp_family;    /* 4 or 6: of the addresses; 0: neither */
	uint64_t hp_laddr;     /* the address that was connected to */
	uint64_t hp_raddr;     /* the client's */
	uint64_t hp_lport;
	uint64_t hp_rport;
	uint64_t hp_version;   /* of HTTP: 9, 10, 11, 20, 30 */
	uint64_t hp_status;    /* 0 until it is known */
	uint64_t hp_bytesread; /* of the request with its header and body; 0 at request-start */
	uint64_t hp_byteswritten;
	uint64_t hp_latency;   /* nanoseconds from the end of the request's header to now; 0 at request-start */
} httpproto_t;

#define HP_METHOD_SIZE 16
#define HP_TEXT_SIZE 256

#endif
