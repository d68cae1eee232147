package fake

// What a System makes of diskinfo, zpool and zfs.

import (
	"fmt"
	"regexp"
	"strings"

	"cistern/services/platform/illumos/commands"
)

func (s *System) diskinfo(call *commands.Call) (string, error) {
	if !call.Has("H") || call.Has("p") == call.Has("P") || call.Has("c") {
		return "", fmt.Errorf("it prints -Hp and -HP only")
	}
	said := ""
	for _, name := range sorted(s.Disks) {
		d := s.Disks[name]
		line := []string{"SCSI", name, "VBOX", "HARDDISK", number(d.Bytes), "no", "no"}
		if call.Has("P") {
			line = []string{name, "VBOX", "HARDDISK", d.Serial, "-", "-", "-"}
		}
		said += strings.Join(line, "\t") + "\n"
	}
	return said, nil
}

var whole = regexp.MustCompile(`^(?:/dev/dsk/)?(c[0-9]+t[0-9A-F]+d[0-9]+)(?:s[0-9]+)?$`)

func (s *System) zpool(call *commands.Call) (string, error) {
	operands := call.Operands
	switch call.Form.Subcommand {
	case "create":
		return "", s.createPool(call)
	case "list":
		return s.listPools(call)
	case "status":
		return s.poolStatus(operands, call.Has("P")), nil
	case "import":
		return s.importPools(call)
	case "get":
		p, err := s.pool(operands[1])
		if err != nil {
			return "", err
		}
		return p.properties[operands[0]] + "\n", nil
	case "set":
		p, err := s.pool(operands[1])
		if err != nil {
			return "", err
		}
		name, value, _ := strings.Cut(operands[0], "=")
		p.properties[name] = value
		return "", nil
	case "online", "reguid", "scrub":
		p, err := s.pool(operands[0])
		if err == nil && call.Form.Subcommand == "reguid" {
			p.guid++
		}
		return "", err
	case "labelclear":
		return "", nil
	}
	return "", fmt.Errorf("it has no behaviour for zpool %s", call.Form.Subcommand)
}

func (s *System) pool(name string) (*zpool, error) {
	if p := s.pools[name]; p != nil && p.imported {
		return p, nil
	}
	return nil, refuse(1, "cannot open '%s': no such pool", name)
}

func (s *System) createPool(call *commands.Call) error {
	name := call.Operands[0]
	if p := s.pools[name]; p != nil && p.imported {
		return refuse(1, "cannot create '%s': pool already exists", name)
	}
	p := &zpool{imported: true, cached: true, guid: int64(len(s.pools)) + 2000, properties: map[string]string{}, datasets: map[string]map[string]string{name: {}}}
	for _, one := range call.Options["o"] {
		property, value, _ := strings.Cut(one, "=")
		p.properties[property] = value
	}
	p.cached = p.properties["cachefile"] != "none"
	for _, one := range call.Options["O"] {
		property, value, _ := strings.Cut(one, "=")
		p.datasets[name][property] = value
	}
	for _, word := range call.Operands[1:] {
		found := whole.FindStringSubmatch(word)
		if found == nil {
			p.kind, p.leaves = append(p.kind, word), append(p.leaves, nil)
			continue
		}
		disk := s.Disks[found[1]]
		if disk == nil {
			return refuse(1, "cannot open '%s': no such device in /dev/dsk", word)
		}
		if disk.Label != "" && !call.Has("f") {
			return refuse(1, "invalid vdev specification\nuse '-f' to override the following errors:\n/dev/dsk/%ss0 is part of exported or potentially active ZFS pool %s. Please see zpool(8).", found[1], disk.Label)
		}
		if len(p.kind) == 0 {
			p.kind, p.leaves = append(p.kind, "disk"), append(p.leaves, nil)
		}
		p.leaves[len(p.leaves)-1] = append(p.leaves[len(p.leaves)-1], found[1])
		disk.Label = name
	}
	s.pools[name] = p
	s.mount(name)
	s.writeMounts()
	return nil
}

