package execd

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"cistern/services/daemon/problem"
	"cistern/services/platform/command"
	"cistern/services/platform/zfsname"
)

const (
	// zfsDeadline is for what ZFS does within one transaction group, on a pool that has much else to do.
	zfsDeadline = 2 * time.Minute
	// longDeadline is for what takes the longer the more there is: destroying, listing all of a large pool.
	longDeadline = 10 * time.Minute
	mostListed   = 64 << 20
)

// property says when a property may be given, and what its values are.
type property struct {
	values    *regexp.Regexp
	means     string // what a value looks like, for whoever gave another one
	creation  bool   // only when the dataset is made
	volume    bool   // a volume has it
	noInherit bool
}

const (
	number = `(0|[1-9][0-9]{0,18})`
	onOff  = `(on|off)`
)

func of(pattern, means string) property {
	return property{values: regexp.MustCompile(`^(?:` + pattern + `)$`), means: means}
}

func (p property) onVolumes() property  { p.volume = true; return p }
func (p property) atCreation() property { p.creation, p.noInherit = true, true; return p }
func (p property) ownOnly() property    { p.noInherit = true; return p }

// properties are those that may be set from the management plane.
var properties = map[string]property{
	"compression":    of(`on|off|lz4|lzjb|zle|gzip(-[1-9])?|zstd(-([1-9]|1[0-9]))?|zstd-fast(-([1-9]|10|20|30|40|50|60|70|80|90|100|500|1000))?`, "off, lz4, zstd (also zstd-1 to zstd-19), gzip (also gzip-1 to gzip-9), lzjb or zle").onVolumes(),
	"quota":          of(`none|`+number, "a number of bytes, or none").ownOnly(),
	"refquota":       of(`none|`+number, "a number of bytes, or none").ownOnly(),
	"reservation":    of(`none|`+number, "a number of bytes, or none").onVolumes().ownOnly(),
	"refreservation": of(`none|auto|`+number, "a number of bytes, or none").onVolumes().ownOnly(),
	"recordsize":     of(`512|1024|2048|4096|8192|16384|32768|65536|131072|262144|524288|1048576|2097152|4194304|8388608|16777216`, "a power of two from 512 bytes to 16 MiB"),
	"volblocksize":   of(`512|1024|2048|4096|8192|16384|32768|65536|131072`, "a power of two from 512 bytes to 128 KiB").onVolumes().atCreation(),
	"volsize":        of(`[1-9][0-9]{0,18}`, "a number of bytes").onVolumes().ownOnly(),
	"atime":          of(onOff, "on or off"),
	"relatime":       of(onOff, "on or off"),
	"readonly":       of(onOff, "on or off").onVolumes(),
	"sync":           of(`standard|always|disabled`, "standard, always or disabled").onVolumes(),
	"logbias":        of(`latency|throughput`, "latency or throughput").onVolumes(),
	"primarycache":   of(`all|none|metadata`, "all, none or metadata").onVolumes(),
	"secondarycache": of(`all|none|metadata`, "all, none or metadata").onVolumes(),
	"copies":         of(`[123]`, "1, 2 or 3").onVolumes(),
	"snapdir":        of(`hidden|visible`, "hidden or visible"),
	"mountpoint":     of(`none|/srv/.+`, "none, or a directory below /srv"),
}

// mountpointProblem keeps mounts below /srv, and off the telemetry's.
func mountpointProblem(value string) string {
	switch {
	case value == "none":
		return ""
	case path.Clean(value) != value || strings.ContainsAny(value, "\x00\n\t"):
		return "is written with what a path does not need ('//', '.', '..' or a final '/')"
	case value == TelemetryMount || strings.HasPrefix(value, TelemetryMount+"/"):
		return "is where the measurements are"
	}
	return ""
}

