package smf

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// What illumos refuses in a manifest, checked without illumos: svccfg validates against a DTD whose order of elements is
// part of it, and at run time a user, privilege, FMRI or file that is not there puts the service into maintenance.

// node is an element with everything in it, so that nothing escapes the check.
type node struct {
	XMLName  xml.Name
	Attrs    []xml.Attr `xml:",any,attr"`
	Children []node     `xml:",any"`
	Chars    string     `xml:",chardata"`
}

func (n node) text() string { return strings.TrimSpace(n.Chars) }

func (n node) children(name string) (list []node) {
	for _, c := range n.Children {
		if c.XMLName.Local == name {
			list = append(list, c)
		}
	}
	return list
}

// child is the first of that name, or an element without a name.
func (n node) child(name string) node {
	if list := n.children(name); len(list) > 0 {
		return list[0]
	}
	return node{}
}

// method is the command line of a method.
func (n node) method(name string) string {
	for _, m := range n.children("exec_method") {
		if m.attr("name") == name {
			return m.attr("exec")
		}
	}
	return ""
}

func (n node) attr(name string) string {
	for _, a := range n.Attrs {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}

func (n node) walk(visit func(node)) {
	visit(n)
	for _, c := range n.Children {
		c.walk(visit)
	}
}

// order: the children that service_bundle.dtd.1 allows, in its order. `?` once at most, `*` any number, `+` and plain
// at least (exactly) once. Elements that are not a key here must be empty.
var order = map[string]string{
	"service_bundle":     "service+",
	"service":            "create_default_instance? single_instance? restarter? dependency* dependent* method_context? exec_method* notification_parameters* property_group* instance* stability? template?",
	"dependency":         "service_fmri* stability? propval*",
	"dependent":          "service_fmri stability? propval*",
	"method_context":     "method_credential? method_environment?",
	"method_environment": "envvar+",
	"exec_method":        "method_context? stability? propval*",
	"property_group":     "stability? propval*",
	"template":           "common_name description? documentation? pg_pattern*",
	"common_name":        "loctext+",
	"description":        "loctext+",
	"pg_pattern":         "common_name? description? prop_pattern*",
	"prop_pattern":       "common_name? description? units? visibility? cardinality? internal_separators? values? constraints? choices?",
	"units":              "loctext+",
	"values":             "value+",
	"value":              "common_name? description?",
	"constraints":        "value* range*",
	"choices":            "value* range* include_values*",

	"notification_parameters": "event type+",
	"type":                    "parameter* paramval*",
	"parameter":               "value_node*",
}

// attributes that the DTD requires.
var required = map[string][]string{
	"service_bundle": {"type", "name"}, "service": {"name", "type", "version"}, "create_default_instance": {"enabled"},
	"dependency": {"name", "grouping", "restart_on", "type"}, "dependent": {"name", "grouping", "restart_on"},
	"service_fmri": {"value"}, "method_credential": {"user"}, "envvar": {"name", "value"},
	"exec_method": {"type", "name", "exec", "timeout_seconds"}, "property_group": {"name", "type"},
	"propval": {"name", "type", "value"}, "stability": {"value"},
	"loctext": {"lang"}, "prop_pattern": {"name"}, "visibility": {"value"}, "value": {"name"}, "range": {"min", "max"},
	"include_values": {"type"}, "event": {"value"}, "type": {"name"}, "paramval": {"name", "value"}, "parameter": {"name"},
}

// oneOf are the attributes for which the DTD lists the values.
var oneOf = map[string]map[string][]string{
	"service":                 {"type": {"service", "restarter", "milestone"}},
	"create_default_instance": {"enabled": {"true", "false"}},
	"exec_method":             {"type": {"method", "monitor"}},
	"stability":               {"value": {"Standard", "Stable", "Evolving", "Unstable", "External", "Obsolete"}},
	"propval":                 {"type": propertyTypes},
	"prop_pattern":            {"type": propertyTypes, "required": {"true", "false"}},
	"pg_pattern":              {"target": {"this", "instance", "delegate", "all"}, "required": {"true", "false"}},
	"visibility":              {"value": {"hidden", "readonly", "readwrite"}},
	"include_values":          {"type": {"constraints", "values"}},
	"type":                    {"active": {"true", "false"}},
}

var propertyTypes = []string{"count", "integer", "opaque", "host", "hostname", "net_address", "net_address_v4", "net_address_v6", "time",
	"astring", "ustring", "boolean", "fmri", "uri"}

// transitions of svccfg's notify_params.c: an event is a list of them, with commas. Those of the fault manager
// (problem-diagnosed…) may be set for svc:/system/fm/notify-params only.
var transitions = regexp.MustCompile(`^((to|from)-)?(uninitialized|maintenance|offline|disabled|online|degraded|all)$`)

// notifiers read notification parameters: smtp-notify, snmp-notify, and the fault manager's own syslog-msgs.
var notifiers = []string{"smtp", "snmp", "syslog"}

// omniosServices are those of a stock OmniOS that ours name.
var omniosServices = []string{"svc:/system/filesystem/local", "svc:/milestone/network", "svc:/system/identity:node"}

// privileges(7) of illumos that ours name.
var privileges = []string{"basic", "dtrace_kernel", "dtrace_proc", "dtrace_user", "file_chown", "file_dac_read", "file_dac_search",
	"file_dac_write", "file_link_any", "file_owner", "net_privaddr", "proc_info", "proc_owner", "proc_session", "sys_admin",
	"sys_config", "sys_devices", "sys_ip_config", "sys_mount"}

// world is what a manifest may refer to.
type world struct {
	services, users []string
	method          func(path string) bool
}

var fixed = regexp.MustCompile("`(cistern[a-z-]*)` 5[0-9][0-9]")

// inRepository reads the accounts from docs/ARCHITECTURE.md and the services from the manifests themselves.
func inRepository(t *testing.T, manifests []string) world {
	t.Helper()
	page, err := os.ReadFile("../../docs/ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	w := world{services: slices.Clone(omniosServices), users: []string{"root", "nginx"}}
	for _, found := range fixed.FindAllStringSubmatch(string(page), -1) {
		w.users = append(w.users, found[1])
	}
	for _, path := range manifests {
		bundle, err := parse(path)
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		w.services = append(w.services, "svc:/"+bundle.Children[0].attr("name"))
	}
	commands, err := os.ReadDir("../cmd")
	if err != nil {
		t.Fatal(err)
	}
	// Programs of OmniOS' packages; those packages are dependencies of ours (image/omnios/packages).
	programs := []string{"/opt/ooce/node-24/bin/node", "/opt/ooce/nginx-1.30/sbin/nginx", "/usr/sbin/snmpd"}
	for _, c := range commands {
		programs = append(programs, "/opt/cistern/bin/"+c.Name())
	}
	w.method = func(path string) bool {
		if name, ok := strings.CutPrefix(path, "/lib/svc/method/"); ok {
			info, err := os.Stat("../../smf/method/" + name)
			return err == nil && info.Mode()&0o111 != 0
		}
		return slices.Contains(programs, path)
	}
	return w
}

func parse(path string) (node, error) {
	file, err := os.Open(path)
	if err != nil {
		return node{}, err
	}
	defer file.Close()
	return parseText(file)
}

func parseText(r io.Reader) (node, error) {
	var bundle node
	if err := xml.NewDecoder(r).Decode(&bundle); err != nil {
		return node{}, err
	}
	if bundle.XMLName.Local != "service_bundle" || len(bundle.Children) != 1 || bundle.Children[0].XMLName.Local != "service" {
		return node{}, errors.New("not a bundle of one service")
	}
	return bundle, nil
}

// ordered compares an element's children with the DTD's model of it.
func ordered(n node) error {
	name := n.XMLName.Local
	rest := n.Children
	for _, part := range strings.Fields(order[name]) {
		want := strings.TrimRight(part, "?*+")
		count := 0
		for len(rest) > 0 && rest[0].XMLName.Local == want {
			count++
			rest = rest[1:]
		}
		least, most := 1, 1
		switch part[len(part)-1] {
		case '?':
			least = 0
		case '*':
			least, most = 0, 1<<30
		case '+':
			most = 1 << 30
		}
		if count < least || count > most {
			return fmt.Errorf("<%s>: %d × <%s>, wanted %s", name, count, want, part)
		}
	}
	if len(rest) > 0 {
		return fmt.Errorf("<%s>: <%s> %q is not allowed here; the order is %s", name, rest[0].XMLName.Local, rest[0].attr("name"), order[name])
	}
	return nil
}

func lint(bundle node, w world) (problems []string) {
	say := func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }
	if bundle.attr("type") != "manifest" {
		say("the bundle is no manifest")
	}
	bundle.walk(func(n node) {
		name := n.XMLName.Local
		if err := ordered(n); err != nil {
			say("%v", err)
		}
		for _, want := range required[name] {
			if !slices.ContainsFunc(n.Attrs, func(a xml.Attr) bool { return a.Name.Local == want }) {
				say("<%s %s> lacks %s", name, n.attr("name"), want)
			}
		}
		for attribute, values := range oneOf[name] {
			if value := n.attr(attribute); value != "" && !slices.Contains(values, value) {
				say("<%s %s>: %s is %q, not one of %v", name, n.attr("name"), attribute, value, values)
			}
		}
		switch name {
		case "event":
			for _, event := range strings.Split(n.attr("value"), ",") {
				if !transitions.MatchString(event) {
					say("no transition %s is known", event)
				}
			}
		case "type":
			if !slices.Contains(notifiers, n.attr("name")) {
				say("no notification %s is known", n.attr("name"))
			}
		case "loctext":
			if n.attr("lang") != "C" || n.text() == "" {
				say("a text is empty, or not for the locale C")
			}
		case "common_name":
			if text := n.child("loctext"); len(text.text()) >= 60 {
				say("the name %q is too long: less than 60 letters", text.text())
			}
		case "service":
			problems = append(problems, lintTunables(n)...)
		case "service_fmri":
			fmri := n.attr("value")
			if !slices.Contains(w.services, fmri) && !slices.Contains(w.services, strings.TrimSuffix(fmri, ":default")) {
				say("no service %s is known", fmri)
			}
		case "dependency", "dependent":
			if !slices.Contains([]string{"require_all", "require_any", "exclude_all", "optional_all"}, n.attr("grouping")) ||
				!slices.Contains([]string{"error", "restart", "refresh", "none"}, n.attr("restart_on")) {
				say("dependency %s: grouping %q, restart_on %q", n.attr("name"), n.attr("grouping"), n.attr("restart_on"))
			}
		case "method_credential":
			if !slices.Contains(w.users, n.attr("user")) {
				say("no user %s is known", n.attr("user"))
			}
			for _, group := range strings.FieldsFunc(n.attr("group")+","+n.attr("supp_groups"), func(r rune) bool { return r == ',' || r == ' ' }) {
				if !slices.Contains(w.users, group) {
					say("no group %s is known", group)
				}
			}
			if set := n.attr("privileges"); set != "" {
				for _, p := range strings.Split(set, ",") {
					if !slices.Contains(privileges, strings.TrimPrefix(p, "!")) {
						say("no privilege %s is known", p)
					}
				}
			}
		case "exec_method":
			exec := n.attr("exec")
			if program, _, _ := strings.Cut(exec, " "); exec != ":kill" && exec != ":kill -HUP" && exec != ":true" && !w.method(program) {
				say("method %s: there is no program %s", n.attr("name"), program)
			}
			if strings.Contains(exec, " /run/") || strings.Contains(exec, "=/run/") {
				say("method %s: /run is Linux'; illumos has /var/run", n.attr("name"))
			}
		case "envvar":
			if strings.HasPrefix(n.attr("value"), "/run/") {
				say("variable %s: /run is Linux'; illumos has /var/run", n.attr("name"))
			}
		}
	})
	return problems
}

// lintTunables compares what may be tuned (property groups of type application, but for "linux"), its templates, and the
// methods that it should reach.
func lintTunables(service node) (problems []string) {
	say := func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }
	if len(service.children("notification_parameters")) == 0 {
		say("nobody is told when the service fails: notification_parameters are missing")
	}
	patterns := map[string]node{} // GROUP/PROPERTY → prop_pattern
	for _, group := range service.child("template").children("pg_pattern") {
		for _, p := range group.children("prop_pattern") {
			patterns[group.attr("name")+"/"+p.attr("name")] = p
		}
		if group.child("description").XMLName.Local == "" {
			say("the group %s has no description", group.attr("name"))
		}
		if !slices.ContainsFunc(service.children("property_group"), func(g node) bool {
			return g.attr("name") == group.attr("name") && g.attr("type") == group.attr("type")
		}) {
			say("the template describes the group %s of type %s, which the service does not have", group.attr("name"), group.attr("type"))
		}
	}
	var methods []string
	for _, m := range service.children("exec_method") {
		methods = append(methods, m.attr("exec"))
	}
	start, linuxStart := service.method("start"), ""
	tunables := map[string]bool{}
	for _, group := range service.children("property_group") {
		for _, p := range group.children("propval") {
			name := group.attr("name") + "/" + p.attr("name")
			if name == "linux/start" {
				linuxStart = p.attr("value")
				methods = append(methods, linuxStart)
			}
			if group.attr("type") != "application" || group.attr("name") == "linux" {
				continue
			}
			tunables[name] = true
			pattern, described := patterns[name]
			if !described {
				say("%s is not described in the template", name)
				continue
			}
			if p.attr("type") != pattern.attr("type") {
				say("%s is of type %s, in the template of type %s", name, p.attr("type"), pattern.attr("type"))
			}
			for _, want := range []string{"common_name", "description", "visibility", "cardinality"} {
				if pattern.child(want).XMLName.Local == "" {
					say("%s has no %s", name, want)
				}
			}
			if problem := fits(p, pattern); problem != "" {
				say("%s: %s", name, problem)
			}
		}
	}
	for name := range patterns {
		if !tunables[name] {
			say("the template describes %s, which is not set", name)
		}
	}
	for name := range tunables {
		if !strings.Contains(start, "%{"+name+"}") || linuxStart != "" && !strings.Contains(linuxStart, "%{"+name+"}") {
			say("%s does not reach the daemon: a start method lacks %%{%s}", name, name)
		}
	}
	for _, exec := range methods {
		for _, found := range token.FindAllString(exec, -1) {
			if name := strings.TrimSuffix(strings.TrimPrefix(found, "%{"), "}"); found != "%%" && !tunables[name] {
				say("a method uses %s, which is not set", found)
			}
		}
	}
	return problems
}

