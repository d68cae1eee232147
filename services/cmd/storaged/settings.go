package main

// The settings as they are shown: by /api/v1/status/config and /api/v1/status/flags, which viewers may ask.

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"cistern/services/store/api"

	"github.com/prometheus/common/model"
)

// secret stands for what is not shown.
const secret = "<secret>"

// settings are those that storaged was started with; retention is what it is now.
func (s *server) settings() api.Settings {
	kept := s.store.Retention()
	flags := map[string]string{
		"storage.tsdb.retention.time": model.Duration(kept.Raw).String(),
		"web.enable-otlp-receiver":    fmt.Sprint(s.config.OTLP.Enabled),
	}
	yaml := "# storaged's settings, by the names that they have in storaged.toml. Passwords are not shown.\n"
	show(reflect.ValueOf(*s.config), "", func(table, name string, value any) {
		full := name
		if table != "" {
			full = table + "." + name
		}
		flags[full] = fmt.Sprint(value)
	})
	open := ""
	show(reflect.ValueOf(*s.config), "", func(table, name string, value any) {
		if table != open {
			open = table
			yaml += table + ":\n"
		}
		if table != "" {
			yaml += "  "
		}
		switch v := value.(type) {
		case bool, int, int64:
			yaml += fmt.Sprintf("%s: %v\n", name, v)
		case []string:
			quoted := make([]string, len(v))
			for i, one := range v {
				quoted[i] = fmt.Sprintf("%q", one)
			}
			yaml += fmt.Sprintf("%s: [%s]\n", name, strings.Join(quoted, ", "))
		default:
			yaml += fmt.Sprintf("%s: %q\n", name, fmt.Sprint(v))
		}
	})
	return api.Settings{YAML: yaml, Flags: flags}
}

// show calls f with each setting: those of no table first, and one table after the other. A table of names and passwords
// becomes its names.
func show(of reflect.Value, table string, f func(table, name string, value any)) {
	named := func(i int) string {
		field := of.Type().Field(i)
		if name := field.Tag.Get("toml"); name != "" {
			return name
		}
		return strings.ToLower(field.Name)
	}
	for i := range of.NumField() {
		if of.Type().Field(i).Anonymous { // what every input has
			show(of.Field(i), table, f)
			continue
		}
		switch value := of.Field(i).Interface().(type) {
		case []network:
			networks := make([]string, len(value))
			for k, one := range value {
				text, _ := one.MarshalText()
				networks[k] = string(text)
			}
			f(table, named(i), networks)
		case duration:
			f(table, named(i), model.Duration(time.Duration(value)).String())
		case durability:
			f(table, named(i), string(value))
		case map[string]string:
			users := make([]string, 0, len(value))
			for user := range value {
				users = append(users, user+": "+secret)
			}
			slices.Sort(users)
			f(table, named(i), users)
		default:
			if of.Field(i).Kind() != reflect.Struct {
				f(table, named(i), value)
			}
		}
	}
	for i := range of.NumField() {
		if of.Field(i).Kind() == reflect.Struct && !of.Type().Field(i).Anonymous {
			show(of.Field(i), strings.TrimPrefix(table+"."+named(i), "."), f)
		}
	}
}
