package problem

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

type pool struct {
	Name   string `json:"name"`
	Ashift int    `json:"ashift"`
	Vdevs  []struct {
		Type string `json:"type"`
	} `json:"vdevs"`
}

func TestDecodeRefuses(t *testing.T) {
	for _, c := range []struct {
		name, body, code, path string
		status                 int
	}{
		{"empty", ``, "malformed_json", "", 400},
		{"cut", `{"name":"a`, "malformed_json", "", 400},
		{"not json", `name=a`, "malformed_json", "", 400},
		{"two values", `{} {}`, "malformed_json", "", 400},
		{"garbage behind", `{} x`, "malformed_json", "", 400},
		{"unknown", `{"nmae":"a"}`, "unknown_field", "nmae", 400},
		{"type", `{"ashift":"12"}`, "invalid_request", "ashift", 400},
		{"fraction", `{"ashift":1.5}`, "invalid_request", "ashift", 400},
		{"deep type", `{"vdevs":[{"type":7}]}`, "invalid_request", "vdevs.type", 400},
		{"large", `{"name":"` + strings.Repeat("x", 300) + `"}`, "body_too_large", "", 413},
		{"large behind", `{"name":"a"}` + strings.Repeat(" ", 300), "body_too_large", "", 413},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := httptest.NewRecorder()
			var v pool
			if Decode(w, httptest.NewRequest("POST", "/", strings.NewReader(c.body)), &v, 200) {
				t.Fatal("was accepted")
			}
			var d Document
			if err := json.Unmarshal(w.Body.Bytes(), &d); err != nil {
				t.Fatalf("%v: %s", err, w.Body)
			}
			if w.Code != c.status || d.Status != c.status || d.Code != c.code || d.Detail == "" {
				t.Fatalf("status %d, %+v", w.Code, d)
			}
			if got := w.Header().Get("Content-Type"); got != "application/problem+json" {
				t.Fatalf("content type %q", got)
			}
			if c.path != "" && (len(d.Errors) != 1 || d.Errors[0].Path != c.path) {
				t.Fatalf("errors %+v", d.Errors)
			}
		})
	}
}

func TestDecodeAccepts(t *testing.T) {
	var v pool
	w := httptest.NewRecorder()
	r := httptest.NewRequest("POST", "/", strings.NewReader(" {\"name\":\"tank\",\"vdevs\":[{\"type\":\"mirror\"}]}\n"))
	if !Decode(w, r, &v, 200) || v.Name != "tank" || v.Vdevs[0].Type != "mirror" || w.Body.Len() != 0 {
		t.Fatalf("%+v %s", v, w.Body)
	}
}

func TestWrite(t *testing.T) {
	w := httptest.NewRecorder()
	Write(w, http.StatusConflict, "pool_exists", "The pool tank exists already.", "Choose another name.", Field{"name", "is taken"})
	want := `{"type":"about:blank","title":"Conflict","status":409,"code":"pool_exists","detail":"The pool tank exists already.","action":"Choose another name.","errors":[{"path":"name","message":"is taken"}]}` + "\n"
	if w.Code != 409 || w.Body.String() != want {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
}