// fits says what is wrong with a property's own value by its template.
func fits(p, pattern node) string {
	value, constraints := p.attr("value"), pattern.child("constraints")
	if kind := p.attr("type"); kind == "count" || kind == "integer" {
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil || kind == "count" && n < 0 {
			return fmt.Sprintf("%q is no %s", value, kind)
		}
		if pattern.child("units").XMLName.Local == "" || len(constraints.children("range")) == 0 {
			return "a number needs units and a range"
		}
		for _, r := range constraints.children("range") {
			least, errLeast := strconv.ParseInt(r.attr("min"), 10, 64)
			most, errMost := strconv.ParseInt(r.attr("max"), 10, 64)
			if errLeast != nil || errMost != nil || least > most {
				return fmt.Sprintf("%q to %q is no range", r.attr("min"), r.attr("max"))
			}
			if n >= least && n <= most {
				return ""
			}
		}
		return fmt.Sprintf("%s is not within its own range", value)
	}
	values := constraints.children("value")
	if len(values) > 0 && !slices.ContainsFunc(values, func(v node) bool { return v.attr("name") == value }) {
		return fmt.Sprintf("%q is not among its own values", value)
	}
	return ""
}

func TestManifestsAsIllumosReadsThem(t *testing.T) {
	manifests, _ := filepath.Glob("../../smf/manifest/*.xml")
	ours, _ := filepath.Glob("../../smf/illumos/*.xml")
	manifests = append(manifests, ours...)
	if len(ours) < 2 || len(manifests) < 10 {
		t.Fatalf("found only %v", manifests)
	}
	w := inRepository(t, manifests)
	for _, path := range manifests {
		bundle, err := parse(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, problem := range lint(bundle, w) {
			t.Errorf("%s: %s", filepath.Base(path), problem)
		}
	}
}

// The check finds what it is for.
func TestManifestMistakes(t *testing.T) {
	const good = `<service_bundle type="manifest" name="x"><service name="application/cistern/x" type="service" version="1"><create_default_instance enabled="true"/><dependency name="d" grouping="require_all" restart_on="none" type="service"><service_fmri value="svc:/milestone/network"/></dependency><method_context><method_credential user="root" privileges="basic,!proc_info"/></method_context><exec_method type="method" name="start" exec="/bin/x --n %{config/n} --s=%{config/s}" timeout_seconds="1"/><notification_parameters><event value="to-maintenance,from-online"/><type name="smtp" active="true"><paramval name="to" value="root"/></type></notification_parameters><property_group name="startd" type="framework"/><property_group name="config" type="application"><propval name="n" type="count" value="5"/><propval name="s" type="astring" value="a"/></property_group><template><common_name><loctext xml:lang="C">X</loctext></common_name><pg_pattern name="config" type="application"><description><loctext xml:lang="C">D</loctext></description><prop_pattern name="n" type="count"><common_name><loctext xml:lang="C">N</loctext></common_name><description><loctext xml:lang="C">D</loctext></description><units><loctext xml:lang="C">MiB</loctext></units><visibility value="readwrite"/><cardinality min="1" max="1"/><constraints><range min="1" max="9"/></constraints></prop_pattern><prop_pattern name="s" type="astring"><common_name><loctext xml:lang="C">S</loctext></common_name><description><loctext xml:lang="C">D</loctext></description><visibility value="readwrite"/><cardinality min="1" max="1"/><constraints><value name="a"/></constraints><choices><include_values type="constraints"/></choices></prop_pattern></pg_pattern></template></service></service_bundle>`
	w := world{services: omniosServices, users: []string{"root"}, method: func(path string) bool { return path == "/bin/x" }}
	problems := func(text string) []string {
		bundle, err := parseText(strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		return lint(bundle, w)
	}
	if found := problems(good); len(found) > 0 {
		t.Fatal(found)
	}
	for name, c := range map[string][3]string{
		"order":            {`<create_default_instance enabled="true"/>`, `<property_group name="p" type="application"/><create_default_instance enabled="true"/>`, "not allowed here"},
		"unknown element":  {`<property_group name="startd" type="framework"/>`, `<propertygroup/>`, "not allowed here"},
		"twice":            {`<create_default_instance enabled="true"/>`, `<create_default_instance enabled="true"/><create_default_instance enabled="true"/>`, "2 × "},
		"attribute":        {` timeout_seconds="1"`, ``, "lacks timeout_seconds"},
		"FMRI":             {"svc:/milestone/network", "svc:/milestone/netwrok", "no service"},
		"user":             {`user="root"`, `user="rot"`, "no user"},
		"privilege":        {"!proc_info", "!proc_inf", "no privilege"},
		"method":           {"/bin/x", "/bin/y", "no program"},
		"grouping":         {"require_all", "require", "grouping"},
		"folder of Linux'": {`exec="/bin/x`, `exec="/bin/x --socket /run/x`, "Linux'"},
		"range":            {`max="9"`, `max="4"`, "not within"},
		"no range":         {`<constraints><range min="1" max="9"/></constraints>`, ``, "needs units and a range"},
		"no number":        {`value="5"`, `value="five"`, "is no count"},
		"value":            {`<value name="a"/>`, `<value name="b"/>`, "not among"},
		"type of property": {`<prop_pattern name="n" type="count">`, `<prop_pattern name="n" type="integer">`, "in the template of type"},
		"kind of type":     {`<prop_pattern name="n" type="count">`, `<prop_pattern name="n" type="number">`, "not one of"},
		"not described":    {`<propval name="n"`, `<propval name="m" type="count" value="1"/><propval name="n"`, "config/m is not described"},
		"not set":          {`<propval name="s" type="astring" value="a"/>`, ``, "a method uses %{config/s}"},
		"not reached":      {` --n %{config/n}`, ``, "config/n does not reach"},
		"another group":    {`<pg_pattern name="config"`, `<pg_pattern name="cfg"`, "which the service does not have"},
		"template order":   {`<visibility value="readwrite"/><cardinality min="1" max="1"/><constraints><range`, `<cardinality min="1" max="1"/><visibility value="readwrite"/><constraints><range`, "not allowed here"},
		"visibility":       {`<visibility value="readwrite"/>`, `<visibility value="rw"/>`, "not one of"},
		"locale":           {`xml:lang="C">N`, `xml:lang="en">N`, "locale C"},
		"transition":       {"to-maintenance,", "to-maintainance,", "no transition"},
		"fault event":      {"to-maintenance,", "problem-diagnosed,", "no transition"},
		"notifier":         {`<type name="smtp"`, `<type name="mailto"`, "no notification"},
		"nobody is told":   {`<notification_parameters><event value="to-maintenance,from-online"/><type name="smtp" active="true"><paramval name="to" value="root"/></type></notification_parameters>`, ``, "nobody is told"},
	} {
		text := strings.Replace(good, c[0], c[1], 1)
		if found := strings.Join(problems(text), "; "); text == good || !strings.Contains(found, c[2]) {
			t.Errorf("%s: found %q, wanted %q", name, found, c[2])
		}
	}
}
