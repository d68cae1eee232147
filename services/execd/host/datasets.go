package host

import (
	"context"
	"os"
)

// ZFS is what the ZFS of one operating system has and that of another has not.
type ZFS struct {
	Zstd          bool  // compression=zstd and its levels
	Relatime      bool  // the property
	LargestRecord int64 // bytes
}

// DatasetHost is what datasets and snapshots need of an operating system.
type DatasetHost interface {
	ZFS() ZFS
	// UnmountedOptions are more arguments for zfs create, rename and set: they keep zfs from mounting the dataset, which it
	// would do in execd's own view of the mounts. None where that view is everybody's.
	UnmountedOptions() []string
	// MountDataset and UnmountDataset do it where every process sees it. Mounting what is mounted is no error.
	MountDataset(ctx context.Context, dataset string) error
	UnmountDataset(ctx context.Context, dataset string) error
	// OpenSnapshot opens the files of a snapshot, of which nothing can be changed, and answers with what closes them again.
	OpenSnapshot(ctx context.Context, snapshot string) (files *os.Root, release func(), err error)
	// VolumePath is the device of a volume.
	VolumePath(dataset string) string
}
