package cli

import (
	"net/url"
	"path/filepath"
	"strings"
	"testing"
)

func TestFoldersOfEachSystem(t *testing.T) {
	roaming, local := filepath.Join("R", "ada"), filepath.Join("L", "ada")
	variables := map[string]string{"AppData": roaming, "LocalAppData": local}
	for _, c := range []struct {
		system        string
		variables     map[string]string
		config, cache string
	}{
		{"linux", variables, filepath.Join("home", ".config", "cistern"), filepath.Join("home", ".cache", "cistern")},
		{"darwin", variables, filepath.Join("home", ".config", "cistern"), filepath.Join("home", ".cache", "cistern")},
		{"illumos", nil, filepath.Join("home", ".config", "cistern"), filepath.Join("home", ".cache", "cistern")},
		{"windows", variables, filepath.Join(roaming, "cistern"), filepath.Join(local, "cistern", "cache")},
		{"windows", nil, filepath.Join("home", ".config", "cistern"), filepath.Join("home", ".cache", "cistern")},
	} {
		config, cache := folders(c.system, "home", func(name string) string { return c.variables[name] })
		if config != c.config || cache != c.cache {
			t.Errorf("%s: %s and %s, not %s and %s", c.system, config, cache, c.config, c.cache)
		}
	}
}

func TestNamesThatWindowsReserves(t *testing.T) {
	for name, want := range map[string]bool{"nul": true, "com1": true, "con.example": true, "console": false, "com10": false, "berlin": false, "aux": true} {
		if reserved("windows", name) != want || reserved("linux", name) {
			t.Errorf("%s: %t", name, !want)
		}
	}
}

// The name of a file of the cache has nothing that Windows refuses in one, or takes for a second stream of it.
func TestCacheIsAFileOnWindowsToo(t *testing.T) {
	if name := url.QueryEscape("https://berlin.example:8443/x?y*z"); strings.ContainsAny(name, `<>:"/\|?*`) {
		t.Errorf("%s", name)
	}
}

func TestOnlyAnApplianceIsMeantWithoutAName(t *testing.T) {
	for system, want := range map[string]bool{"linux": true, "illumos": true, "darwin": false, "windows": false} {
		if appliances(system) != want {
			t.Errorf("%s: %t", system, !want)
		}
	}
}
