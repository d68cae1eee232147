package host

// Disk is a whole disk, on systems that show their disks to privileged processes only.
type Disk struct {
	Name    string `json:"name"` // c1t0d0
	Type    string `json:"type"` // SCSI, NVME, USB; as the other texts empty when it is not known
	Vendor  string `json:"vendor"`
	Product string `json:"product"`
	Serial  string `json:"serial"`
	Bytes   int64  `json:"bytes"` // 0: no medium in it, or it no longer answers
	// SolidState is nil when it is not known.
	SolidState *bool `json:"solidState"`
	// Location is where it is plugged in, as the system names that.
	Location string `json:"location"`
}