// checked turns properties into "name=value", in the order of their names.
func checked(given map[string]string, volume, creating bool) ([]string, error) {
	var assignments []string
	for _, name := range slices.Sorted(maps.Keys(given)) {
		known, ok := properties[name]
		where := "/properties/" + name
		switch value := given[name]; {
		case !ok:
			return nil, invalid(where, fmt.Sprintf("The property '%s' cannot be set from here. These can: %s.", name, strings.Join(slices.Sorted(maps.Keys(properties)), ", ")))
		case volume && !known.volume:
			return nil, invalid(where, fmt.Sprintf("A volume has no property '%s'.", name))
		case !volume && (name == "volblocksize" || name == "volsize"):
			return nil, invalid(where, fmt.Sprintf("A file system has no property '%s'.", name))
		case known.creation && !creating:
			return nil, invalid(where, fmt.Sprintf("'%s' can only be chosen when the dataset is made.", name))
		case !known.values.MatchString(value):
			return nil, invalid(where, fmt.Sprintf("'%s' is no value of %s: it is %s.", value, name, known.means))
		case name == "mountpoint" && mountpointProblem(value) != "":
			return nil, invalid(where, fmt.Sprintf("The mount point '%s' %s.", value, mountpointProblem(value)))
		default:
			assignments = append(assignments, name+"="+value)
		}
	}
	return assignments, nil
}

