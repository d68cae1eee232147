package main

import (
	"reflect"
	"strings"
	"testing"
)

// Every setting is shown, and no password.
func TestSettingsAreShown(t *testing.T) {
	c := defaults()
	c.Collectd.Users["ann"] = "hunter2"
	var all []string
	show(reflect.ValueOf(*c), "", func(table, name string, value any) {
		all = append(all, strings.TrimPrefix(table+"."+name, "."))
		if strings.Contains(reflect.ValueOf(value).String(), "hunter2") {
			t.Errorf("%s.%s shows %v", table, name, value)
		}
		if list, ok := value.([]string); ok && name == "users" && (len(list) != 1 || list[0] != "ann: <secret>") {
			t.Error(list)
		}
	})
	set, err := defaults().read(example)
	if err != nil {
		t.Fatal(err)
	}
	for name := range set {
		if strings.Contains(name, ".") && !strings.Contains(strings.Join(all, "\n")+"\n", name+"\n") {
			t.Errorf("%s is not shown", name)
		}
	}
}
