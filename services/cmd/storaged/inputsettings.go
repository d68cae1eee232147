package main

// GET and PUT /admin/inputs: which inputs are on, from which networks they take samples and how many new series, while storaged
// runs. What akd has set is kept beside the data and counts more than the file of settings.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"cistern/services/daemon/problem"
	"cistern/services/ingest/collectd"
	"cistern/services/ingest/graphite"
	"cistern/services/ingest/lines"
	"cistern/services/ingest/otlp"
	"cistern/services/ingest/senders"
	"cistern/services/ingest/statsd"
	"cistern/services/ingest/tlsport"
	"cistern/services/platform/vfs"
)

const (
	inputsFile = "inputs.json" // in the folder of the telemetry dataset
	// inputsVersion is that file's. Version 1 had no ports, and no ownByDefault; version 2 no TLS; version 3 nothing of single senders.
	inputsVersion = 4
	maxInputsBody = 1 << 20
	// maxNetworks is how many an input may be kept to.
	maxNetworks = 100
)

// inputSettings are what can be set of an input.
type inputSettings struct {
	Enabled               bool      `json:"enabled"`
	Networks              []network `json:"networks"`
	SeriesPerSecond       int       `json:"seriesPerSecond"`
	SeriesBurst           int       `json:"seriesBurst"`
	SenderSeriesPerSecond int       `json:"senderSeriesPerSecond"`
	SenderSeriesBurst     int       `json:"senderSeriesBurst"`
	// Left out in what was kept before there was such a limit: there is none.
	SenderSamplesPerSecond int `json:"senderSamplesPerSecond"`
	// Port is that of its sockets, and PicklePort that of Graphite's pickle; nil: as in the file of settings.
	Port       *int `json:"port,omitempty"`
	PicklePort *int `json:"picklePort,omitempty"`
	// TLSPort is that of lines by TLS, and TLSClientCA the PEM of those who issue its clients' certificates; "": they need none.
	TLSPort     *int    `json:"tlsPort,omitempty"`
	TLSClientCA *string `json:"tlsClientCa,omitempty"`
	// SenderIsHost, HostNames and RefusedSenders are left out in what was kept before there were such settings.
	SenderIsHost   bool            `json:"senderIsHost,omitempty"`
	HostNames      []hostName      `json:"hostNames,omitempty"`
	RefusedSenders []senders.Place `json:"refusedSenders,omitempty"`
}

// inputList is what akd sets. Inputs that it does not name are as in the file of settings; of these, with OwnByDefault, those
// that ask for no token take only from the machine's own networks, if the file names none. Revision is akd's: by it akd knows
// later what is here.
type inputList struct {
	Version      int                      `json:"version"`
	Revision     string                   `json:"revision"`
	OwnByDefault bool                     `json:"ownByDefault"`
	Inputs       map[string]inputSettings `json:"inputs"`
}

// openToAll are the inputs that ask for no token.
var openToAll = []string{"statsd", "graphite", "collectd", "influx_socket"}

// openInputs is what is open of the inputs; nil when they are off.
type openInputs struct {
	statsd   *statsd.Server
	graphite *graphite.Server
	collectd *collectd.Server
	otlpGRPC *otlp.GRPC
	influx   *lines.Server
}

// addresses are those that an input listens on; none of those over HTTP, and of one that is off.
func (o *openInputs) addresses(name string) []string {
	all := []string{}
	switch {
	case name == "statsd" && o.statsd != nil:
		all = append(all, o.statsd.Addr(), o.statsd.TLSAddr())
	case name == "graphite" && o.graphite != nil:
		all = append(all, o.graphite.Addr(), o.graphite.PickleAddr(), o.graphite.TLSAddr())
	case name == "collectd" && o.collectd != nil:
		all = append(all, o.collectd.Addr())
	case name == "otlp" && o.otlpGRPC != nil:
		all = append(all, o.otlpGRPC.Address().String())
	case name == "influx_socket" && o.influx != nil:
		all = append(all, o.influx.Addr(), o.influx.TLSAddr())
	}
	return slices.DeleteFunc(all, func(address string) bool { return address == "" })
}

