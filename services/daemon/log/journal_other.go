//go:build !linux

package log

import "os"

// connectedToJournal: only systemd has a journal. SMF keeps lines in a file as they are.
func connectedToJournal(*os.File, string) bool { return false }
