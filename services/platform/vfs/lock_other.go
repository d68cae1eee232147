//go:build !unix

package vfs

import (
	"errors"
	"os"
)

func lock(*os.File) error { return nil }

func mapFile(*os.File, int) (Mapping, error) { return nil, errors.ErrUnsupported }
