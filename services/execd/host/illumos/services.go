package illumos

// SMF's services, and the end of them all.

import (
	"context"
	"log/slog"
	"strings"
	"time"

	"cistern/services/platform/command"
)

func fmri(name string) string {
	switch name {
	case "nginx":
		return "svc:/network/cistern/nginx:default"
	case "chrony":
		return "svc:/network/chrony:default"
	}
	return "svc:/application/cistern/" + name + ":default"
}

// clearPatience is how long SMF may take to bring a service out of maintenance; a variable for the tests.
var clearPatience = 20 * time.Second

// Service implements Host. As on Linux, a start and a restart end with a service that runs, whatever it was before; SMF has
// an action for each state, and svcadm restart does nothing, without a word, for a service that does not run.
func (i *Host) Service(ctx context.Context, name, action string) error {
	if action == "stop" {
		return i.svcadm(ctx, name, "disable", "-s")
	}
	state, err := serviceState(ctx, name)
	if err != nil {
		return err
	}
	running := state == "online" || state == "degraded"
	if action == "restart" && running {
		return i.svcadm(ctx, name, "restart")
	}
	if action == "reload" && running {
		return i.svcadm(ctx, name, "refresh")
	}
	if state == "maintenance" || action == "clear" && state == "degraded" {
		if err := i.svcadm(ctx, name, "clear"); err != nil {
			return err
		}
		// SMF does it a moment later, and enable -s fails for what is still in maintenance.
		for end := time.Now().Add(clearPatience); state == "maintenance" && time.Now().Before(end); {
			time.Sleep(100 * time.Millisecond)
			if state, err = serviceState(ctx, name); err != nil {
				return err
			}
		}
	}
	// -s waits, as long as SMF itself does; -r also starts what it depends on.
	return i.svcadm(ctx, name, "enable", "-rs")
}

// svcadm waits for what it has asked for with -s, but not for the end of execd or of the one that asks.
func (i *Host) svcadm(ctx context.Context, name, subcommand string, options ...string) error {
	if name == "execd" || name == "akd" {
		for at, option := range options {
			options[at] = strings.TrimSuffix(option, "s")
		}
	}
	argv := []string{"svcadm", subcommand}
	for _, option := range options {
		if option != "-" {
			argv = append(argv, option)
		}
	}
	_, err := command.Run(ctx, 3*time.Minute, 64<<10, append(argv, fmri(name))...)
	return err
}

// serviceState is what svcs says, without the star that stands behind a state while it changes.
func serviceState(ctx context.Context, name string) (string, error) {
	said, err := command.Run(ctx, 20*time.Second, 4<<10, "svcs", "-H", "-o", "state", fmri(name))
	return strings.TrimSuffix(strings.TrimSpace(string(said.Stdout)), "*"), err
}

// powerPatience is how long an answer waits for init; a variable for the tests.
var powerPatience = 10 * time.Second

// Power implements Host: init's state 6 is a reboot, 5 is off. It waits for bootadm first, which may write the boot archives
// anew and take minutes; whoever ended it then would prevent the reboot. The answer only waits for a refusal.
func (i *Host) Power(ctx context.Context, action string) error {
	level := map[string]string{"reboot": "6", "off": "5"}[action]
	ended := make(chan error, 1)
	go func() {
		_, err := command.Run(context.WithoutCancel(ctx), 30*time.Minute, 4<<10, "init", level)
		if err != nil {
			slog.Error("the machine does not go down", "kind", action, "error", err.Error())
		}
		ended <- err
	}()
	select {
	case err := <-ended:
		return err
	case <-time.After(powerPatience):
		return nil
	}
}
