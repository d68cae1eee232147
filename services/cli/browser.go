package cli

// Signing in by a link that is opened in a browser, on this machine or another: with a passkey, or whatever else the page takes
// (appliance-kit/src/access/sign-in-requests, after RFC 8628).

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"
)

// pollUnit is a second, except in tests.
var pollUnit = time.Second

func signInByBrowser(ctx context.Context, s Streams, o Options) error {
	c := o.client()
	c.session.Cookie, c.token = "", ""
	host, err := os.Hostname()
	if err != nil || host == "" {
		host = "an unknown machine"
	}
	var started struct {
		Secret, Code, Path  string
		CollectEverySeconds int
	}
	if err := c.post(ctx, "/api/sign-in-requests/start", map[string]string{"program": "cistern on " + host}, &started); err != nil {
		return err
	}
	// On the appliance itself the page's name is not known here.
	page := c.session.URL
	if page == "" {
		page = "https://THIS-APPLIANCE"
	}
	fmt.Fprintf(s.Err, "Open %s%s in a browser, and compare the code: %s\nWaiting …\n", page, started.Path, started.Code)
	every := time.Duration(max(1, started.CollectEverySeconds)) * pollUnit
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(every):
		}
		var became struct{ State, User string }
		if err := c.post(ctx, "/api/sign-in-requests/collect", map[string]string{"secret": started.Secret}, &became); err != nil {
			return err
		}
		switch became.State {
		case "waiting":
		case "approved":
			if c.session.Cookie == "" {
				return errors.New("the appliance has approved it, and gave no session")
			}
			if err := o.save(c.session); err != nil {
				return err
			}
			fmt.Fprintf(s.Err, "Signed in as %s. “cistern sign-out” ends it.\n", became.User)
			return nil
		default:
			return errors.New("it was refused in the browser")
		}
	}
}

// post sends a body, and reads the answer into value and its session into c.
func (c *client) post(ctx context.Context, path string, body, value any) error {
	response, err := c.do(ctx, http.MethodPost, path, nil, nil, body)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	c.takeCookie(response)
	if err := json.NewDecoder(io.LimitReader(response.Body, 1<<20)).Decode(value); err != nil {
		return fmt.Errorf("the answer cannot be read: %w", err)
	}
	return nil
}

// directory is the id of a directory by the name that the page of sign-in shows.
func (c *client) directory(ctx context.Context, name string) (string, error) {
	var offered struct {
		Items []struct{ ID, Name, Kind string }
	}
	if err := c.get(ctx, "/api/offered-providers", &offered); err != nil {
		return "", err
	}
	known := []string{}
	for _, one := range offered.Items {
		if strings.EqualFold(one.Name, name) {
			if one.Kind != "ldap" {
				return "", usage("%s asks in a browser: “cistern sign-in --browser”", one.Name)
			}
			return one.ID, nil
		}
		if one.Kind == "ldap" {
			known = append(known, one.Name)
		}
	}
	if len(known) == 0 {
		return "", usage("there is no directory %s, nor any other: leave --directory out", name)
	}
	return "", usage("there is no directory %s, but %s", name, strings.Join(known, ", "))
}