// tls is the one of these that speaks TLS; "" when there is none.
func (o *openInputs) tls(name string) string {
	switch {
	case name == "statsd" && o.statsd != nil:
		return o.statsd.TLSAddr()
	case name == "graphite" && o.graphite != nil:
		return o.graphite.TLSAddr()
	case name == "influx_socket" && o.influx != nil:
		return o.influx.TLSAddr()
	}
	return ""
}

// inputSet is the inputs as they run.
type inputSet struct {
	listening atomic.Pointer[openInputs]

	setting sync.Mutex // one change after the other
	list    inputList
	context context.Context
	running map[string]func() // by the input's name: closes it, and returns when it has
	placed  *config           // the settings with what was set of the inputs
	own     *senders.Own
	// identity is who the appliance is to those that send by TLS.
	identity *tlsport.Identity

	current atomic.Pointer[map[string]inputSettings] // of all inputs
}

// opened notes what is open now. The caller holds setting.
func (s *inputSet) opened(change func(l *openInputs)) {
	l := *s.listening.Load()
	change(&l)
	s.listening.Store(&l)
}

func (c *inputConfig) inputSettings() inputSettings {
	return inputSettings{Enabled: c.Enabled, Networks: c.Networks, SeriesPerSecond: c.SeriesPerSecond, SeriesBurst: c.SeriesBurst,
		SenderSeriesPerSecond: c.SenderSeriesPerSecond, SenderSeriesBurst: c.SenderSeriesBurst, SenderSamplesPerSecond: c.SenderSamplesPerSecond}
}

func (i *inputSettings) config() *inputConfig {
	return &inputConfig{Enabled: i.Enabled, Networks: i.Networks, SeriesPerSecond: i.SeriesPerSecond, SeriesBurst: i.SeriesBurst,
		SenderSeriesPerSecond: i.SenderSeriesPerSecond, SenderSeriesBurst: i.SenderSeriesBurst, SenderSamplesPerSecond: i.SenderSamplesPerSecond}
}

// wanted is every input's settings by a list.
func (s *server) wanted(list inputList) map[string]inputSettings {
	all := map[string]inputSettings{}
	for _, in := range inputs {
		one, set := list.Inputs[in.name]
		if !set {
			one = in.settings(s.config).inputSettings()
			if list.OwnByDefault && len(one.Networks) == 0 && slices.Contains(openToAll, in.name) {
				one.Networks = []network{ownNetworks}
			}
		}
		all[in.name] = one
	}
	return all
}

// check says what of a list cannot be.
func (l *inputList) check() error {
	for _, name := range slices.Sorted(maps.Keys(l.Inputs)) {
		one := l.Inputs[name]
		if !slices.ContainsFunc(inputs, func(in input) bool { return in.name == name }) {
			return fmt.Errorf("there is no input %.60q", name)
		}
		if len(one.Networks) > maxNetworks {
			return fmt.Errorf("%s has %d networks, %d is the limit", name, len(one.Networks), maxNetworks)
		}
		if err := errors.Join(one.config().check(name), one.checkPorts(name), one.checkTLS(name), one.checkSingle(name)); err != nil {
			return err
		}
	}
	return nil
}

// checkTLS says what is wrong with whose certificates are asked for.
func (i *inputSettings) checkTLS(name string) error {
	switch {
	case i.TLSClientCA == nil || *i.TLSClientCA == "":
		return nil
	case defaults().tls(name) == nil:
		return fmt.Errorf("%s has no tlsClientCa that could be set", name)
	}
	if err := tlsport.CheckClientCA(*i.TLSClientCA); err != nil {
		return fmt.Errorf("%s.tlsClientCa: %w", name, err)
	}
	return nil
}

// wantsTLS says whether an input is to listen for TLS.
func (c *config) wantsTLS() bool {
	return slices.ContainsFunc(inputs, func(in input) bool {
		t := c.tls(in.name)
		return t != nil && t.TLSAddress != "" && in.settings(c).Enabled
	})
}

