package certificate

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"time"
)

const (
	probeEvery  = 200 * time.Millisecond
	probeWithin = 20 * time.Second
)

// Probe asks the page of this machine until it answers with the certificate of that fingerprint. The web server may take a moment: those
// processes that had the one before go on until their last answer.
func Probe(ctx context.Context, port int, fingerprint string) error {
	return probe(ctx, port, fingerprint, probeWithin)
}

func probe(ctx context.Context, port int, fingerprint string, within time.Duration) error {
	ctx, stop := context.WithTimeout(ctx, within)
	defer stop()
	ticker := time.NewTicker(probeEvery)
	defer ticker.Stop()
	why := errors.New("nothing answers")
	for {
		if err := ask(ctx, port, fingerprint); err == nil {
			return nil
		} else if ctx.Err() == nil {
			why = err // what it did before the time was over
		}
		select {
		case <-ctx.Done():
			return why
		case <-ticker.C:
		}
	}
}

// errAnother is what is said of the certificate before.
var errAnother = errors.New("it still shows another certificate")

func ask(ctx context.Context, port int, fingerprint string) error {
	transport := &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{
		// Who signed it is of no interest: it must be exactly this one.
		InsecureSkipVerify: true,
		VerifyConnection: func(state tls.ConnectionState) error {
			if Fingerprint(state.PeerCertificates[0].Raw) != fingerprint {
				return errAnother
			}
			return nil
		},
	}}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("https://127.0.0.1:%d/", port), http.NoBody)
	if err != nil {
		return err
	}
	answer, err := client.Do(request)
	if errors.Is(err, errAnother) {
		return errAnother
	}
	if err != nil {
		return err
	}
	return answer.Body.Close()
}
