// illumos-command TABLE COMMAND [ARGUMENT]... says for a fake command of the tests what the real one of illumos would say
// before it does anything. Exit code 200: it would begin to work.
package main

import (
	"fmt"
	"os"

	"cistern/services/platform/illumos/commands/fake"
)

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "usage: illumos-command TABLE COMMAND [ARGUMENT]...")
		os.Exit(2)
	}
	os.Exit(fake.Main(os.Args[1], os.Args[2:]))
}