// readInputs takes up what was set before.
func (s *server) readInputs() {
	s.listening.Store(&openInputs{})
	s.running = map[string]func(){}
	s.identity = tlsport.NewIdentity(tlsport.Files{Folder: s.config.TLS.Folder, Certificate: s.config.TLS.Certificate, Key: s.config.TLS.Key})
	text, err := os.ReadFile(filepath.Join(s.config.Data, inputsFile))
	var list inputList
	if err == nil {
		err = json.Unmarshal(text, &list)
	}
	if err == nil && (list.Version < 1 || list.Version > inputsVersion) {
		err = fmt.Errorf("its version is %d, which this Cistern does not know", list.Version)
	}
	if err == nil {
		err = list.check()
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		// The management plane sends them again, because the revision is another one.
		s.log.Error("the settings of inputs cannot be read: those of the file hold until the management plane sends them again", "error", err)
	default:
		s.list = list
	}
	all := s.wanted(s.list)
	s.current.Store(&all)
	s.placed = s.config.at(all)
	var unknown error
	if s.own, unknown = senders.NewOwn(); unknown != nil {
		s.ownUnknown(unknown)
	}
}

func (s *server) noCertificate(err error) {
	s.log.Error("the certificate of the TLS ports of inputs cannot be had: who sends by TLS is refused, or shown the one before", "error", err)
}

func (s *server) ownUnknown(err error) {
	s.log.Warn("the machine's own networks cannot be read: inputs that are kept to them take from those that were known", "error", err)
}

// openSenders makes the senders of all inputs.
func (s *server) openSenders() map[string]*senders.Input {
	all := map[string]*senders.Input{}
	for name, one := range *s.current.Load() {
		all[name] = senders.New(name, one.senders(s.own))
		all[name].Switch(one.Enabled)
	}
	return all
}

// startInputs opens all that are on and serves them until ctx ends.
func (s *server) startInputs(ctx context.Context) error {
	s.setting.Lock()
	defer s.setting.Unlock()
	s.context = ctx
	s.input(func() { s.own.Watch(ctx, s.ownUnknown) })
	if s.placed.wantsTLS() {
		if err := s.identity.Ready(); err != nil { // all else goes on
			s.noCertificate(err)
		}
	}
	s.input(func() {
		s.identity.Watch(ctx, func(now tlsport.Status) {
			s.log.Warn("the TLS ports of inputs have another certificate: clients that trust the one before must be given this one", "sha256", now.SHA256, "reason", now.Because)
		}, s.noCertificate)
	})
	for _, in := range inputs {
		if (*s.current.Load())[in.name].Enabled {
			if err := s.open(in); err != nil {
				return err
			}
		}
	}
	return nil
}

// open opens an input's sockets, if it has any. The caller holds setting.
func (s *server) open(in input) error {
	if in.listen == nil {
		return nil
	}
	serve, err := in.listen(s, s.placed)
	if err != nil {
		return inputFailed(in.name, err)
	}
	ctx, cancel := context.WithCancel(s.context)
	done := make(chan struct{})
	s.input(func() {
		defer close(done)
		serve(ctx)
	})
	s.running[in.name] = func() {
		cancel()
		<-done
		s.opened(in.closed)
		delete(s.running, in.name)
	}
	return nil
}

func (s *server) inputRoutes(c *config, mux *routeTable) {
	for _, in := range inputs {
		if in.register == nil {
			continue
		}
		own := http.NewServeMux()
		in.register(s, c, own)
		handler := s.notOwn(s.senders[in.name].Handler(s.store, own))
		for _, pattern := range in.patterns {
			mux.Handle(pattern, handler)
		}
	}
}

// setInputs makes the inputs run by a list, and keeps it. When one cannot be opened nothing has changed.
func (s *server) setInputs(list inputList) error {
	s.setting.Lock()
	defer s.setting.Unlock()
	if s.context.Err() != nil {
		return errors.New("storaged is stopping")
	}
	list.Version = inputsVersion
	before, after := *s.current.Load(), s.wanted(list)
	if err := s.mayBe(before, after); err != nil {
		return err
	}
	if err := s.switchInputs(after); err != nil {
		return errors.Join(err, s.switchInputs(before))
	}
	text, err := json.Marshal(list)
	if err == nil {
		err = vfs.Replace(vfs.OS, s.config.Data, filepath.Join(s.config.Data, inputsFile), text)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("the settings of inputs cannot be kept: %w", err), s.switchInputs(before))
	}
	s.list = list
	return nil
}

