package execd

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"cistern/services/daemon/problem"
	"cistern/services/execd/host"
	"cistern/services/platform/command"
	"cistern/services/platform/zfsname"
)

func zfs(ctx context.Context, deadline time.Duration, arguments ...string) (string, error) {
	r, err := command.Run(ctx, deadline, maxListed, append([]string{"zfs"}, arguments...)...)
	if err == nil && r.Cut {
		err = errors.New("zfs " + arguments[0] + " printed more than can be taken in")
	}
	return string(r.Stdout), err
}

// rows splits what 'zfs … -H' prints.
func rows(text string, columns int) [][]string {
	var found [][]string
	for line := range strings.Lines(text) {
		if fields := strings.Split(strings.TrimSuffix(line, "\n"), "\t"); len(fields) == columns {
			found = append(found, fields)
		}
	}
	return found
}

// facts are some properties of one dataset.
func facts(ctx context.Context, name string, wanted ...string) (map[string]string, error) {
	out, err := zfs(ctx, zfsDeadline, "get", "-Hp", "-o", "property,value", strings.Join(wanted, ","), name)
	if err != nil {
		return nil, zfsFailure(err, fmt.Sprintf("'%s' could not be read", name))
	}
	found := map[string]string{}
	for _, row := range rows(out, 2) {
		found[row[0]] = row[1]
	}
	return found, nil
}

type datasetCreateArgument struct {
	Name        string              `json:"name"`
	Kind        string              `json:"kind"`
	VolumeBytes int64               `json:"volumeBytes,omitempty"`
	Sparse      bool                `json:"sparse,omitempty"`
	Properties  map[string]string   `json:"properties,omitempty"`
	Encryption  *encryptionArgument `json:"encryption,omitempty"`
}

// datasetCreate makes a file system or a volume, and mounts it where everybody sees it.
func (s *Server) datasetCreate(r *http.Request, a datasetCreateArgument) (any, error) {
	if err := mustBeDataset("/name", a.Name); err != nil {
		return nil, err
	}
	if parentOf(a.Name) == "" {
		return nil, host.Invalid("/name", fmt.Sprintf("'%s' is a pool's name; a dataset is below one: %s/NAME.", a.Name, a.Name))
	}
	if err := mustNotBeOurs(a.Name); err != nil {
		return nil, err
	}
	volume := a.Kind == "volume"
	if !volume && a.Kind != "filesystem" {
		return nil, host.Invalid("/kind", "A dataset is a filesystem or a volume.")
	}
	if volume != (a.VolumeBytes > 0) {
		return nil, host.Invalid("/volumeBytes", "A volume has a size, and only a volume.")
	}
	if a.Sparse && !volume {
		return nil, host.Invalid("/sparse", "Only a volume can be sparse.")
	}
	assignments, err := s.checked(a.Properties, volume, true)
	if err != nil {
		return nil, err
	}
	argv := []string{"create"}
	if volume {
		if a.Sparse {
			argv = append(argv, "-s")
		}
		argv = append(argv, "-V", strconv.FormatInt(a.VolumeBytes, 10))
	} else {
		argv = append(argv, s.Host.UnmountedOptions()...)
	}
	for _, assignment := range assignments {
		argv = append(argv, "-o", assignment)
	}
	ctx := context.WithoutCancel(r.Context())
	var input *strings.Reader
	keyFile := ""
	if a.Encryption != nil {
		options, file, text, err := s.encryption(*a.Encryption)
		if err != nil {
			return nil, err
		}
		argv, keyFile, input = append(argv, options...), file, text
	}
	argv = append(argv, a.Name)
	if err := run(ctx, input, argv...); err != nil && !madeAllTheSame(err) {
		if keyFile != "" {
			_ = os.Remove(keyFile)
		}
		return nil, zfsFailure(err, fmt.Sprintf("The dataset '%s' was not made", a.Name))
	}
	if !volume {
		if err := s.mountIfMeant(ctx, a.Name); err != nil {
			return nil, problem.New(http.StatusInternalServerError, "command_failed", fmt.Sprintf("The dataset '%s' was made, but could not be mounted: %v.", a.Name, err), "See whether its mount point holds files already.")
		}
	}
	return map[string]string{"dataset": a.Name, "keyFile": keyFile}, nil
}

