package cli

// What is emptied at boot, and what tells why the management service is down.
const (
	runFolder = "/var/run"
	aboutAkd  = "svcs -x application/cistern/akd"
)
