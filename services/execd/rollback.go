package execd

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"cistern/services/daemon/problem"
	"cistern/services/execd/host"
	"cistern/services/platform/zfsname"
)

type snapshotRollbackArgument struct {
	Dataset      string `json:"dataset"`
	Snapshot     string `json:"snapshot"` // its own name, behind the @
	Keep         bool   `json:"keep"`
	DestroyNewer bool   `json:"destroyNewer"`
}

type rollbackAnswer struct {
	Dataset   string   `json:"dataset"`
	KeptAs    string   `json:"keptAs"` // the dataset that holds what there was before, or empty
	Destroyed []string `json:"destroyed"`
}

// snapshotRollback brings a dataset back to what it was at a snapshot.
//
// 'zfs rollback' destroys every newer snapshot, a safety snapshot included. So with keep the dataset is renamed instead,
// a clone of the snapshot takes its place and is promoted: what there was lives on beside it, with its newer
// snapshots and a safety snapshot of its last state, and costs only what differs.
//
// storaged is stopped while its dataset is away, and started again whatever happens.
func (s *Server) snapshotRollback(r *http.Request, a snapshotRollbackArgument) (any, error) {
	target := a.Dataset + "@" + a.Snapshot
	if _, _, err := mustBeSnapshot("/snapshot", target); err != nil {
		return nil, err
	}
	if parentOf(a.Dataset) == "" && a.Keep {
		return nil, host.Invalid("/keep", "A pool's own dataset cannot be kept aside.")
	}
	if err := mustNotBeOurs(a.Dataset); err != nil {
		return nil, err
	}
	if a.Keep && a.DestroyNewer {
		return nil, host.Invalid("/destroyNewer", "When what there is now is kept, no snapshot is destroyed.")
	}
	ctx := context.WithoutCancel(r.Context())
	newer, err := newerThan(ctx, target)
	if err != nil {
		return nil, err
	}
	if !a.Keep {
		if err := mayGo(target, newer, a.DestroyNewer); err != nil {
			return nil, err
		}
	}
	exists, telemetry := telemetryDataset(ctx)
	telemetryToo := exists && zfsname.Within(telemetry, a.Dataset)
	work := func() (rollbackAnswer, error) { return s.rollBack(ctx, a, target, newer) }
	if a.Keep {
		if err := mustHaveNothingBelow(ctx, a.Dataset); err != nil {
			return nil, err
		}
		work = func() (rollbackAnswer, error) { return s.rollBackKeeping(ctx, a, target) }
	}
	if !telemetryToo {
		return work()
	}
	if err := s.Host.Service(ctx, "storaged", "stop"); err != nil {
		return nil, fmt.Errorf("storaged could not be stopped, so nothing was changed: %w", err)
	}
	answer, err := work()
	if !s.Host.Mounted(TelemetryMount) {
		// storaged on the bare directory would begin a new store there.
		if mountErr := s.Host.MountPools(ctx); mountErr != nil || !s.Host.Mounted(TelemetryMount) {
			return nil, problem.New(http.StatusInternalServerError, "command_failed", fmt.Sprintf("The telemetry dataset is not mounted at %s after the rollback (%v), so storaged was not started: no measurement is taken in.", TelemetryMount, errors.Join(err, mountErr)),
				"See the log of the service cistern-pools, mount the dataset, then start the Telemetry store.")
		}
	}
	if startErr := s.Host.Service(ctx, "storaged", "start"); startErr != nil {
		return nil, problem.New(http.StatusInternalServerError, "command_failed", fmt.Sprintf("The rollback %s, but storaged did not start again: %v.", map[bool]string{true: "was carried out", false: "failed"}[err == nil], startErr), "Start the Telemetry store on the Services page; a support bundle holds its log.")
	}
	return answer, err
}

