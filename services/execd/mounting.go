package execd

// Mounting and unmounting, and mounts that have to get out of the way.

import (
	"context"
	"fmt"
	"net/http"
	"path"
	"slices"
	"strings"

	"cistern/services/daemon/problem"
)

// isPlace says whether a file system may be mounted there: below /srv. A pool from elsewhere or a replication may bring other mount points
// along, and a mount over /etc would be a way to take the appliance over.
func isPlace(mountpoint string) bool {
	return strings.HasPrefix(mountpoint, "/srv/") && path.Clean(mountpoint) == mountpoint
}

// mountIfMeant mounts a file system that has a place to be mounted at and a key that is loaded.
func (s *Server) mountIfMeant(ctx context.Context, name string) error {
	is, err := facts(ctx, name, "mountpoint", "canmount", "mounted", "keystatus")
	if err != nil {
		return err
	}
	if is["mounted"] == "yes" || is["canmount"] != "on" || is["keystatus"] == "unavailable" || !isPlace(is["mountpoint"]) {
		return nil
	}
	return s.Host.MountDataset(ctx, name)
}

// mountedBelow are the file systems within a dataset that are mounted, the deepest first: the order to unmount them in.
func mountedBelow(ctx context.Context, name string) ([]string, error) {
	out, err := zfs(ctx, longDeadline, "list", "-Hp", "-r", "-t", "filesystem", "-o", "name,mounted", name)
	if err != nil {
		return nil, zfsFailure(err, fmt.Sprintf("'%s' could not be read", name))
	}
	var found []string
	for _, row := range rows(out, 2) {
		if row[1] == "yes" {
			found = append(found, row[0])
		}
	}
	slices.Reverse(found)
	return found, nil
}

// away unmounts all that is mounted within a dataset. back mounts it again; it is what was unmounted, in order.
func (s *Server) away(ctx context.Context, name string) (unmounted []string, err error) {
	mounted, err := mountedBelow(ctx, name)
	if err != nil {
		return nil, err
	}
	for i, one := range mounted {
		if err := s.Host.UnmountDataset(ctx, one); err != nil {
			s.back(ctx, mounted[:i])
			return nil, problem.New(http.StatusConflict, "dataset_in_use", fmt.Sprintf("'%s' cannot be unmounted: something has a file of it open, or works in it. (%v)", one, err), "Stop what uses it and try again.")
		}
	}
	return mounted, nil
}

func (s *Server) back(ctx context.Context, unmounted []string) (first error) {
	for _, one := range slices.Backward(unmounted) {
		if err := s.Host.MountDataset(ctx, one); err != nil && first == nil {
			first = fmt.Errorf("'%s' could not be mounted again: %w", one, err)
		}
	}
	return first
}

func (s *Server) datasetMount(r *http.Request, a datasetNameArgument) (any, error) {
	if err := mustBeDataset("/name", a.Name); err != nil {
		return nil, err
	}
	if err := mustNotBeOurs(a.Name); err != nil {
		return nil, err
	}
	ctx := context.WithoutCancel(r.Context())
	is, err := facts(ctx, a.Name, "type", "mounted", "mountpoint", "keystatus")
	if err != nil {
		return nil, err
	}
	conflict := func(detail, action string) error {
		return problem.New(http.StatusConflict, "conflict", detail, action)
	}
	switch {
	case is["mounted"] == "yes":
		return map[string]string{"dataset": a.Name}, nil
	case is["type"] != "filesystem":
		return nil, conflict(fmt.Sprintf("'%s' is a %s, which is not mounted.", a.Name, is["type"]), "")
	case is["keystatus"] == "unavailable":
		return nil, conflict(fmt.Sprintf("The key of '%s' is not loaded.", a.Name), "Load the key first.")
	case !strings.HasPrefix(is["mountpoint"], "/"):
		return nil, conflict(fmt.Sprintf("'%s' has no mount point.", a.Name), "Set one below /srv first.")
	case !isPlace(is["mountpoint"]):
		return nil, conflict(fmt.Sprintf("The mount point of '%s' is %s. Nothing is mounted elsewhere than below /srv.", a.Name, is["mountpoint"]), "Set one below /srv first.")
	}
	return map[string]string{"dataset": a.Name}, s.Host.MountDataset(ctx, a.Name)
}

func (s *Server) datasetUnmount(r *http.Request, a datasetNameArgument) (any, error) {
	if err := mustBeDataset("/name", a.Name); err != nil {
		return nil, err
	}
	if err := mustNotBeOurs(a.Name); err != nil {
		return nil, err
	}
	ctx := context.WithoutCancel(r.Context())
	if err := mustNotHoldTelemetry(ctx, a.Name, "unmounted"); err != nil {
		return nil, err
	}
	_, err := s.away(ctx, a.Name)
	return map[string]string{"dataset": a.Name}, err
}
