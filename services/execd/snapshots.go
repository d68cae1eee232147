package execd

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"cistern/services/daemon/problem"
	"cistern/services/execd/host"
	"cistern/services/platform/zfsname"
)

const (
	// longestArguments is how much of an argument list is given to one command. Linux takes 2 MiB with the environment,
	// illumos 1 MiB.
	longestArguments = 768 << 10
	maxNames         = 20_000
)

// chunks splits names so that each part fits one command.
func chunks(names []string, separator int) [][]string {
	var found [][]string
	size, from := 0, 0
	for i, name := range names {
		if size+len(name)+separator > longestArguments {
			found, size, from = append(found, names[from:i]), 0, i
		}
		size += len(name) + separator
	}
	return append(found, names[from:])
}

// byKey groups names, in the order in which their keys first come.
func byKey(names []string, key func(string) string) (order []string, groups map[string][]string) {
	groups = map[string][]string{}
	for _, name := range names {
		k := key(name)
		if groups[k] == nil {
			order = append(order, k)
		}
		groups[k] = append(groups[k], name)
	}
	return order, groups
}

func datasetOf(snapshot string) string {
	dataset, _, _ := strings.Cut(snapshot, "@")
	return dataset
}

// mustBeSnapshots checks every name, and that none is there twice.
func mustBeSnapshots(names []string) error {
	if len(names) == 0 || len(names) > maxNames {
		return host.Invalid("/names", fmt.Sprintf("Name 1 to %d snapshots.", maxNames))
	}
	seen := make(map[string]bool, len(names))
	for i, name := range names {
		if _, _, err := mustBeSnapshot(fmt.Sprintf("/names/%d", i), name); err != nil {
			return err
		}
		if seen[name] {
			return host.Invalid(fmt.Sprintf("/names/%d", i), fmt.Sprintf("The snapshot '%s' is named twice.", name))
		}
		seen[name] = true
	}
	return nil
}

type snapshotCreateArgument struct {
	Names     []string `json:"names"`
	Recursive bool     `json:"recursive"`
	Schedule  string   `json:"schedule,omitempty"` // kept as cistern:schedule
	Reason    string   `json:"reason,omitempty"`   // kept as cistern:reason
	// Replication is kept as cistern:replication: that replication goes on from it, so no schedule gives it up.
	Replication string `json:"replication,omitempty"`
}

// tagged says what may stand in one of our own properties: what is shown on pages and compared, on one line.
func tagged(path, value string) error {
	if len(value) > 200 || strings.ContainsFunc(value, func(c rune) bool { return c < ' ' || c == 0x7f }) {
		return host.Invalid(path, "At most 200 characters on one line.")
	}
	return nil
}

// snapshotCreate takes all the snapshots of a pool with one command, so that they are of one moment.
func (s *Server) snapshotCreate(r *http.Request, a snapshotCreateArgument) (any, error) {
	if err := errors.Join(mustBeSnapshots(a.Names), tagged("/schedule", a.Schedule), tagged("/reason", a.Reason), tagged("/replication", a.Replication)); err != nil {
		return nil, err
	}
	options := []string{"snapshot"}
	if a.Recursive {
		options = append(options, "-r")
	}
	if a.Schedule != "" {
		options = append(options, "-o", "cistern:schedule="+a.Schedule)
	}
	if a.Reason != "" {
		options = append(options, "-o", "cistern:reason="+a.Reason)
	}
	if a.Replication != "" {
		options = append(options, "-o", "cistern:replication="+a.Replication)
	}
	ctx := context.WithoutCancel(r.Context())
	made := 0
	order, pools := byKey(a.Names, poolOf)
	for _, pool := range order {
		for _, names := range chunks(pools[pool], 1) {
			if err := run(ctx, nil, append(slices.Clone(options), names...)...); err != nil {
				did := "No snapshot was taken"
				if made > 0 {
					did = fmt.Sprintf("Of %d snapshots, %d were taken", len(a.Names), made)
				}
				return nil, zfsFailure(err, did)
			}
			made += len(names)
		}
	}
	return map[string]int{"made": made}, nil
}

