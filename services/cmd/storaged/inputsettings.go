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
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"

	"cistern/services/daemon/problem"
	"cistern/services/ingest/collectd"
	"cistern/services/ingest/graphite"
	"cistern/services/ingest/lines"
	"cistern/services/ingest/otlp"
	"cistern/services/ingest/senders"
	"cistern/services/ingest/statsd"
	"cistern/services/platform/vfs"
)

const (
	inputsFile = "inputs.json" // in the folder of the telemetry dataset
	// inputsVersion is that file's.
	inputsVersion = 1
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
}

// inputList is what akd sets. Inputs that it does not name are as in the file of settings. Revision is akd's: by it akd knows
// later what is here.
type inputList struct {
	Version  int                      `json:"version"`
	Revision string                   `json:"revision"`
	Inputs   map[string]inputSettings `json:"inputs"`
}

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
		all = append(all, o.statsd.Addr())
	case name == "graphite" && o.graphite != nil:
		all = append(all, o.graphite.Addr(), o.graphite.PickleAddr())
	case name == "collectd" && o.collectd != nil:
		all = append(all, o.collectd.Addr())
	case name == "otlp" && o.otlpGRPC != nil:
		all = append(all, o.otlpGRPC.Address().String())
	case name == "influx_socket" && o.influx != nil:
		all = append(all, o.influx.Addr())
	}
	return slices.DeleteFunc(all, func(address string) bool { return address == "" })
}

// inputSet is the inputs as they run.
type inputSet struct {
	listening atomic.Pointer[openInputs]

	setting sync.Mutex // one change after the other
	list    inputList
	context context.Context
	running map[string]func() // by the input's name: closes it, and returns when it has

	current atomic.Pointer[map[string]inputSettings] // of all inputs
}

// opened notes what is open now. The caller holds setting.
func (s *inputSet) opened(change func(l *openInputs)) {
	l := *s.listening.Load()
	change(&l)
	s.listening.Store(&l)
}

func (c *inputConfig) inputSettings() inputSettings {
	return inputSettings{c.Enabled, c.Networks, c.SeriesPerSecond, c.SeriesBurst, c.SenderSeriesPerSecond, c.SenderSeriesBurst}
}

func (i *inputSettings) config() *inputConfig {
	return &inputConfig{Enabled: i.Enabled, Networks: i.Networks, SeriesPerSecond: i.SeriesPerSecond, SeriesBurst: i.SeriesBurst,
		SenderSeriesPerSecond: i.SenderSeriesPerSecond, SenderSeriesBurst: i.SenderSeriesBurst}
}

func (i *inputSettings) senders() senders.Options { return i.config().senders() }

// wanted is every input's settings by a list.
func (s *server) wanted(list inputList) map[string]inputSettings {
	all := map[string]inputSettings{}
	for _, in := range inputs {
		one, set := list.Inputs[in.name]
		if !set {
			one = in.settings(s.config).inputSettings()
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
		if err := one.config().check(name); err != nil {
			return err
		}
	}
	return nil
}

// readInputs takes up what was set before.
func (s *server) readInputs() {
	s.listening.Store(&openInputs{})
	s.running = map[string]func(){}
	text, err := os.ReadFile(filepath.Join(s.config.Data, inputsFile))
	var list inputList
	if err == nil {
		err = json.Unmarshal(text, &list)
	}
	if err == nil && list.Version != inputsVersion {
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
}

// openSenders makes the senders of all inputs.
func (s *server) openSenders() map[string]*senders.Input {
	all := map[string]*senders.Input{}
	for name, one := range *s.current.Load() {
		all[name] = senders.New(name, one.senders())
		all[name].Switch(one.Enabled)
	}
	return all
}

// startInputs opens all that are on and serves them until ctx ends.
func (s *server) startInputs(ctx context.Context) error {
	s.setting.Lock()
	defer s.setting.Unlock()
	s.context = ctx
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
	serve, err := in.listen(s, s.config)
	if err != nil {
		return err
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
	if err := s.switchInputs(before, after); err != nil {
		return errors.Join(err, s.switchInputs(after, before))
	}
	text, err := json.Marshal(list)
	if err == nil {
		err = vfs.Replace(vfs.OS, s.config.Data, filepath.Join(s.config.Data, inputsFile), text)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("the settings of inputs cannot be kept: %w", err), s.switchInputs(after, before))
	}
	s.list = list
	return nil
}

// switchInputs goes from one to the other. Those that are closed come first: another one may want their port.
func (s *server) switchInputs(before, after map[string]inputSettings) error {
	for _, in := range inputs {
		one := after[in.name]
		s.senders[in.name].Set(one.senders())
		s.senders[in.name].Switch(one.Enabled)
		if closeIt := s.running[in.name]; closeIt != nil && !one.Enabled {
			closeIt()
		}
	}
	s.current.Store(&after)
	for _, in := range inputs {
		if after[in.name].Enabled && !before[in.name].Enabled && s.running[in.name] == nil {
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
	writeJSON(w, map[string]any{"revision": revision, "inputs": s.inputStatus()})
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