func (s *System) listPools(call *commands.Call) (string, error) {
	names := call.Operands
	if len(names) == 0 {
		for _, name := range sorted(s.pools) {
			if s.pools[name].imported {
				names = append(names, name)
			}
		}
	}
	said := ""
	for _, name := range names {
		p, err := s.pool(name)
		if err != nil {
			return "", err
		}
		var fields []string
		for column := range strings.SplitSeq(call.Value("o"), ",") {
			switch column {
			case "name":
				fields = append(fields, name)
			case "health":
				fields = append(fields, "ONLINE")
			case "guid":
				fields = append(fields, number(p.guid))
			case "size", "allocated", "free", "fragmentation":
				fields = append(fields, "0")
			default:
				fields = append(fields, "-")
			}
		}
		said += strings.Join(fields, "\t") + "\n"
	}
	return said, nil
}

func (s *System) poolStatus(names []string, paths bool) string {
	said := ""
	for _, name := range sorted(s.pools) {
		p := s.pools[name]
		if !p.imported || len(names) > 0 && names[0] != name {
			continue
		}
		said += fmt.Sprintf("  pool: %s\n state: ONLINE\n  scan: none requested\nconfig:\n\n\tNAME          STATE     READ WRITE CKSUM\n\t%-13s ONLINE       0     0     0\n", name, name)
		for at, kind := range p.kind {
			indent := "  "
			if kind != "disk" {
				said += fmt.Sprintf("\t  %-11s ONLINE       0     0     0\n", fmt.Sprintf("%s-%d", kind, at))
				indent = "    "
			}
			for _, leaf := range p.leaves[at] {
				if paths {
					leaf += "s0"
				}
				said += fmt.Sprintf("\t%s%-9s ONLINE       0     0     0\n", indent, leaf)
			}
		}
		said += "\nerrors: No known data errors\n\n"
	}
	return said
}

func (s *System) importPools(call *commands.Call) (string, error) {
	if len(call.Operands) == 0 && !call.Has("a") {
		return "", fmt.Errorf("it does not list what can be imported")
	}
	for _, name := range call.Operands {
		p := s.pools[name]
		switch {
		case p == nil:
			return "", refuse(1, "cannot import '%s': no such pool available", name)
		case p.imported:
			return "", refuse(1, "cannot import '%s': a pool with that name is already created/imported,\nand no additional pools with that name were found", name)
		}
		p.imported = true
		for _, one := range call.Options["o"] {
			property, value, _ := strings.Cut(one, "=")
			p.properties[property] = value
		}
		p.cached = p.properties["cachefile"] != "none"
		if !call.Has("N") {
			for dataset := range p.datasets {
				s.mount(dataset)
			}
		}
	}
	s.writeMounts()
	return "", nil
}

func (s *System) zfs(call *commands.Call) (string, error) {
	operands := call.Operands
	switch call.Form.Subcommand {
	case "create":
		return "", s.createDataset(call)
	case "list", "get":
		return s.listDatasets(call)
	case "load-key":
		return "", nil
	case "mount":
		if call.Has("a") {
			s.mountAll()
			return "", nil
		}
		if s.datasets()[operands[0]] == nil {
			return "", refuse(1, "cannot open '%s': dataset does not exist", operands[0])
		}
		if s.mounted[operands[0]] != "" {
			return "", refuse(1, "cannot mount '%s': filesystem already mounted", operands[0])
		}
		s.mount(operands[0])
		s.writeMounts()
		return "", nil
	case "unmount":
		delete(s.mounted, operands[0])
		s.writeMounts()
		return "", nil
	case "set":
		name, value, _ := strings.Cut(operands[0], "=")
		properties := s.datasets()[operands[len(operands)-1]]
		if properties == nil {
			return "", refuse(1, "cannot open '%s': dataset does not exist", operands[len(operands)-1])
		}
		dataset, was := operands[len(operands)-1], properties[name]
		properties[name] = value
		// There is no -u: what was mounted is mounted again, and so is what had no place of its own (changelist_postfix).
		if name == "mountpoint" && properties["canmount"] != "noauto" && (s.mounted[dataset] != "" || was == "none" || was == "legacy") {
			delete(s.mounted, dataset)
			s.mount(dataset)
			s.writeMounts()
		}
		return "", nil
	}
	return "", fmt.Errorf("it has no behaviour for zfs %s", call.Form.Subcommand)
}

