package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"cistern/services/daemon/problem"
	"cistern/services/execd"
	"cistern/services/execd/host/network"
)

// checkNetwork reads what is to be tried and how the network is, and writes the document in its normal form or what is wrong with it:
// for the simulated machine, whose documents are then looked at by the same code.
func checkNetwork(from io.Reader, to io.Writer) int {
	var given struct {
		Document, Kept network.Document
		Now            network.State
		Isolated       bool
	}
	if err := json.NewDecoder(from).Decode(&given); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	d := given.Document.Normal()
	answer := map[string]any{"document": d}
	var document problem.Document
	if err := execd.CheckNetwork(d, given.Now, given.Kept, given.Isolated); errors.As(err, &document) {
		answer = map[string]any{"problem": document}
	}
	if err := json.NewEncoder(to).Encode(answer); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}