func zfs(ctx context.Context, deadline time.Duration, arguments ...string) (string, error) {
	r, err := command.Run(ctx, deadline, mostListed, append([]string{"zfs"}, arguments...)...)
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

type encryptionArgument struct {
	Format     string `json:"format"`
	Passphrase secret `json:"passphrase,omitempty"`
}

type datasetCreateArgument struct {
	Name        string              `json:"name"`
	Kind        string              `json:"kind"`
	VolumeBytes int64               `json:"volumeBytes,omitempty"`
	Sparse      bool                `json:"sparse,omitempty"`
	Properties  map[string]string   `json:"properties,omitempty"`
	Encryption  *encryptionArgument `json:"encryption,omitempty"`
}

// passphraseProblem keeps to ZFS' own limits (MIN_PASSPHRASE_LEN, MAX_PASSPHRASE_LEN); zfs reads one line.
func passphraseProblem(p secret) string {
	switch {
	case len(p) < 8 || len(p) > 512:
		return "A passphrase has 8 to 512 characters."
	case strings.ContainsAny(string(p), "\r\n\x00"):
		return "A passphrase is one line."
	}
	return ""
}

// datasetCreate makes a file system or a volume, and mounts it where everybody sees it.
func (s *Server) datasetCreate(r *http.Request, a datasetCreateArgument) (any, error) {
	if err := mustBeDataset("/name", a.Name); err != nil {
		return nil, err
	}
	if parentOf(a.Name) == "" {
		return nil, invalid("/name", fmt.Sprintf("'%s' is a pool's name; a dataset is below one: %s/NAME.", a.Name, a.Name))
	}
	if err := mustNotBeOurs(a.Name); err != nil {
		return nil, err
	}
	volume := a.Kind == "volume"
	if !volume && a.Kind != "filesystem" {
		return nil, invalid("/kind", "A dataset is a filesystem or a volume.")
	}
	if volume != (a.VolumeBytes > 0) {
		return nil, invalid("/volumeBytes", "A volume has a size, and only a volume.")
	}
	if a.Sparse && !volume {
		return nil, invalid("/sparse", "Only a volume can be sparse.")
	}
	assignments, err := checked(a.Properties, volume, true)
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
		argv = append(argv, "-u")
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
	if err := run(ctx, input, argv...); err != nil {
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

func run(ctx context.Context, input *strings.Reader, arguments ...string) error {
	argv := append([]string{"zfs"}, arguments...)
	if input == nil {
		_, err := command.Run(ctx, zfsDeadline, 64<<10, argv...)
		return err
	}
	_, err := command.RunInput(ctx, zfsDeadline, 64<<10, input, argv...)
	return err
}

// encryption are the options of 'zfs create' and 'zfs change-key', the key's file if there is to be one, and what zfs
// is told on its standard input.
func (s *Server) encryption(a encryptionArgument) (options []string, keyFile string, input *strings.Reader, err error) {
	switch a.Format {
	case "passphrase":
		if wrong := passphraseProblem(a.Passphrase); wrong != "" {
			return nil, "", nil, invalid("/encryption/passphrase", wrong)
		}
		return []string{"-o", "encryption=on", "-o", "keyformat=passphrase", "-o", "keylocation=prompt"}, "", strings.NewReader(string(a.Passphrase) + "\n"), nil
	case "keyFile":
		if a.Passphrase != "" {
			return nil, "", nil, invalid("/encryption/passphrase", "With a key file there is no passphrase.")
		}
		keyFile, err := s.newKeyFile()
		return []string{"-o", "encryption=on", "-o", "keyformat=hex", "-o", "keylocation=file://" + keyFile}, keyFile, nil, err
	}
	return nil, "", nil, invalid("/encryption/format", "The key is a passphrase or a keyFile.")
}

// newKeyFile writes 256 random bits as hexadecimal digits, for root only. Its name says nothing of the dataset, which
// may be renamed.
func (s *Server) newKeyFile() (string, error) {
	dir := filepath.Join(s.State, "keys")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	var bits [48]byte
	if _, err := rand.Read(bits[:]); err != nil {
		return "", err
	}
	file := filepath.Join(dir, hex.EncodeToString(bits[32:])+".key")
	return file, replaceFile(file, []byte(hex.EncodeToString(bits[:32])+"\n"), 0o400)
}

// mountIfMeant mounts a file system that has a place to be mounted at and a key that is loaded.
func (s *Server) mountIfMeant(ctx context.Context, name string) error {
	is, err := facts(ctx, name, "mountpoint", "canmount", "mounted", "keystatus")
	if err != nil {
		return err
	}
	if is["mounted"] == "yes" || is["canmount"] != "on" || is["keystatus"] == "unavailable" || !strings.HasPrefix(is["mountpoint"], "/") {
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
		return nil, invalid("/properties", "Say at least one property.")
	}
	ctx := context.WithoutCancel(r.Context())
	is, err := facts(ctx, a.Name, "type", "volsize", "used", "referenced")
	if err != nil {
		return nil, err
	}
	assignments, err := checked(a.Properties, is["type"] == "volume", false)
	if err != nil {
		return nil, err
	}
	if wanted, ok := a.Properties["volsize"]; ok {
		is, _ := strconv.ParseInt(is["volsize"], 10, 64)
		if n, _ := strconv.ParseInt(wanted, 10, 64); n < is {
			return nil, invalid("/properties/volsize", fmt.Sprintf("The volume has %d bytes, and what lies beyond %d would be lost: a volume is only made larger here.", is, n))
		}
	}
	set := func() error {
		argv := append([]string{"set"}, assignments...)
		if _, moves := a.Properties["mountpoint"]; moves {
			// Not mounted here: that would be in execd's own view of the mounts.
			argv = append([]string{"set", "-u"}, assignments...)
		}
		if err := run(ctx, nil, append(argv, a.Name)...); err != nil {
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
		return nil, invalid("/properties", "Say at least one property.")
	}
	for i, name := range a.Properties {
		if known, ok := properties[name]; !ok || known.noInherit {
			return nil, invalid(fmt.Sprintf("/properties/%d", i), fmt.Sprintf("The property '%s' cannot be inherited.", name))
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
		return nil, invalid("/name", "A pool is renamed by exporting it and importing it under another name.")
	case poolOf(a.Name) != poolOf(a.To) || parentOf(a.To) == "":
		return nil, invalid("/to", fmt.Sprintf("A dataset stays on its pool: the new name begins with '%s/'.", poolOf(a.Name)))
	case zfsname.Within(a.To, a.Name):
		return nil, invalid("/to", "A dataset cannot be put below itself.")
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
	if err := run(ctx, nil, "rename", "-u", a.Name, a.To); err != nil {
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
		return nil, invalid("/name", "This is a pool; it is destroyed as such.")
	}
	if a.Confirm != a.Name {
		return nil, invalid("/confirm", "To destroy a dataset, repeat its name.")
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

type datasetKeyArgument struct {
	Name       string              `json:"name"`
	Action     string              `json:"action"`
	Passphrase secret              `json:"passphrase,omitempty"`
	Encryption *encryptionArgument `json:"encryption,omitempty"`
}

// datasetKey loads, unloads or changes the key of an encrypted dataset.
func (s *Server) datasetKey(r *http.Request, a datasetKeyArgument) (any, error) {
	if err := mustBeDataset("/name", a.Name); err != nil {
		return nil, err
	}
	if err := mustNotBeOurs(a.Name); err != nil {
		return nil, err
	}
	ctx := context.WithoutCancel(r.Context())
	is, err := facts(ctx, a.Name, "encryption", "encryptionroot", "keystatus", "keylocation")
	if err != nil {
		return nil, err
	}
	switch root := is["encryptionroot"]; {
	case is["encryption"] == "off" || root == "-" || root == "":
		return nil, problem.New(http.StatusConflict, "conflict", fmt.Sprintf("'%s' is not encrypted; that is decided when a dataset is made.", a.Name), "Make an encrypted dataset and copy what is in this one.")
	case root != a.Name:
		return nil, problem.New(http.StatusConflict, "conflict", fmt.Sprintf("'%s' has the key of '%s'.", a.Name, root), "Do it there.")
	}
	answer := map[string]string{"dataset": a.Name}
	switch a.Action {
	case "load":
		if is["keystatus"] == "available" {
			return answer, nil
		}
		var input *strings.Reader
		if is["keylocation"] == "prompt" {
			if wrong := passphraseProblem(a.Passphrase); wrong != "" {
				return nil, invalid("/passphrase", wrong)
			}
			input = strings.NewReader(string(a.Passphrase) + "\n")
		}
		if err := run(ctx, input, "load-key", a.Name); err != nil {
			return nil, zfsFailure(err, fmt.Sprintf("The key of '%s' was not loaded", a.Name))
		}
		// What it covers comes back as far as it is meant to be mounted.
		out, err := zfs(ctx, longDeadline, "list", "-Hp", "-r", "-t", "filesystem", "-o", "name", a.Name)
		if err != nil {
			return nil, err
		}
		for _, row := range rows(out, 1) {
			if err := s.mountIfMeant(ctx, row[0]); err != nil {
				return nil, err
			}
		}
		return answer, nil
	case "unload":
		if err := mustNotHoldTelemetry(ctx, a.Name, "locked"); err != nil {
			return nil, err
		}
		unmounted, err := s.away(ctx, a.Name)
		if err != nil {
			return nil, err
		}
		if err := run(ctx, nil, "unload-key", a.Name); err != nil {
			return nil, errors.Join(zfsFailure(err, fmt.Sprintf("The key of '%s' was not unloaded", a.Name)), s.back(ctx, unmounted))
		}
		return answer, nil
	case "change":
		if is["keystatus"] != "available" {
			return nil, problem.New(http.StatusConflict, "conflict", fmt.Sprintf("The key of '%s' is not loaded.", a.Name), "Load the present key first.")
		}
		if a.Encryption == nil {
			return nil, invalid("/encryption", "Say what the new key is.")
		}
		options, keyFile, input, err := s.encryption(*a.Encryption)
		if err != nil {
			return nil, err
		}
		// Whether there is encryption is not for change-key to say.
		argv := append([]string{"change-key"}, options[2:]...)
		if err := run(ctx, input, append(argv, a.Name)...); err != nil {
			if keyFile != "" {
				_ = os.Remove(keyFile)
			}
			return nil, zfsFailure(err, fmt.Sprintf("The key of '%s' was not changed", a.Name))
		}
		if old, was := strings.CutPrefix(is["keylocation"], "file://"); was && filepath.Dir(old) == filepath.Join(s.State, "keys") {
			_ = os.Remove(old)
		}
		return answer, nil
	}
	return nil, invalid("/action", "The action is load, unload or change.")
}
