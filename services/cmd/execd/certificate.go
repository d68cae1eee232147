package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"syscall"

	"cistern/services/daemon/problem"
	"cistern/services/execd/certificate"
)

// certificateVerb carries out one of the verbs tls.* in a folder of the caller's, and ends: for the simulated machine, whose certificates
// are then looked at by the same code. What the verb takes is read, and what it answers written, as the socket has it.
func certificateVerb(arguments []string) int {
	flags := flag.NewFlagSet("execd --certificate", flag.ExitOnError)
	folder := flags.String("folder", "", "the `folder` with cert.pem and key.pem")
	pidFile := flags.String("nginx-pid", "", "the web server's pid `file`; without it nobody is told")
	port := flags.Int("https-port", 443, "the `port` on which it answers")
	hostName := flags.String("host-name", "", "the machine's `name`")
	_ = flags.Parse(arguments) // it ends the process when it fails
	keeper := &certificate.Keeper{
		Folder: *folder, Names: func() []string { return []string{*hostName} },
		Reload: func(context.Context) error { return hangUp(*pidFile) },
		Probe: func(ctx context.Context, fingerprint string) error {
			if *pidFile == "" {
				return nil
			}
			return certificate.Probe(ctx, *port, fingerprint)
		},
	}
	answer, err := carryOut(context.Background(), keeper, flags.Arg(0), os.Stdin)
	if err != nil {
		var document problem.Document
		if err = certificate.Problem(err); !errors.As(err, &document) {
			document = problem.New(500, "command_failed", err.Error(), "")
		}
		answer = map[string]any{"problem": document}
	}
	if err := json.NewEncoder(os.Stdout).Encode(answer); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// hangUp is what systemd does when nginx is reloaded.
func hangUp(pidFile string) error {
	if pidFile == "" {
		return nil
	}
	text, err := os.ReadFile(pidFile)
	if err != nil {
		return err
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil || pid <= 1 {
		return fmt.Errorf("%s names no process", pidFile)
	}
	return syscall.Kill(pid, syscall.SIGHUP)
}

func carryOut(ctx context.Context, keeper *certificate.Keeper, verb string, body io.Reader) (any, error) {
	read := json.NewDecoder(body)
	switch verb {
	case "tls.state":
		return keeper.State(), nil
	case "tls.request":
		var wanted certificate.Wanted
		if err := read.Decode(&wanted); err != nil {
			return nil, err
		}
		return keeper.Request(wanted)
	case "tls.check", "tls.install":
		var given certificate.Given
		if err := read.Decode(&given); err != nil {
			return nil, err
		}
		if verb == "tls.check" {
			return keeper.Check(given)
		}
		return keeper.Install(ctx, given)
	case "tls.self-signed":
		var names certificate.Names
		if err := read.Decode(&names); err != nil {
			return nil, err
		}
		return keeper.SelfSigned(ctx, names)
	case "tls.restore":
		return keeper.Restore(ctx)
	}
	return nil, fmt.Errorf("there is no verb %q", verb)
}
