/*
 * The DTrace provider "http" in nginx: request-start when a request's header has been read, request-done when the
 * request is logged. Nobody traces: two tests of an is-enabled probe each, and nothing is copied.
 *
 * A request whose header nginx refuses (400, 414, 494) has a request-done and no request-start. Subrequests have
 * neither; an internal redirect is still the same request.
 */
#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>
#include <time.h>

#include "httpproto.h"
#include "http_provider.h"

typedef struct {
	struct timespec began;
} ngx_http_dtrace_began_t;

typedef struct {
	httpproto_t proto;
	char method[HP_METHOD_SIZE];
	char uri[HP_TEXT_SIZE];
	char uagent[HP_TEXT_SIZE];
	char fwdfor[HP_TEXT_SIZE];
	char laddr[NGX_SOCKADDR_STRLEN + 1];
	char raddr[NGX_SOCKADDR_STRLEN + 1];
} ngx_http_dtrace_args_t;

/* nginx' texts do not end in a zero byte. One that holds a zero byte is seen up to it. */
static uint64_t
ngx_http_dtrace_text(char *to, size_t size, const ngx_str_t *from, size_t most)
{
	size_t n = ngx_min(ngx_min(from->len, most), size - 1);

	ngx_memcpy(to, from->data, n);
	to[n] = '\0';
	return ((uint64_t)(uintptr_t)to);
}

static uint64_t
ngx_http_dtrace_port(struct sockaddr *address)
{
	return (address == NULL ? 0 : ngx_inet_get_port(address));
}

static uint64_t
ngx_http_dtrace_family(const struct sockaddr *address)
{
	return (address->sa_family == AF_INET ? 4 : address->sa_family == AF_INET6 ? 6 : 0);
}

/* A request that was redirected internally has lost its modules' contexts; what hangs on its pool is still there. */
static void
ngx_http_dtrace_forget(void *data)
{
	(void) data;
}

static ngx_http_dtrace_began_t *
ngx_http_dtrace_began(ngx_http_request_t *r)
{
	ngx_pool_cleanup_t *one;

	for (one = r->pool->cleanup; one != NULL; one = one->next) {
		if (one->handler == ngx_http_dtrace_forget)
			return (one->data);
	}
	return (NULL);
}

static uint64_t
ngx_http_dtrace_latency(ngx_http_request_t *r)
{
	ngx_http_dtrace_began_t *b = ngx_http_dtrace_began(r);
	struct timespec now;
	ngx_time_t *tp;
	ngx_msec_int_t ms;

	if (b != NULL) {
		(void) clock_gettime(CLOCK_MONOTONIC, &now);
		return ((uint64_t)(now.tv_sec - b->began.tv_sec) * 1000000000 + now.tv_nsec - b->began.tv_nsec);
	}
	/* It began before anybody traced: to the millisecond, by the clock that nginx itself logs by. */
	tp = ngx_timeofday();
	ms = (ngx_msec_int_t)((tp->sec - r->start_sec) * 1000 + (tp->msec - r->start_msec));
	return ((uint64_t)ngx_max(ms, 0) * 1000000);
}

static void
ngx_http_dtrace_fill(ngx_http_dtrace_args_t *a, ngx_http_request_t *r)
{
	static ngx_str_t none = ngx_null_string;
	ngx_str_t *uri = &r->unparsed_uri, local;
	u_char *query, text[NGX_SOCKADDR_STRLEN];
	ngx_table_elt_t *agent = r->headers_in.user_agent, *forwarded = NULL;
	httpproto_t *p = &a->proto;

#if (NGX_HTTP_X_FORWARDED_FOR)
	forwarded = r->headers_in.x_forwarded_for;
#endif
	ngx_memzero(p, sizeof (*p));
	p->hp_method = ngx_http_dtrace_text(a->method, sizeof (a->method), &r->method_name, r->method_name.len);
	query = uri->len == 0 ? NULL : ngx_strlchr(uri->data, uri->data + uri->len, '?');
	p->hp_uri = ngx_http_dtrace_text(a->uri, sizeof (a->uri), uri, query == NULL ? uri->len : (size_t)(query - uri->data));
	p->hp_uagent = ngx_http_dtrace_text(a->uagent, sizeof (a->uagent), agent ? &agent->value : &none, HP_TEXT_SIZE);
	p->hp_fwdfor = ngx_http_dtrace_text(a->fwdfor, sizeof (a->fwdfor), forwarded ? &forwarded->value : &none, HP_TEXT_SIZE);
	p->hp_raddr = ngx_http_dtrace_text(a->raddr, sizeof (a->raddr), &r->connection->addr_text, NGX_SOCKADDR_STRLEN);
	p->hp_family = ngx_http_dtrace_family(r->connection->sockaddr);
	p->hp_rport = ngx_http_dtrace_port(r->connection->sockaddr);
	local.data = text;
	local.len = sizeof (text);
	if (ngx_connection_local_sockaddr(r->connection, &local, 0) != NGX_OK)
		local.len = 0;
	p->hp_laddr = ngx_http_dtrace_text(a->laddr, sizeof (a->laddr), &local, local.len);
	p->hp_lport = ngx_http_dtrace_port(r->connection->local_sockaddr);
	p->hp_version = r->http_version / 1000 * 10 + r->http_version % 1000;
	p->hp_status = r->err_status ? r->err_status : r->headers_out.status;
}

