package api

import (
	"encoding/json"
	"strings"
	"testing"
)

// Every byte, at every place of a word, is escaped exactly when encoding/json does it.
func TestStringsAreEscapedAsInJSON(t *testing.T) {
	for c := range 256 {
		for before := range 17 {
			s := strings.Repeat("a", before) + string([]byte{byte(c)}) + strings.Repeat("z", 16-before)
			want, err := json.Marshal(s)
			if err != nil {
				t.Fatal(err)
			}
			if got := string(appendString(nil, s)); got != string(want) {
				t.Fatalf("%q is written as %s, want %s", s, got, want)
			}
			if asItIs(s) != (string(want) == `"`+s+`"`) {
				t.Fatalf("asItIs(%q) is %t", s, asItIs(s))
			}
		}
	}
}
