package execd

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"cistern/services/daemon/problem"
	"cistern/services/execd/host"
	"cistern/services/platform/command"
	"cistern/services/platform/zfsname"
)

// secret is a text that no log shows.
type secret string

func (s secret) MarshalJSON() ([]byte, error) {
	if s == "" {
		return []byte(`""`), nil
	}
	return []byte(`"********"`), nil
}

func mustBeDataset(path, name string) error {
	if wrong := zfsname.Dataset(name); wrong != "" {
		return host.Invalid(path, fmt.Sprintf("The dataset name '%s' %s.", name, wrong))
	}
	return nil
}

// mustBeSnapshot splits DATASET@SNAPSHOT.
func mustBeSnapshot(path, name string) (dataset, own string, err error) {
	dataset, own, wrong := zfsname.Snapshot(name)
	if wrong != "" {
		return "", "", host.Invalid(path, fmt.Sprintf("The snapshot name '%s' %s.", name, wrong))
	}
	return dataset, own, nil
}

func poolOf(dataset string) string {
	pool, _, _ := strings.Cut(dataset, "/")
	return pool
}

func parentOf(dataset string) string {
	if at := strings.LastIndexByte(dataset, '/'); at >= 0 {
		return dataset[:at]
	}
	return ""
}

// ours says that the appliance itself lives on the dataset: everything on the system pool but the telemetry and what
// is kept aside of it.
func ours(dataset string) bool {
	own, below := strings.CutPrefix(dataset, host.SystemPool+"/telemetry")
	return poolOf(dataset) == host.SystemPool && !(below && (own == "" || own[0] == '/' || own[0] == '-'))
}

func mustNotBeOurs(dataset string) error {
	if !ours(dataset) {
		return nil
	}
	return problem.New(http.StatusConflict, "conflict", fmt.Sprintf("The appliance itself lives on '%s'.", dataset), "Use a dataset of another pool.")
}

// zfsFailure puts what zfs said into a problem that says what can be done. did is what was tried: "The dataset 'a' was
// not made".
func zfsFailure(err error, did string) error {
	var failed *command.Error
	if !errors.As(err, &failed) {
		return err
	}
	says := fmt.Sprintf("%s. ZFS says: %s", did, failed.Said)
	has := func(texts ...string) bool {
		for _, text := range texts {
			if strings.Contains(failed.Said, text) {
				return true
			}
		}
		return false
	}
	switch {
	case failed.Timeout:
		return problem.New(http.StatusGatewayTimeout, "timeout", did+": the command did not end in time. It may still be carried out.", "Look at the present state before you try again.")
	case has("already exists"):
		return problem.New(http.StatusConflict, "conflict", says, "Choose another name.")
	case has("does not exist", "no such pool", "not found"):
		return problem.New(http.StatusNotFound, "not_found", says, "It may have been renamed or destroyed meanwhile. Read the list anew.")
	case has("out of space", "No space", "no space", "quota exceeded", "exceeds available", "greater than available"):
		return problem.New(http.StatusConflict, "out_of_space", says, "Destroy what is not needed, or raise the quota.")
	case has("dataset is busy", "target is busy", "device is busy", "pool or dataset is busy", "Device busy", "Device or resource busy"):
		return problem.New(http.StatusConflict, "dataset_in_use", says, "Something has a file of it open, or works in it. Stop that and try again.")
	case has("Incorrect key", "incorrect key"):
		return problem.New(http.StatusConflict, "wrong_key", did+": the passphrase or the key is not the right one.", "Try again with the right one.")
	case has("Key already", "key already"):
		return problem.New(http.StatusConflict, "conflict", says, "")
	case has("more recent snapshots"):
		return problem.New(http.StatusConflict, "conflict", says, "Confirm that the newer snapshots are destroyed, or keep what there is now as a dataset of its own.")
	}
	return problem.New(http.StatusInternalServerError, "command_failed", did+": "+failed.Error()+".", "The machine's log has more; a support bundle collects it.")
}