// madeAllTheSame says whether zfs create failed only afterwards, when it mounted what it had made. Its key must stay then.
func madeAllTheSame(err error) bool {
	var failed *command.Error
	return errors.As(err, &failed) && strings.Contains(failed.Said, "successfully created, but not")
}

// unmounted runs a command of zfs that takes the host's UnmountedOptions.
func (s *Server) unmounted(ctx context.Context, subcommand string, arguments ...string) error {
	return run(ctx, nil, append(append([]string{subcommand}, s.Host.UnmountedOptions()...), arguments...)...)
}

func run(ctx context.Context, input *strings.Reader, arguments ...string) error {
	argv := append([]string{"zfs"}, arguments...)
	if input == nil {
		_, err := command.Run(ctx, zfsDeadline, 64<<10, argv...)
		return err
	}
	_, err := command.RunInput(ctx, zfsDeadline, 64<<10, input, argv...)
	return err
}

type datasetSetArgument struct {
	Name       string            `json:"name"`
	Properties map[string]string `json:"properties"`
}

func (s *Server) datasetSet(r *http.Request, a datasetSetArgument) (any, error) {
	if err := mustBeDataset("/name", a.Name); err != nil {
		return nil, err
	}
	if err := mustNotBeOurs(a.Name); err != nil {
		return nil, err
	}
	if len(a.Properties) == 0 {
		return nil, host.Invalid("/properties", "Say at least one property.")
	}
	ctx := context.WithoutCancel(r.Context())
	is, err := facts(ctx, a.Name, "type", "volsize", "used", "referenced")
	if err != nil {
		return nil, err
	}
	assignments, err := s.checked(a.Properties, is["type"] == "volume", false)
	if err != nil {
		return nil, err
	}
	if wanted, ok := a.Properties["volsize"]; ok {
		is, _ := strconv.ParseInt(is["volsize"], 10, 64)
		if n, _ := strconv.ParseInt(wanted, 10, 64); n < is {
			return nil, host.Invalid("/properties/volsize", fmt.Sprintf("The volume has %d bytes, and what lies beyond %d would be lost: a volume is only made larger here.", is, n))
		}
	}
	set := func() error {
		argv := []string{"set"}
		if _, moves := a.Properties["mountpoint"]; moves {
			argv = append(argv, s.Host.UnmountedOptions()...)
		}
		if err := run(ctx, nil, append(append(argv, assignments...), a.Name)...); err != nil {
			return zfsFailure(err, fmt.Sprintf("The properties of '%s' were not changed", a.Name))
		}
		return nil
	}
	if _, moves := a.Properties["mountpoint"]; !moves {
		return map[string]string{"dataset": a.Name}, set()
	}
	return map[string]string{"dataset": a.Name}, s.moved(ctx, a.Name, set)
}

// moved carries out what changes where a dataset is mounted: nothing within it is mounted meanwhile.
func (s *Server) moved(ctx context.Context, name string, change func() error) error {
	if err := mustNotHoldTelemetry(ctx, name, "moved"); err != nil {
		return err
	}
	unmounted, err := s.away(ctx, name)
	if err != nil {
		return err
	}
	if err := change(); err != nil {
		return errors.Join(err, s.back(ctx, unmounted))
	}
	if err := s.mountIfMeant(ctx, name); err != nil {
		return err
	}
	for _, one := range slices.Backward(unmounted) {
		if err := s.mountIfMeant(ctx, one); err != nil {
			return err
		}
	}
	return nil
}

