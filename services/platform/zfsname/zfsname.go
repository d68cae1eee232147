// Package zfsname checks the names of datasets and snapshots against ZFS' own rules, and says what is wrong in words.
package zfsname

import (
	"fmt"
	"strings"
	"unicode"
)

const (
	// Longest is how many bytes a name has at most: ZFS_MAX_DATASET_NAME_LEN without its final zero.
	Longest = 255
	// As zfs_max_dataset_nesting.
	deepestNesting = 50
)

// Component says why a part of a dataset's name, a snapshot's own name or a hold's tag cannot be one, or "".
// The characters are those of valid_char in ZFS' zfs_namecheck.c.
func Component(part string) string {
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

// Dataset says why a name cannot be a dataset's, or "".
func Dataset(name string) string {
	if len(name) > Longest {
		return fmt.Sprintf("is %d characters long; ZFS takes %d", len(name), Longest)
	}
	parts := strings.Split(name, "/")
	if len(parts) > deepestNesting {
		return fmt.Sprintf("is %d levels deep; ZFS takes %d", len(parts), deepestNesting)
	}
	for _, part := range parts {
		if wrong := Component(part); wrong != "" {
			return wrong
		}
	}
	// Also what keeps a name from being read as an option.
	if c := name[0]; !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z') {
		return "does not begin with a letter, as a pool's name does"
	}
	return ""
}

// Snapshot splits DATASET@SNAPSHOT. wrong says why it cannot be one, or is "".
func Snapshot(name string) (dataset, own, wrong string) {
	dataset, own, found := strings.Cut(name, "@")
	switch {
	case !found:
		wrong = "has no '@' between the dataset and the snapshot"
	case len(name) > Longest:
		wrong = fmt.Sprintf("is %d characters long; ZFS takes %d", len(name), Longest)
	default:
		if wrong = Dataset(dataset); wrong == "" {
			wrong = Component(own)
		}
	}
	return dataset, own, wrong
}

// Within says that a dataset is top, or lies below it.
func Within(dataset, top string) bool {
	return dataset == top || strings.HasPrefix(dataset, top+"/")
}