// mayBe says why inputs cannot be as after has them, before anything is changed: ports are tried. The caller holds setting.
func (s *server) mayBe(before, after map[string]inputSettings) error {
	next := s.config.at(after)
	if err := next.apart(); err != nil {
		return err
	}
	if next.wantsTLS() {
		if err := s.identity.Ready(); err != nil {
			return err
		}
	}
	mine := map[string]bool{}
	for _, in := range inputs {
		if s.running[in.name] != nil {
			for address := range strings.FieldsSeq(s.placed.places(in.name)) {
				if _, number, _ := net.SplitHostPort(address); number != "0" {
					mine[number] = true
				}
			}
		}
	}
	for _, in := range inputs {
		if after[in.name].Enabled && before[in.name].Enabled && next.places(in.name) != s.placed.places(in.name) {
			if err := next.free(in.name, mine); err != nil {
				return err
			}
		}
	}
	return nil
}

// switchInputs goes from what is to what shall be. Those that are closed come first: another one may want their port. One that moves to
// another port is closed as well: what it has, as statsd's totals of this second, is stored before its successor begins.
func (s *server) switchInputs(after map[string]inputSettings) error {
	next := s.config.at(after)
	for _, in := range inputs {
		one := after[in.name]
		s.senders[in.name].Set(one.senders(s.own))
		s.senders[in.name].Switch(one.Enabled)
		if closeIt := s.running[in.name]; closeIt != nil && (!one.Enabled || next.doors(in.name) != s.placed.doors(in.name)) {
			closeIt()
		}
	}
	s.current.Store(&after)
	s.placed = next
	for _, in := range inputs {
		if after[in.name].Enabled && s.running[in.name] == nil {
			if err := s.open(in); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *server) getInputs(w http.ResponseWriter, _ *http.Request) {
	s.setting.Lock()
	revision := s.list.Revision
	s.setting.Unlock()
	own := s.own.Networks()
	writeJSON(w, map[string]any{"revision": revision, "own": own, "inputs": s.inputStatus(), "tls": s.identity.Status()})
}

// renewCertificate makes another certificate for the TLS ports.
func (s *server) renewCertificate(w http.ResponseWriter, r *http.Request) {
	s.setting.Lock()
	wanted := s.placed.wantsTLS()
	s.setting.Unlock()
	if !wanted {
		problem.Write(w, http.StatusConflict, "conflict", "No input listens for TLS, so there is no certificate that could be replaced.", "Give an input a port for TLS first.")
		return
	}
	if err := s.identity.Renew(); err != nil {
		s.noCertificate(err)
		problem.Write(w, http.StatusConflict, "conflict", "The certificate stays as it was: "+err.Error()+".", "See who owns the file, and whether there is room.")
		return
	}
	s.log.Info("the TLS ports of inputs have another certificate", "sha256", s.identity.Status().SHA256)
	s.getInputs(w, r)
}

func (s *server) putInputs(w http.ResponseWriter, r *http.Request) {
	var list inputList
	decoder := json.NewDecoder(io.LimitReader(r.Body, maxInputsBody))
	decoder.DisallowUnknownFields()
	err := decoder.Decode(&list)
	if err == nil {
		err = list.check()
	}
	if err != nil {
		problem.Write(w, http.StatusBadRequest, "invalid_request", "The settings of inputs cannot be taken: "+err.Error()+".", "docs/api/store.md has the form.")
		return
	}
	if err := s.setInputs(list); err != nil {
		problem.Write(w, http.StatusConflict, "conflict", "The inputs stay as they were: "+err.Error()+".", "See what else uses the port, and whether the pool has room.")
		return
	}
	s.getInputs(w, r)
}
