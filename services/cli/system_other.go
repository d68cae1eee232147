//go:build !illumos

package cli

// What is emptied at boot, and what tells why the management service is down.
const (
	runFolder = "/run"
	aboutAkd  = "systemctl status cistern-akd"
)