func (s *System) createDataset(call *commands.Call) error {
	name := call.Operands[0]
	pool, _, _ := strings.Cut(name, "/")
	p := s.pools[pool]
	parent := name[:max(0, strings.LastIndex(name, "/"))]
	switch {
	case p == nil || !p.imported:
		return refuse(1, "cannot create '%s': no such pool '%s'", name, pool)
	case p.datasets[name] != nil:
		return refuse(1, "cannot create '%s': dataset already exists", name)
	case p.datasets[parent] == nil && !call.Has("p"):
		return refuse(1, "cannot create '%s': parent does not exist", name)
	}
	properties := map[string]string{}
	for _, one := range call.Options["o"] {
		property, value, _ := strings.Cut(one, "=")
		properties[property] = value
	}
	if size := call.Value("V"); size != "" {
		properties["volsize"] = size
	}
	p.datasets[name] = properties
	s.mount(name)
	s.writeMounts()
	return nil
}

// listDatasets prints `zfs list` and `zfs get` alike: a line for each dataset, or for each dataset and property.
func (s *System) listDatasets(call *commands.Call) (string, error) {
	operands, columns := call.Operands, strings.Split(call.Value("o"), ",")
	var asked []string
	if call.Form.Subcommand == "get" {
		asked, operands = strings.Split(operands[0], ","), operands[1:]
	}
	names := sorted(s.datasets())
	if len(operands) > 0 {
		name := operands[0]
		// A path is that of the dataset that is mounted there, or whose folder holds it.
		if strings.HasPrefix(name, "/") {
			name = s.holding(strings.TrimPrefix(name, s.Root))
		}
		if s.datasets()[name] == nil {
			return "", refuse(1, "cannot open '%s': dataset does not exist", operands[0])
		}
		names = []string{name}
	}
	said := ""
	for _, name := range names {
		if call.Value("t") == "filesystem" && s.datasets()[name]["volsize"] != "" {
			continue
		}
		value := func(property string) string {
			switch property {
			case "name":
				return name
			case "mountpoint":
				if s.datasets()[name]["volsize"] != "" {
					return "-"
				}
				return s.place(name)
			case "mounted":
				return map[bool]string{true: "yes", false: "no"}[s.mounted[name] != ""]
			case "type":
				return map[bool]string{true: "filesystem", false: "volume"}[s.datasets()[name]["volsize"] == ""]
			}
			if own := s.datasets()[name][property]; own != "" {
				return own
			}
			if property == "canmount" {
				return "on"
			}
			return "-"
		}
		if asked == nil {
			var fields []string
			for _, column := range columns {
				fields = append(fields, value(column))
			}
			said += strings.Join(fields, "\t") + "\n"
		}
		for _, property := range asked {
			var fields []string
			for _, column := range columns {
				fields = append(fields, map[string]string{"name": name, "property": property, "value": value(property), "source": "local"}[column])
			}
			said += strings.Join(fields, "\t") + "\n"
		}
	}
	return said, nil
}

func (s *System) holding(path string) string {
	best, at := "", ""
	for name, place := range s.mounted {
		if (path == place || strings.HasPrefix(path, place+"/")) && len(place) > len(at) {
			best, at = name, place
		}
	}
	return best
}