// newerThan are the rows (name, holds, clones) of the dataset's snapshots that are newer than the target.
func newerThan(ctx context.Context, target string) ([][]string, error) {
	out, err := zfs(ctx, zfsDeadline, "list", "-Hp", "-d", "1", "-t", "snapshot", "-s", "createtxg", "-o", "name,userrefs,clones", datasetOf(target))
	if err != nil {
		return nil, zfsFailure(err, fmt.Sprintf("The snapshots of '%s' could not be read", datasetOf(target)))
	}
	all := rows(out, 3)
	at := slices.IndexFunc(all, func(row []string) bool { return row[0] == target })
	if at < 0 {
		return nil, problem.New(http.StatusNotFound, "not_found", fmt.Sprintf("There is no snapshot '%s'.", target), "It may have been destroyed meanwhile. Read the list anew.")
	}
	return all[at+1:], nil
}

func mayGo(target string, newer [][]string, destroy bool) error {
	var fields []problem.Field
	for _, row := range newer {
		switch {
		case row[1] != "0" && row[1] != "-":
			fields = append(fields, problem.Field{Path: row[0], Message: "is held"})
		case row[2] != "" && row[2] != "-":
			fields = append(fields, problem.Field{Path: row[0], Message: "is the origin of the clone " + row[2]})
		case !destroy:
			fields = append(fields, problem.Field{Path: row[0], Message: "is newer"})
		}
	}
	if len(fields) == 0 {
		return nil
	}
	return problem.New(http.StatusConflict, "conflict", fmt.Sprintf("Going back to '%s' would destroy newer snapshots: '%s' %s.", target, fields[0].Path, fields[0].Message),
		"Confirm that newer snapshots are destroyed, or keep what there is now as a dataset of its own. What is held or cloned has to be released first.", fields[:min(len(fields), 100)]...)
}

func mustHaveNothingBelow(ctx context.Context, dataset string) error {
	out, err := zfs(ctx, zfsDeadline, "list", "-Hp", "-d", "1", "-t", "filesystem,volume", "-o", "name", dataset)
	if err != nil {
		return zfsFailure(err, fmt.Sprintf("'%s' could not be read", dataset))
	}
	if below := rows(out, 1); len(below) > 1 {
		return problem.New(http.StatusConflict, "conflict", fmt.Sprintf("'%s' is below '%s', and would be moved with what is kept.", below[1][0], dataset), "Roll back without keeping what there is now, or clone the snapshot and take what is needed from the clone.")
	}
	return nil
}

// rollBack is ZFS' own way: what is newer is lost.
func (s *Server) rollBack(ctx context.Context, a snapshotRollbackArgument, target string, newer [][]string) (rollbackAnswer, error) {
	answer := rollbackAnswer{Dataset: a.Dataset, Destroyed: []string{}}
	unmounted, err := s.away(ctx, a.Dataset)
	if err != nil {
		return answer, err
	}
	argv := []string{"rollback"}
	if a.DestroyNewer && len(newer) > 0 {
		argv = append(argv, "-r")
		for _, row := range newer {
			answer.Destroyed = append(answer.Destroyed, row[0])
		}
	}
	if _, err := zfs(ctx, longDeadline, append(argv, target)...); err != nil {
		return answer, errors.Join(zfsFailure(err, fmt.Sprintf("'%s' was not rolled back", a.Dataset)), s.back(ctx, unmounted))
	}
	return answer, s.back(ctx, unmounted)
}

// Properties that a clone has from its origin, and that cannot be given to it.
var notCloned = []string{"encryption", "keyformat", "keylocation", "pbkdf2iters", "volblocksize", "volsize", "casesensitivity", "normalization", "utf8only", "version", "canmount"}

