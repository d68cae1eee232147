package log

import (
	"fmt"
	"os"
	"syscall"
)

// connectedToJournal says whether a file is the stream that stream, $JOURNAL_STREAM, names as "DEVICE:INODE". A child whose
// standard error goes elsewhere inherits the variable too, which is why systemd.exec(5) has both compared.
func connectedToJournal(file *os.File, stream string) bool {
	if stream == "" {
		return false
	}
	var stat syscall.Stat_t
	if syscall.Fstat(int(file.Fd()), &stat) != nil {
		return false
	}
	return stream == fmt.Sprintf("%d:%d", stat.Dev, stat.Ino)
}
