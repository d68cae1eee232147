package layout

import "testing"

func TestFieldsLieWhereTheCompilerPutsThem(t *testing.T) {
	s, err := Of("\tchar\ta;\n\tint\tb;\n\tchar\tc[N];\n\ttimestruc_t d;\n\tushort_t e;\n", map[string]int{"N": 3})
	if err != nil {
		t.Fatal(err)
	}
	for name, at := range map[string]int{"a": 0, "b": 4, "c": 8, "d": 16, "e": 32} {
		if s.Offsets[name] != at {
			t.Errorf("%s lies at %d", name, s.Offsets[name])
		}
	}
	if s.Size != 40 {
		t.Errorf("%d bytes", s.Size)
	}
	for _, wrong := range []string{"\tint a\n", "\tthing_t a;\n", "\tchar a[M];\n"} {
		if _, err := Of(wrong, nil); err == nil {
			t.Errorf("%q was read", wrong)
		}
	}
}
