/* What net.d of each system has, for "dtrace -h" and "dtrace -G" without any library: they run where nothing is traced. */
typedef struct conninfo {
	string ci_local;
	string ci_remote;
	string ci_protocol;
} conninfo_t;
