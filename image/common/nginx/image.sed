# The values of cistern.conf.in's placeholders in the appliance: sed -f image.sed cistern.conf.in
s|@USER@|www-data|g
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
s|@RUN@|/run/nginx|g
s|@TEMP@|/var/cache/nginx|g
s|@SOCKETS@|/run/cistern|g
s|@UI@|/opt/cistern/ui|g
s|@COMMANDS@|/opt/cistern/command-line|g
s|@COMMAND@|/opt/cistern/bin/cistern|g
s|@OWN_COMMAND@|cistern-linux-amd64|g
s|@BUILT@||g
s|@DTRACE@||g
/^ *@VITE@/d
s|@INLINE@||g
s|@VITE_UPSTREAM@|(none)|g
# What is served is a statistic (http.requests): tracerd listens. Nothing is written to a disk.
s|access_log off;|access_log syslog:server=unix:/run/cistern/tracerd/access.sock,nohostname,tag=nginx cistern; access_log syslog:server=unix:/run/cistern/supportd/access.sock,nohostname,tag=nginx cistern_http;|
s|@SUPPORT@|/var/lib/cistern/support|g
