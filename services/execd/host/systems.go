package host

import (
	"regexp"
	"strings"
)

// When a System starts.
const (
	StartsNext  = "next"  // next time, and then again
	StartsOnce  = "once"  // next time only
	StartsLater = "later" // always, but for the next time, which is another one's
	StartsNot   = "no"
)

// System is an installed operating system with Cistern in it. A nil pointer is what the system does not say.
type System struct {
	Name      string  `json:"name"`
	Running   bool    `json:"running"`
	Starts    string  `json:"starts"`
	CreatedMs *int64  `json:"createdMs"` // since the epoch
	Bytes     *int64  `json:"bytes"`
	Version   *string `json:"version"` // of Cistern
	// Obstacle says in a sentence why it cannot be chosen; empty when it can.
	Obstacle string `json:"obstacle"`
}

var versionText = regexp.MustCompile(`^[0-9A-Za-z][0-9A-Za-z.+~_-]{0,63}$`)

// VersionIn is the version that a file says, nil when it says none.
func VersionIn(text []byte) *string {
	if version := strings.TrimSpace(string(text)); versionText.MatchString(version) {
		return &version
	}
	return nil
}
