// Package problem writes the errors of Cistern's HTTP services as RFC 9457 problem documents, and reads strict JSON
// bodies, so that a client sees the same shape and the same codes whichever process answered.
package problem

import (
	"encoding/json"
	"net/http"
)

// Field is one entry of errors: where in the request (a JSON path such as "vdevs[0].type", or a query parameter's
// name) and what is wrong there.
type Field struct {
	Path    string `json:"path"`
	Message string `json:"message"`
}

// Document is the body of every error. Code is stable and snake_case: clients decide by it. Detail says what was tried
// on what; Action says what the reader can do, and may be empty.
type Document struct {
	Type   string  `json:"type"`
	Title  string  `json:"title"`
	Status int     `json:"status"`
	Code   string  `json:"code"`
	Detail string  `json:"detail"`
	Action string  `json:"action,omitempty"`
	Errors []Field `json:"errors,omitempty"`
}

// New makes a document without sending it.
func New(status int, code, detail, action string, fields ...Field) Document {
	return Document{
		Type: "about:blank", Title: http.StatusText(status), Status: status,
		Code: code, Detail: detail, Action: action, Errors: fields,
	}
}

// Error makes a Document usable as an error: made once where the fact is known, wrapped on the way up.
func (d Document) Error() string { return d.Code + ": " + d.Detail }

// Send writes the document as the whole answer.
func (d Document) Send(w http.ResponseWriter) {
	body, err := json.Marshal(d)
	if err != nil { // only strings and numbers: cannot happen, but never answer an empty 200
		http.Error(w, d.Detail, d.Status)
		return
	}
	w.Header().Set("Content-Type", "application/problem+json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(d.Status)
	_, _ = w.Write(append(body, '\n'))
}

// Write answers a request with a problem document.
func Write(w http.ResponseWriter, status int, code, detail, action string, fields ...Field) {
	New(status, code, detail, action, fields...).Send(w)
}