func mustNotHoldTelemetry(ctx context.Context, name, done string) error {
	if exists, telemetry := telemetryDataset(ctx); exists && zfsname.Within(telemetry, name) {
		return problem.New(http.StatusConflict, "conflict", fmt.Sprintf("The measurements are on '%s', which therefore cannot be %s.", telemetry, done), "Choose another dataset.")
	}
	return nil
}

type datasetInheritArgument struct {
	Name       string   `json:"name"`
	Properties []string `json:"properties"`
}

// datasetInherit takes a dataset's own values away, so that those of its parent count, or ZFS' defaults.
func (s *Server) datasetInherit(r *http.Request, a datasetInheritArgument) (any, error) {
	if err := mustBeDataset("/name", a.Name); err != nil {
		return nil, err
	}
	if err := mustNotBeOurs(a.Name); err != nil {
		return nil, err
	}
	if len(a.Properties) == 0 {
		return nil, host.Invalid("/properties", "Say at least one property.")
	}
	for i, name := range a.Properties {
		if known, ok := properties[name]; !ok || known.noInherit {
			return nil, host.Invalid(fmt.Sprintf("/properties/%d", i), fmt.Sprintf("The property '%s' cannot be inherited.", name))
		}
		if lacks := lacking(s.Host.ZFS(), name, ""); lacks != "" {
			return nil, host.Invalid(fmt.Sprintf("/properties/%d", i), lacks)
		}
	}
	ctx := context.WithoutCancel(r.Context())
	inherit := func() error {
		for _, name := range a.Properties { // zfs inherit takes one
			if err := run(ctx, nil, "inherit", name, a.Name); err != nil {
				return zfsFailure(err, fmt.Sprintf("'%s' of '%s' was not reset", name, a.Name))
			}
		}
		return nil
	}
	if slices.Contains(a.Properties, "mountpoint") {
		return map[string]string{"dataset": a.Name}, s.moved(ctx, a.Name, inherit)
	}
	return map[string]string{"dataset": a.Name}, inherit()
}

type datasetRenameArgument struct {
	Name string `json:"name"`
	To   string `json:"to"`
}

func (s *Server) datasetRename(r *http.Request, a datasetRenameArgument) (any, error) {
	if err := mustBeDataset("/name", a.Name); err != nil {
		return nil, err
	}
	if err := mustBeDataset("/to", a.To); err != nil {
		return nil, err
	}
	switch {
	case parentOf(a.Name) == "":
		return nil, host.Invalid("/name", "A pool is renamed by exporting it and importing it under another name.")
	case poolOf(a.Name) != poolOf(a.To) || parentOf(a.To) == "":
		return nil, host.Invalid("/to", fmt.Sprintf("A dataset stays on its pool: the new name begins with '%s/'.", poolOf(a.Name)))
	case zfsname.Within(a.To, a.Name):
		return nil, host.Invalid("/to", "A dataset cannot be put below itself.")
	}
	if err := errors.Join(mustNotBeOurs(a.Name), mustNotBeOurs(a.To)); err != nil {
		return nil, err
	}
	ctx := context.WithoutCancel(r.Context())
	if err := mustNotHoldTelemetry(ctx, a.Name, "renamed"); err != nil {
		return nil, err
	}
	unmounted, err := s.away(ctx, a.Name)
	if err != nil {
		return nil, err
	}
	if err := s.unmounted(ctx, "rename", a.Name, a.To); err != nil {
		return nil, errors.Join(zfsFailure(err, fmt.Sprintf("'%s' was not renamed", a.Name)), s.back(ctx, unmounted))
	}
	for i, one := range unmounted {
		unmounted[i] = a.To + strings.TrimPrefix(one, a.Name)
	}
	return map[string]string{"dataset": a.To}, s.back(ctx, unmounted)
}

type datasetDestroyArgument struct {
	Name      string `json:"name"`
	Confirm   string `json:"confirm"`
	Recursive bool   `json:"recursive"`
}