type snapshotDestroyArgument struct {
	Names    []string `json:"names"`
	Deferred bool     `json:"deferred"`
}

type refusal struct {
	Name   string `json:"name"`
	Reason string `json:"reason"`
}

type snapshotDestroyAnswer struct {
	Destroyed []string  `json:"destroyed"`
	Refused   []refusal `json:"refused"`
}

// snapshotDestroy destroys what nothing keeps, and says of the rest what keeps it.
func (s *Server) snapshotDestroy(r *http.Request, a snapshotDestroyArgument) (any, error) {
	if err := mustBeSnapshots(a.Names); err != nil {
		return nil, err
	}
	for _, name := range a.Names {
		if err := mustNotBeOurs(datasetOf(name)); err != nil {
			return nil, err
		}
	}
	ctx := context.WithoutCancel(r.Context())
	answer := snapshotDestroyAnswer{Destroyed: []string{}, Refused: []refusal{}}
	refuse := func(name, reason string) { answer.Refused = append(answer.Refused, refusal{name, reason}) }
	order, groups := byKey(a.Names, datasetOf)
	// One look at all of them; a dataset that has gone is only missing from what is listed.
	there := map[string][]string{}
	for _, datasets := range chunks(order, 1) {
		out, err := zfs(ctx, longDeadline, append([]string{"list", "-Hp", "-d", "1", "-t", "snapshot", "-o", "name,userrefs,clones"}, datasets...)...)
		if err != nil && out == "" {
			return nil, zfsFailure(err, "The snapshots could not be read")
		}
		for _, row := range rows(out, 3) {
			there[row[0]] = row
		}
	}
	for _, dataset := range order {
		var names []string
		for _, name := range groups[dataset] {
			switch row := there[name]; {
			case row == nil:
				refuse(name, "It is not there.")
			case !a.Deferred && row[1] != "0" && row[1] != "-":
				refuse(name, "It is held.")
			case !a.Deferred && row[2] != "" && row[2] != "-":
				refuse(name, "It is the origin of the clone "+row[2]+".")
			default:
				names = append(names, name)
			}
		}
		for _, part := range chunks(names, 0) {
			if len(part) > 0 {
				s.destroySnapshots(ctx, part, a.Deferred, &answer)
			}
		}
	}
	return answer, nil
}

// destroySnapshots destroys snapshots of one dataset with one command; when ZFS refuses that as a whole, one after the other.
func (s *Server) destroySnapshots(ctx context.Context, names []string, deferred bool, answer *snapshotDestroyAnswer) {
	argv := []string{"destroy"}
	if deferred {
		argv = append(argv, "-d")
	}
	list := names[0]
	for _, name := range names[1:] {
		list += "," + strings.TrimPrefix(name, datasetOf(name)+"@")
	}
	_, err := zfs(ctx, longDeadline, append(argv, list)...)
	switch {
	case err == nil:
		answer.Destroyed = append(answer.Destroyed, names...)
	case len(names) == 1:
		var document problem.Document
		reason := err.Error()
		if errors.As(zfsFailure(err, "It was not destroyed"), &document) {
			reason = document.Detail
		}
		answer.Refused = append(answer.Refused, refusal{names[0], reason})
	default:
		for _, name := range names {
			s.destroySnapshots(ctx, []string{name}, deferred, answer)
		}
	}
}

type snapshotHoldArgument struct {
	Names []string `json:"names"`
	Tag   string   `json:"tag"`
}

func (s *Server) snapshotHold(r *http.Request, a snapshotHoldArgument) (any, error) {
	return s.holdOrRelease(r, a, "hold")
}

func (s *Server) snapshotRelease(r *http.Request, a snapshotHoldArgument) (any, error) {
	return s.holdOrRelease(r, a, "release")
}

