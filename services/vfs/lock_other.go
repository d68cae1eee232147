//go:build !unix

package vfs

import "os"

func lock(*os.File) error { return nil }