// hindrances are what keeps a dataset from being destroyed, each with the name of what hinders.
func hindrances(ctx context.Context, name string, recursive bool) ([]problem.Field, error) {
	out, err := zfs(ctx, longDeadline, "list", "-Hp", "-r", "-t", "all", "-o", "name,type,userrefs,clones", name)
	if err != nil {
		return nil, zfsFailure(err, fmt.Sprintf("'%s' could not be read", name))
	}
	var found []problem.Field
	for _, row := range rows(out, 4) {
		one, kind, holds, clones := row[0], row[1], row[2], row[3]
		switch {
		case one == name:
		case kind != "snapshot":
			if !recursive {
				found = append(found, problem.Field{Path: one, Message: "is below it"})
			}
		case !recursive && strings.HasPrefix(one, name+"@"):
			found = append(found, problem.Field{Path: one, Message: "is a snapshot of it"})
		}
		if kind != "snapshot" {
			continue
		}
		if holds != "0" && holds != "-" {
			found = append(found, problem.Field{Path: one, Message: "is held"})
		}
		for clone := range strings.SplitSeq(clones, ",") {
			if clone != "" && clone != "-" && !zfsname.Within(clone, name) {
				found = append(found, problem.Field{Path: one, Message: "is the origin of the clone " + clone})
			}
		}
	}
	return found, nil
}

// datasetDestroy destroys a dataset, with all below it if asked to. Nothing outside it is ever destroyed with it.
func (s *Server) datasetDestroy(r *http.Request, a datasetDestroyArgument) (any, error) {
	if err := mustBeDataset("/name", a.Name); err != nil {
		return nil, err
	}
	if parentOf(a.Name) == "" {
		return nil, host.Invalid("/name", "This is a pool; it is destroyed as such.")
	}
	if a.Confirm != a.Name {
		return nil, host.Invalid("/confirm", "To destroy a dataset, repeat its name.")
	}
	if err := mustNotBeOurs(a.Name); err != nil {
		return nil, err
	}
	ctx := context.WithoutCancel(r.Context())
	if err := mustNotHoldTelemetry(ctx, a.Name, "destroyed"); err != nil {
		return nil, err
	}
	hinder, err := hindrances(ctx, a.Name, a.Recursive)
	if err != nil {
		return nil, err
	}
	if len(hinder) > 0 {
		const most = 100
		detail := fmt.Sprintf("'%s' was not destroyed: '%s' %s", a.Name, hinder[0].Path, hinder[0].Message)
		if len(hinder) > 1 {
			detail += fmt.Sprintf(", and %d more hinder it", len(hinder)-1)
		}
		return nil, problem.New(http.StatusConflict, "conflict", detail+".", "Destroy or release what hinders it first; what is below it and its snapshots can be destroyed along.", hinder[:min(len(hinder), most)]...)
	}
	// Its key file goes with the one dataset that needed it.
	is, err := facts(ctx, a.Name, "keylocation", "encryptionroot")
	if err != nil {
		return nil, err
	}
	unmounted, err := s.away(ctx, a.Name)
	if err != nil {
		return nil, err
	}
	argv := []string{"destroy"}
	if a.Recursive {
		argv = append(argv, "-r")
	}
	if _, err := zfs(ctx, longDeadline, append(argv, a.Name)...); err != nil {
		return nil, errors.Join(zfsFailure(err, fmt.Sprintf("'%s' was not destroyed", a.Name)), s.back(ctx, unmounted))
	}
	if file, ours := strings.CutPrefix(is["keylocation"], "file://"+filepath.Join(s.State, "keys")+"/"); ours && is["encryptionroot"] == a.Name && filepath.Base(file) == file {
		_ = os.Remove(filepath.Join(s.State, "keys", file))
	}
	return map[string]string{"dataset": a.Name}, nil
}

type datasetNameArgument struct {
	Name string `json:"name"`
}
