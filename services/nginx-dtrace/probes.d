provider http {
	probe request__start(httpproto_t *p) : (conninfo_t *p, http_reqinfo_t *p);
	probe request__done(httpproto_t *p) : (conninfo_t *p, http_reqinfo_t *p);
};

#pragma D attributes Evolving/Evolving/ISA provider http provider
#pragma D attributes Private/Private/Unknown provider http module
#pragma D attributes Private/Private/Unknown provider http function
#pragma D attributes Evolving/Evolving/ISA provider http name
#pragma D attributes Evolving/Evolving/ISA provider http args
