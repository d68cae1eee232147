package execd

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"unicode"

	"cistern/services/command"
	"cistern/services/problem"
)

// ZFS' own limits: ZFS_MAX_DATASET_NAME_LEN with its final zero, and zfs_max_dataset_nesting.
const (
	longestName    = 255
	deepestNesting = 50
)

// secret is a text that no log shows.
type secret string

func (s secret) MarshalJSON() ([]byte, error) {
	if s == "" {
		return []byte(`""`), nil
	}
	return []byte(`"********"`), nil
}

// componentProblem says why a part of a dataset's name, a snapshot's own name or a hold's tag cannot be one, or "".
// The characters are those of valid_char in ZFS' zfs_namecheck.c.
func componentProblem(part string) string {
	switch {
	case part == "":
		return "has an empty part"
	case part == "." || part == "..":
		return "has a part that is only dots"
	case strings.TrimSpace(part) != part:
		return "has a part that begins or ends with a space"
	}
	for _, c := range part {
		if c > unicode.MaxASCII || !(unicode.IsLetter(c) || unicode.IsDigit(c) || strings.ContainsRune("-_.: ", c)) {
			return fmt.Sprintf("holds %q; letters, digits, '-', '_', '.', ':' and spaces may be used", c)
		}
	}
	return ""
}

// datasetProblem says why a name cannot be a dataset's, or "".
func datasetProblem(name string) string {
	if len(name) > longestName {
		return fmt.Sprintf("is %d characters long; ZFS takes %d", len(name), longestName)
	}
	parts := strings.Split(name, "/")
	if len(parts) > deepestNesting {
		return fmt.Sprintf("is %d levels deep; ZFS takes %d", len(parts), deepestNesting)
	}
	for _, part := range parts {
		if wrong := componentProblem(part); wrong != "" {
			return wrong
		}
	}
	// Also what keeps a name from being read as an option.
	if c := name[0]; !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z') {
		return "does not begin with a letter, as a pool's name does"
	}
	return ""
}

func mustBeDataset(path, name string) error {
	if wrong := datasetProblem(name); wrong != "" {
		return invalid(path, fmt.Sprintf("The dataset name '%s' %s.", name, wrong))
	}
	return nil
}

// mustBeSnapshot splits DATASET@SNAPSHOT.
func mustBeSnapshot(path, name string) (dataset, own string, err error) {
	dataset, own, found := strings.Cut(name, "@")
	wrong := ""
	switch {
	case !found:
		wrong = "has no '@' between the dataset and the snapshot"
	case len(name) > longestName:
		wrong = fmt.Sprintf("is %d characters long; ZFS takes %d", len(name), longestName)
	default:
		if wrong = datasetProblem(dataset); wrong == "" {
			wrong = componentProblem(own)
		}
	}
	if wrong != "" {
		return "", "", invalid(path, fmt.Sprintf("The snapshot name '%s' %s.", name, wrong))
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

func within(dataset, top string) bool {
	return dataset == top || strings.HasPrefix(dataset, top+"/")
}

// ours says that the appliance itself lives on the dataset: everything on the system pool but the telemetry and what
// is kept aside of it.
func ours(dataset string) bool {
	return poolOf(dataset) == "system" && !strings.HasPrefix(dataset, "system/telemetry")
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