// rollBackKeeping puts a promoted clone of the snapshot in the dataset's place. Until the clone is promoted every
// step can be undone, and is when a later one fails.
func (s *Server) rollBackKeeping(ctx context.Context, a snapshotRollbackArgument, target string) (answer rollbackAnswer, err error) {
	stamp := time.Now().UTC().Format("2006-01-02T15.04.05Z")
	aside := a.Dataset + "-before-rollback-" + stamp
	answer = rollbackAnswer{Dataset: a.Dataset, Destroyed: []string{}}
	if err := mustBeDataset("/dataset", aside); err != nil {
		return answer, err
	}
	did := fmt.Sprintf("'%s' was not rolled back, and is as it was", a.Dataset)
	is, err := facts(ctx, a.Dataset, "type", "canmount")
	if err != nil {
		return answer, err
	}
	volume := is["type"] == "volume"
	own, err := zfs(ctx, zfsDeadline, "get", "-Hp", "-s", "local,received", "-o", "property,value", "all", a.Dataset)
	if err != nil {
		return answer, zfsFailure(err, did)
	}
	clone := []string{"clone"}
	mountpoint := ""
	if !volume {
		clone = append(clone, "-o", "canmount=noauto")
	}
	for _, row := range rows(own, 2) {
		if row[0] == "mountpoint" {
			mountpoint = row[1]
		}
		if !slices.Contains(notCloned, row[0]) {
			clone = append(clone, "-o", row[0]+"="+row[1])
		}
	}
	clone = append(clone, aside+"@"+a.Snapshot, a.Dataset)
	if err := run(ctx, nil, "snapshot", "-o", "cistern:reason=before the rollback to "+a.Snapshot, a.Dataset+"@cistern-before-rollback-"+stamp); err != nil {
		return answer, zfsFailure(err, did)
	}
	unmounted, err := s.away(ctx, a.Dataset)
	if err != nil {
		return answer, err
	}
	var undo []func() error
	undone := func(cause error) (rollbackAnswer, error) {
		for _, step := range slices.Backward(undo) {
			if undoErr := step(); undoErr != nil {
				return answer, problem.New(http.StatusInternalServerError, "command_failed", fmt.Sprintf("The rollback of '%s' failed (%v), and so did putting it back (%v). What it held is in '%s' or in '%s'; nothing was destroyed.", a.Dataset, cause, undoErr, a.Dataset, aside), "Look at both datasets before anything else is done.")
			}
		}
		return answer, errors.Join(zfsFailure(cause, did), s.back(ctx, unmounted))
	}
	if err := s.unmounted(ctx, "rename", a.Dataset, aside); err != nil {
		return undone(err)
	}
	undo = append(undo, func() error { return s.unmounted(ctx, "rename", aside, a.Dataset) })
	if !volume {
		// Two datasets of one mount point would take each other's place at the next boot.
		if err := s.unmounted(ctx, "set", "mountpoint=none", aside); err != nil {
			return undone(err)
		}
		undo = append(undo, func() error {
			if mountpoint == "" {
				return run(ctx, nil, "inherit", "mountpoint", aside)
			}
			return s.unmounted(ctx, "set", "mountpoint="+mountpoint, aside)
		})
	}
	if err := run(ctx, nil, clone...); err != nil {
		return undone(err)
	}
	undo = append(undo, func() error { return run(ctx, nil, "destroy", a.Dataset) })
	if err := run(ctx, nil, "promote", a.Dataset); err != nil {
		return undone(err)
	}
	answer.KeptAs = aside
	if !volume {
		if err := run(ctx, nil, "set", "canmount="+is["canmount"], a.Dataset); err != nil {
			return answer, zfsFailure(err, fmt.Sprintf("'%s' was rolled back, but will not be mounted at the next start", a.Dataset))
		}
	}
	if err := s.back(ctx, unmounted); err != nil {
		return answer, problem.New(http.StatusInternalServerError, "command_failed", fmt.Sprintf("'%s' was rolled back, but could not be mounted: %v. What it held before is in '%s'.", a.Dataset, err, aside), "Mount it, or see the machine's log.")
	}
	return answer, nil
}
