package problem

// Strict JSON bodies: one value, no unknown field, no more than so many bytes. What is refused is answered here, with
// the codes that docs/api/errors.md lists, so that a handler only says `if !problem.Decode(…) { return }`.

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// Decode reads the request's body into v, a pointer. When it returns false the answer has been sent already and v may
// be half filled: use nothing of it.
func Decode(w http.ResponseWriter, r *http.Request, v any, maxBytes int64) bool {
	if err := DecodeReader(http.MaxBytesReader(w, r.Body, maxBytes), v); err != nil {
		var document Document
		if !errors.As(err, &document) {
			document = New(http.StatusBadRequest, "malformed_json", "The request's body could not be read: "+err.Error()+".", "")
		}
		document.Send(w)
		return false
	}
	return true
}

// DecodeReader is Decode for a body that is not an HTTP request's (or was unpacked first). Its error is a Document
// whenever the content is to blame.
func DecodeReader(body io.Reader, v any) error {
	decoder := json.NewDecoder(body)
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(v); err != nil {
		return explain(err)
	}
	// A second value would be dropped silently: refuse it instead.
	if _, err := decoder.Token(); err != io.EOF {
		var tooLarge *http.MaxBytesError
		if errors.As(err, &tooLarge) {
			return explain(err)
		}
		return New(http.StatusBadRequest, "malformed_json", "There is something after the JSON value of the request's body.",
			"Send exactly one JSON value.")
	}
	return nil
}

func explain(err error) error {
	var (
		tooLarge  *http.MaxBytesError
		syntax    *json.SyntaxError
		wrongType *json.UnmarshalTypeError
	)
	switch {
	case errors.As(err, &tooLarge):
		return New(http.StatusRequestEntityTooLarge, "body_too_large",
			fmt.Sprintf("The request's body is larger than %d bytes.", tooLarge.Limit), "Send it in smaller parts.")
	case errors.Is(err, io.EOF):
		return New(http.StatusBadRequest, "malformed_json", "The request has no body; a JSON value is needed.", "")
	case errors.Is(err, io.ErrUnexpectedEOF):
		return New(http.StatusBadRequest, "malformed_json", "The request's body ends in the middle of its JSON.", "")
	case errors.As(err, &syntax):
		return New(http.StatusBadRequest, "malformed_json",
			fmt.Sprintf("The request's body is not JSON: %s, at byte %d.", syntax.Error(), syntax.Offset), "")
	case errors.As(err, &wrongType):
		path := wrongType.Field
		return New(http.StatusBadRequest, "invalid_request",
			fmt.Sprintf("A JSON %s was sent where %s is needed.", wrongType.Value, kind(wrongType.Type.Kind().String())), "",
			Field{Path: path, Message: "must be " + kind(wrongType.Type.Kind().String())})
	}
	// encoding/json has no type for this one: `json: unknown field "x"`.
	if name, ok := strings.CutPrefix(err.Error(), "json: unknown field "); ok {
		name = strings.Trim(name, `"`)
		return New(http.StatusBadRequest, "unknown_field", fmt.Sprintf("The request holds a field %q, which is not known here.", name),
			"Remove it, or correct its spelling.", Field{Path: name, Message: "is not known"})
	}
	// What an UnmarshalJSON of ours said about a value, or a failed read.
	var document Document
	if errors.As(err, &document) {
		return document
	}
	return New(http.StatusBadRequest, "invalid_request", "The request's body was refused: "+err.Error()+".", "")
}

// kind says a Go kind in JSON's words.
func kind(k string) string {
	switch {
	case strings.HasPrefix(k, "int"):
		return "a whole number"
	case strings.HasPrefix(k, "uint"):
		return "a whole number that is not negative"
	case strings.HasPrefix(k, "float"):
		return "a number"
	case k == "bool":
		return "true or false"
	case k == "slice" || k == "array":
		return "an array"
	case k == "struct" || k == "map":
		return "an object"
	}
	return "a " + k
}
