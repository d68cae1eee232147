# The values of cistern.conf.in's placeholders on OmniOS: sed -f omnios.sed cistern.conf.in
s|@USER@|nginx|g
s|@WORKERS@|auto|g
s|@IPV4@||g
s|@IPV6@||g
s|@HTTP_PORT@|80|g
s|@HTTPS_PORT@|443|g
s|@HTTPS_SUFFIX@||g
s|@CERTIFICATE_PORT@|9443|g
s|@TLS_CERTIFICATE@|/var/lib/cistern/tls/cert.pem|g
s|@PLACES@|/var/lib/cistern/identity/places.con[f]|g
s|@TLS_KEY@|/var/lib/cistern/tls/key.pem|g
s|@HSTS_SECONDS@|31536000|g
s|@RUN@|/var/run/cistern/nginx|g
s|@TEMP@|/var/lib/cistern/nginx|g
s|@SOCKETS@|/var/run/cistern|g
s|@UI@|/opt/cistern/ui|g
s|@SUPPORT@|/var/lib/cistern/support|g
# What image/omnios/nginx-modules has built there, if anything.
s|^@DTRACE@load_module .*|include /opt/cistern/lib/nginx-dtrace/modules/*.conf;|
s|@COMMANDS@|/opt/cistern/command-line|g
s|@COMMAND@|/opt/cistern/bin/cistern|g
s|@OWN_COMMAND@|cistern-illumos-amd64|g
s|@BUILT@||g
/^ *@VITE@/d
s|@INLINE@||g
s|@VITE_UPSTREAM@|(none)|g
# What is served is a statistic (http.requests): tracerd listens. Nothing is written to a disk.
s|access_log off;|access_log syslog:server=unix:/var/run/cistern/tracerd/access.sock,nohostname,tag=nginx cistern;|