/* Never inlined: where there is no USDT, an entry probe of these sees the same (dtrace pid provider, uprobes). */
static ngx_int_t __attribute__((noinline))
ngx_http_dtrace_start(ngx_http_request_t *r)
{
	ngx_http_dtrace_began_t *b;
	ngx_pool_cleanup_t *cleanup;
	ngx_http_dtrace_args_t a;

	if (r != r->main)
		return (NGX_DECLINED);
	if (HTTP_REQUEST_DONE_ENABLED() && ngx_http_dtrace_began(r) == NULL) {
		cleanup = ngx_pool_cleanup_add(r->pool, sizeof (*b));
		if (cleanup != NULL) { /* without memory the latency is told to the millisecond */
			cleanup->handler = ngx_http_dtrace_forget;
			b = cleanup->data;
			(void) clock_gettime(CLOCK_MONOTONIC, &b->began);
		}
	}
	if (HTTP_REQUEST_START_ENABLED()) {
		ngx_http_dtrace_fill(&a, r);
		HTTP_REQUEST_START(&a.proto);
	}
	return (NGX_DECLINED);
}

static ngx_int_t __attribute__((noinline))
ngx_http_dtrace_done(ngx_http_request_t *r)
{
	ngx_http_dtrace_args_t a;

	if (r == r->main && HTTP_REQUEST_DONE_ENABLED()) {
		ngx_http_dtrace_fill(&a, r);
		a.proto.hp_bytesread = r->request_length;
		a.proto.hp_byteswritten = r->connection->sent;
		a.proto.hp_latency = ngx_http_dtrace_latency(r);
		HTTP_REQUEST_DONE(&a.proto);
	}
	return (NGX_OK);
}

static ngx_int_t
ngx_http_dtrace_add(ngx_http_core_main_conf_t *main, ngx_uint_t phase, ngx_http_handler_pt handler)
{
	ngx_http_handler_pt *h = ngx_array_push(&main->phases[phase].handlers);

	if (h == NULL)
		return (NGX_ERROR);
	*h = handler;
	return (NGX_OK);
}

static ngx_int_t
ngx_http_dtrace_init(ngx_conf_t *cf)
{
	ngx_http_core_main_conf_t *main = ngx_http_conf_get_module_main_conf(cf, ngx_http_core_module);

	if (ngx_http_dtrace_add(main, NGX_HTTP_POST_READ_PHASE, ngx_http_dtrace_start) != NGX_OK)
		return (NGX_ERROR);
	return (ngx_http_dtrace_add(main, NGX_HTTP_LOG_PHASE, ngx_http_dtrace_done));
}

static ngx_http_module_t ngx_http_dtrace_module_ctx = {
	NULL,                 /* preconfiguration */
	ngx_http_dtrace_init, /* postconfiguration */
	NULL, NULL, NULL, NULL, NULL, NULL
};

ngx_module_t ngx_http_dtrace_module = {
	NGX_MODULE_V1,
	&ngx_http_dtrace_module_ctx,
	NULL, /* directives: there are none, loading it is all */
	NGX_HTTP_MODULE,
	NULL, NULL, NULL, NULL, NULL, NULL, NULL,
	NGX_MODULE_V1_PADDING
};
