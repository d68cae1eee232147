package cli

// What differs between the systems that the command runs on. The system is an argument, so that each is tested on every one.

import (
	"os"
	"path/filepath"
	"regexp"
	"runtime"
)

// appliances says whether an appliance can be a machine of this system: then one without an address is this one.
func appliances(system string) bool { return system == "linux" || system == "illumos" }

// Folders are where this user's sessions are kept, and what only makes it faster. Without a home nobody can stay signed in; a token does.
func Folders() (config, cache string) {
	home, _ := os.UserHomeDir()
	return folders(runtime.GOOS, home, os.Getenv)
}

// folders: on Windows what roams with the user and what does not, and below the home elsewhere, also on macOS: that is where
// people look for a command's files.
func folders(system, home string, variable func(string) string) (config, cache string) {
	config, cache = filepath.Join(home, ".config", "cistern"), filepath.Join(home, ".cache", "cistern")
	if system != "windows" {
		return config, cache
	}
	if folder := variable("AppData"); folder != "" {
		config = filepath.Join(folder, "cistern")
	}
	if folder := variable("LocalAppData"); folder != "" {
		cache = filepath.Join(folder, "cistern", "cache")
	}
	return config, cache
}

var devices = regexp.MustCompile(`^(?i:con|prn|aux|nul|conin\$|conout\$|com[0-9]|lpt[0-9])(\.|$)`)

// reserved says whether a system takes a file of this name for a device, whatever folder it is in.
func reserved(system, name string) bool { return system == "windows" && devices.MatchString(name) }
