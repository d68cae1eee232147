/*
 * The DTrace provider "http" of nginx: what its probes' arguments are made of. Public names, stable from the first
 * release:
 *
 *   http*:::request-start   args[0] conninfo_t *, args[1] http_reqinfo_t *
 *   http*:::request-done    the same, with status, bytes and latency
 *
 * illumos: /usr/lib/dtrace/http.d. DTrace for Linux: beside its own libraries. There a wildcard over several processes
 * has no args[]; this form is written the same on both, over one process and over all:
 *
 *   xlate <http_reqinfo_t *>((httpproto_t *)arg0)->hri_uri
 */
#pragma D depends_on library net.d

typedef struct httpproto {
	uint64_t hp_method;
	uint64_t hp_uri;
	uint64_t hp_uagent;
	uint64_t hp_fwdfor;
	uint64_t hp_family;
	uint64_t hp_laddr;
	uint64_t hp_raddr;
	uint64_t hp_lport;
	uint64_t hp_rport;
	uint64_t hp_version;
	uint64_t hp_status;
	uint64_t hp_bytesread;
	uint64_t hp_byteswritten;
	uint64_t hp_latency;
} httpproto_t;

typedef struct http_reqinfo {
	string hri_method;
	string hri_uri;
	string hri_useragent;
	string hri_fwdfor;
	uint64_t hri_version;
	uint64_t hri_status;
	uint64_t hri_bytesread;
	uint64_t hri_byteswritten;
	uint64_t hri_latency;
} http_reqinfo_t;

/* nginx is a 64-bit program on every system that has this provider; each member is copied by itself. */
#pragma D binding "1.5" translator
translator conninfo_t < httpproto_t *P > {
	ci_local = copyinstr(*(uint64_t *)copyin((uint64_t)&P->hp_laddr, 8), 256);
	ci_remote = copyinstr(*(uint64_t *)copyin((uint64_t)&P->hp_raddr, 8), 256);
	ci_protocol = *(uint64_t *)copyin((uint64_t)&P->hp_family, 8) == 4 ? "ipv4" :
	    *(uint64_t *)copyin((uint64_t)&P->hp_family, 8) == 6 ? "ipv6" : "unknown";
};

#pragma D binding "1.5" translator
translator http_reqinfo_t < httpproto_t *P > {
	hri_method = copyinstr(*(uint64_t *)copyin((uint64_t)&P->hp_method, 8), 16);
	hri_uri = copyinstr(*(uint64_t *)copyin((uint64_t)&P->hp_uri, 8), 256);
	hri_useragent = copyinstr(*(uint64_t *)copyin((uint64_t)&P->hp_uagent, 8), 256);
	hri_fwdfor = copyinstr(*(uint64_t *)copyin((uint64_t)&P->hp_fwdfor, 8), 256);
	hri_version = *(uint64_t *)copyin((uint64_t)&P->hp_version, 8);
	hri_status = *(uint64_t *)copyin((uint64_t)&P->hp_status, 8);
	hri_bytesread = *(uint64_t *)copyin((uint64_t)&P->hp_bytesread, 8);
	hri_byteswritten = *(uint64_t *)copyin((uint64_t)&P->hp_byteswritten, 8);
	hri_latency = *(uint64_t *)copyin((uint64_t)&P->hp_latency, 8);
};
