// ovf reads a description of a virtual machine (OVF, DMTF DSP0243) from its standard input, with the reader that VMware's own
// command line has, and prints as JSON what that makes of it. It is a module of its own, so that what it needs is no part of the product.
package main

import (
	"encoding/json"
	"fmt"
	"os"

	"github.com/vmware/govmomi/ovf"
)

func main() {
	envelope, err := ovf.Unmarshal(os.Stdin)
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(envelope)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "ovf:", err)
		os.Exit(1)
	}
}
