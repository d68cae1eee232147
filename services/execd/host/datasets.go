package host

import "context"

// DatasetHost is what datasets and snapshots need of an operating system.
type DatasetHost interface {
	// MountDataset and UnmountDataset do it where every process sees it: execd's own view of the mounts is a private one.
	MountDataset(ctx context.Context, dataset string) error
	UnmountDataset(ctx context.Context, dataset string) error
	// MountSnapshot mounts a snapshot, read-only, where only execd sees it, and answers with the directory and with what
	// takes it away again.
	MountSnapshot(ctx context.Context, snapshot string) (dir string, release func(), err error)
	// VolumePath is the device of a volume.
	VolumePath(dataset string) string
}