func (s *Server) holdOrRelease(r *http.Request, a snapshotHoldArgument, action string) (any, error) {
	if err := mustBeSnapshots(a.Names); err != nil {
		return nil, err
	}
	if wrong := zfsname.Component(a.Tag); wrong != "" || len(a.Tag) > zfsname.Longest || strings.HasPrefix(a.Tag, "-") {
		return nil, host.Invalid("/tag", "A hold's tag is letters, digits, '_', '.', ':' and '-', and does not begin with '-'.")
	}
	ctx := context.WithoutCancel(r.Context())
	for _, names := range chunks(a.Names, 1) {
		if err := run(ctx, nil, append([]string{action, a.Tag}, names...)...); err != nil {
			did := "The snapshots were not held"
			if action == "release" {
				did = "The hold was not released"
			}
			return nil, zfsFailure(err, did)
		}
	}
	return empty{}, nil
}

type snapshotRenameArgument struct {
	Name string `json:"name"`
	To   string `json:"to"`
}

func (s *Server) snapshotRename(r *http.Request, a snapshotRenameArgument) (any, error) {
	dataset, _, err := mustBeSnapshot("/name", a.Name)
	if err != nil {
		return nil, err
	}
	to, _, err := mustBeSnapshot("/to", a.To)
	if err != nil {
		return nil, err
	}
	if to != dataset {
		return nil, host.Invalid("/to", "A snapshot stays with its dataset.")
	}
	if err := run(context.WithoutCancel(r.Context()), nil, "rename", a.Name, a.To); err != nil {
		return nil, zfsFailure(err, fmt.Sprintf("'%s' was not renamed", a.Name))
	}
	return map[string]string{"snapshot": a.To}, nil
}

type snapshotCloneArgument struct {
	Snapshot   string            `json:"snapshot"`
	Name       string            `json:"name"`
	Properties map[string]string `json:"properties,omitempty"`
}

func (s *Server) snapshotClone(r *http.Request, a snapshotCloneArgument) (any, error) {
	dataset, _, err := mustBeSnapshot("/snapshot", a.Snapshot)
	if err != nil {
		return nil, err
	}
	if err := mustBeDataset("/name", a.Name); err != nil {
		return nil, err
	}
	if poolOf(a.Name) != poolOf(dataset) || parentOf(a.Name) == "" {
		return nil, host.Invalid("/name", fmt.Sprintf("A clone is on the pool of its snapshot: its name begins with '%s/'.", poolOf(dataset)))
	}
	if err := errors.Join(mustNotBeOurs(dataset), mustNotBeOurs(a.Name)); err != nil {
		return nil, err
	}
	ctx := context.WithoutCancel(r.Context())
	is, err := facts(ctx, dataset, "type")
	if err != nil {
		return nil, err
	}
	volume := is["type"] == "volume"
	assignments, err := s.checked(a.Properties, volume, false)
	if err != nil {
		return nil, err
	}
	argv := []string{"clone"}
	if !volume {
		// Not mounted by zfs itself: that would be in execd's own view of the mounts.
		argv = append(argv, "-o", "canmount=noauto")
	}
	for _, assignment := range assignments {
		argv = append(argv, "-o", assignment)
	}
	if err := run(ctx, nil, append(argv, a.Snapshot, a.Name)...); err != nil {
		return nil, zfsFailure(err, fmt.Sprintf("The clone '%s' was not made", a.Name))
	}
	if !volume {
		if err := run(ctx, nil, "set", "canmount=on", a.Name); err != nil {
			return nil, zfsFailure(err, fmt.Sprintf("The clone '%s' was made, but will not be mounted", a.Name))
		}
		if err := s.mountIfMeant(ctx, a.Name); err != nil {
			return nil, problem.New(http.StatusInternalServerError, "command_failed", fmt.Sprintf("The clone '%s' was made, but could not be mounted: %v.", a.Name, err), "See whether its mount point holds files already.")
		}
	}
	return map[string]string{"dataset": a.Name}, nil
}
