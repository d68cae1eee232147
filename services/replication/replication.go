// Package replication pushes snapshots of ZFS datasets to another place: a dataset of this machine, another Cistern, or any
// machine with ZFS that is reached by SSH.
//
// # What it promises
//
// Nothing at the target is ever destroyed, rolled back or overwritten: `zfs receive` is never given -F. What was written
// there meanwhile, or does not come from here, ends the replication with a sentence about it. What was received before an
// interruption is kept there (`receive -s`), and the next attempt goes on from it. A target is read-only (readonly=on) and
// not mounted by the receive (-u). Encrypted datasets are sent as they are on the disk (-w): the target needs no key, and
// gets none.
//
// # How one snapshot gets there (Send)
//
//  1. The target is asked for its resume token. With one, what it belongs to is finished first.
//  2. The newest snapshot that both have, by guid, is where the increment begins: however long the target was away, and
//     whatever either side called it. It must be the target's newest one; ZFS would have to roll back otherwise.
//  3. Without a target dataset everything is sent; with one that shares no snapshot nothing is.
//
// # What runs where
//
// Here `zfs send`, there `zfs list`, `zfs get` and `zfs receive`, as their manual pages describe them (zfs-send(8),
// zfs-receive(8)). Neither needs root: the user has the permissions that `zfs allow` gave it on the dataset in question.
package replication

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"cistern/services/daemon/problem"
	"cistern/services/platform/command"
)

// Place is where a replication goes: zfs is run there.
type Place interface {
	// ZFS runs `zfs ARGUMENTS…` and returns what it printed. input may be nil. The error is a *Refusal when the command
	// ran and failed, anything else when the place could not be reached any more.
	ZFS(ctx context.Context, input io.Reader, arguments ...string) (string, error)
	Close() error
}

// Refusal is what zfs said when it failed.
type Refusal struct{ Said string }

func (r *Refusal) Error() string { return "zfs says: " + r.Said }

const maxListed = 64 << 20 // bytes: a name has 255 at most, so a quarter of a million snapshots

// Here is this machine.
type Here struct{}

// ZFS runs it with an argument list.
func (Here) ZFS(ctx context.Context, input io.Reader, arguments ...string) (string, error) {
	argv := append([]string{"zfs"}, arguments...)
	var out bytes.Buffer
	var err error
	if input == nil {
		var done command.Result
		done, err = command.Run(ctx, time.Minute, maxListed, argv...)
		out.Write(done.Stdout)
	} else {
		_, err = command.Through(ctx, input, maxListed, &out, argv...)
	}
	var failed *command.Error
	if errors.As(err, &failed) && failed.Code >= 0 {
		return out.String(), &Refusal{failed.Said}
	}
	return out.String(), err
}

// Close has nothing to do.
func (Here) Close() error { return nil }

// Snapshot is one of a dataset; two with the same GUID hold the same data, whatever they are called.
type Snapshot struct {
	Name string `json:"name"` // behind the @
	GUID string `json:"guid"`
}

// Look is what there is at a place under a name.
type Look struct {
	Exists      bool       `json:"exists"`
	Type        string     `json:"type,omitempty"` // filesystem or volume
	ResumeToken string     `json:"-"`
	Partial     bool       `json:"partial"` // an interrupted receive can be gone on with
	Snapshots   []Snapshot `json:"snapshots"`
}

const lookProperties = "type,receive_resume_token"

// LookAt asks a place for a dataset.
func LookAt(ctx context.Context, place Place, dataset string) (Look, error) {
	found := Look{Snapshots: []Snapshot{}}
	text, err := place.ZFS(ctx, nil, "get", "-Hp", "-o", "property,value", lookProperties, dataset)
	if err != nil {
		if refused := (*Refusal)(nil); errors.As(err, &refused) && strings.Contains(refused.Said, "does not exist") {
			return found, nil
		}
		return found, err
	}
	found.Exists = true
	for line := range strings.Lines(text) {
		property, value, _ := strings.Cut(strings.TrimRight(line, "\n"), "\t")
		switch {
		case property == "type":
			found.Type = value
		case property == "receive_resume_token" && value != "-" && value != "":
			found.ResumeToken, found.Partial = value, true
		}
	}
	found.Snapshots, err = snapshotsOf(ctx, place, dataset)
	return found, err
}

// snapshotsOf lists a dataset's snapshots, the oldest first.
func snapshotsOf(ctx context.Context, place Place, dataset string) ([]Snapshot, error) {
	text, err := place.ZFS(ctx, nil, "list", "-Hp", "-t", "snapshot", "-d", "1", "-s", "createtxg", "-o", "name,guid", dataset)
	if err != nil {
		return nil, err
	}
	found := []Snapshot{}
	for line := range strings.Lines(text) {
		name, guid, _ := strings.Cut(strings.TrimRight(line, "\n"), "\t")
		if _, own, ok := strings.Cut(name, "@"); ok {
			found = append(found, Snapshot{own, guid})
		}
	}
	return found, nil
}

// Order is what Send is to do.
type Order struct {
	Dataset        string // here
	Snapshot       string // behind the @
	Target         string // the dataset there
	Intermediate   bool   // also the snapshots between the last one there and this one
	BytesPerSecond int64  // 0: as fast as it goes
}

// Progress is reported about once a second.
type Progress struct {
	Phase string `json:"phase"`           // looking, sending, resuming
	Text  string `json:"text"`            // in words
	Sent  int64  `json:"sent"`            // bytes of this attempt
	Total int64  `json:"total,omitempty"` // ZFS' own estimate of what this attempt sends; 0 when there is none
}

// Sent is what Send did.
type Sent struct {
	Bytes   int64  `json:"bytes"`   // that went over the wire
	From    string `json:"from"`    // the snapshot that the increment began at; "" when everything was sent
	Resumed bool   `json:"resumed"` // something interrupted was finished first
	Nothing bool   `json:"nothing"` // it was there already
}

// stall is how long a target may take nothing before the attempt is ended: longer than a pool that is resilvering
// makes one wait, and much shorter than TCP's own patience.
const stall = 5 * time.Minute

// Send brings one snapshot to the target. Its errors are problem documents that say what hinders; what has arrived is
// kept, and a next Send goes on there.
func Send(ctx context.Context, place Place, order Order, tell func(Progress)) (Sent, error) {
	var done Sent
	here := Here{}
	tell(Progress{Phase: "looking", Text: "Looking for the newest snapshot that both sides have"})
	text, err := here.ZFS(ctx, nil, "get", "-Hp", "-o", "value", "encryption", order.Dataset)
	if err != nil {
		return done, inWords(err, order)
	}
	flags := "-Lec"
	if strings.TrimSpace(text) != "off" && strings.TrimSpace(text) != "-" {
		flags = "-w"
	}
	// Each turn brings one stream there: what was interrupted, the oldest snapshot, the increment.
	for turn := 0; ; turn++ {
		if turn == 4 {
			return done, problem.New(http.StatusBadGateway, "replication_failed", fmt.Sprintf("'%s' took every stream and still lacks the snapshot.", order.Target), "Look at the target's snapshots and its log.")
		}
		there, err := LookAt(ctx, place, order.Target)
		if err != nil {
			return done, inWords(err, order)
		}
		if there.ResumeToken != "" {
			if err := stream(ctx, place, order, &done, Progress{Phase: "resuming", Text: "Going on where it was interrupted"}, tell, "-t", there.ResumeToken); err != nil {
				return done, err
			}
			done.Resumed = true
			continue
		}
		ours, err := snapshotsOf(ctx, here, order.Dataset)
		if err != nil {
			return done, inWords(err, order)
		}
		last := slices.IndexFunc(ours, func(s Snapshot) bool { return s.Name == order.Snapshot })
		if last < 0 {
			return done, problem.New(http.StatusConflict, "source_gone", fmt.Sprintf("The snapshot '%s@%s' is gone.", order.Dataset, order.Snapshot), "The next run takes another one.")
		}
		from, err := newestCommon(ours[:last+1], there, order)
		if err != nil {
			return done, err
		}
		snapshot := order.Dataset + "@" + order.Snapshot
		switch {
		case from == order.Snapshot:
			done.Nothing = done.Bytes == 0
			return done, nil
		case from != "":
			step := "-i"
			if order.Intermediate {
				step = "-I"
			}
			done.From = from
			err = stream(ctx, place, order, &done, Progress{Phase: "sending", Text: fmt.Sprintf("Sending what changed since “%s”", from)}, tell, flags, step, "@"+from, snapshot)
		case order.Intermediate && last > 0:
			// History first: the rest comes as an increment from it.
			oldest := order.Dataset + "@" + ours[0].Name
			err = stream(ctx, place, order, &done, Progress{Phase: "sending", Text: fmt.Sprintf("Sending everything there was in “%s”", ours[0].Name)}, tell, flags, oldest)
		default:
			err = stream(ctx, place, order, &done, Progress{Phase: "sending", Text: "Sending everything"}, tell, flags, snapshot)
		}
		if err != nil {
			return done, err
		}
	}
}

// newestCommon is the name of our newest snapshot that is the target's newest one, "" when there is no target yet.
func newestCommon(ours []Snapshot, there Look, order Order) (string, error) {
	if !there.Exists {
		return "", nil
	}
	theirs := map[string]int{}
	for i, s := range there.Snapshots {
		theirs[s.GUID] = i
	}
	for _, s := range slices.Backward(ours) {
		at, shared := theirs[s.GUID]
		if !shared {
			continue
		}
		newer := there.Snapshots[at+1:]
		if len(newer) == 0 {
			return s.Name, nil
		}
		names := make([]string, 0, 3)
		for _, one := range newer[:min(3, len(newer))] {
			names = append(names, "“"+one.Name+"”")
		}
		return "", problem.New(http.StatusConflict, "target_diverged",
			fmt.Sprintf("The target '%s' has %d newer snapshots that are not from here (%s), so an increment does not fit.", order.Target, len(newer), strings.Join(names, ", ")),
			fmt.Sprintf("Nothing was changed there. Destroy them at the target, newest first, back to “%s”; or replicate to another name.", there.Snapshots[at].Name))
	}
	return "", problem.New(http.StatusConflict, "no_common_snapshot",
		fmt.Sprintf("'%s' exists at the target and has no snapshot in common with '%s'.", order.Target, order.Dataset),
		"Nothing was changed there. Choose a target that does not exist yet; or rename the one there, so that everything is sent again.")
}

// stream runs one `zfs send ARGUMENTS…` into a `zfs receive` at the place.
func stream(ctx context.Context, place Place, order Order, done *Sent, progress Progress, tell func(Progress), arguments ...string) error {
	dry, err := Here{}.ZFS(ctx, nil, append([]string{"send", "-nvP"}, arguments...)...)
	if err != nil {
		return inWords(err, order)
	}
	progress.Total = estimated(dry)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	read, write := io.Pipe()
	var count, slow atomic.Int64
	slow.Store(time.Now().UnixNano())
	sending := make(chan error, 1)
	go func() {
		_, err := command.Through(ctx, nil, 1<<62, write, append([]string{"zfs", "send"}, arguments...)...)
		// What zfs could not send must not look like the end of a stream.
		write.CloseWithError(errOr(err, io.EOF))
		sending <- err
	}()
	counted := &meter{r: bufio.NewReaderSize(read, 256<<10), count: &count, moved: &slow, ctx: ctx}
	if order.BytesPerSecond > 0 {
		counted.limit = rate.NewLimiter(rate.Limit(order.BytesPerSecond), burst(order.BytesPerSecond))
	}
	before := done.Bytes
	told := make(chan struct{})
	go func() {
		defer close(told)
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				progress.Sent = before + count.Load()
				tell(progress)
				if order.BytesPerSecond == 0 && time.Since(time.Unix(0, slow.Load())) > stall {
					cancel(errStalled)
					return
				}
			}
		}
	}()
	tell(progress)
	_, receiving := place.ZFS(ctx, counted, "receive", "-s", "-u", "-o", "readonly=on", order.Target)
	read.CloseWithError(io.ErrClosedPipe)
	cause := context.Cause(ctx)
	if receiving != nil {
		cancel(nil)
	}
	sent := <-sending
	cancel(nil)
	<-told
	done.Bytes = before + count.Load()
	progress.Sent = done.Bytes
	tell(progress)
	switch {
	case errors.Is(cause, errStalled):
		return problem.New(http.StatusGatewayTimeout, "interrupted", fmt.Sprintf("The target took nothing for %s.", stall), "What has arrived is kept there; the next run goes on from it.")
	case cause != nil:
		return problem.New(http.StatusConflict, "cancelled", "It was cancelled.", "What has arrived is kept at the target; the next run goes on from it.")
	case receiving != nil:
		// The end of one side makes the other fail too: with a broken pipe here, or there for want of input. Whoever has
		// something else to say began it.
		var there *Refusal
		var ours *command.Error
		if errors.As(receiving, &there) && strings.Contains(there.Said, "failed to read from stream") && errors.As(sent, &ours) && ours.Code >= 0 {
			return inWords(sent, order)
		}
		return inWords(receiving, order)
	case sent != nil:
		return inWords(sent, order)
	}
	return nil
}

var errStalled = errors.New("stalled")

func errOr(err, otherwise error) error {
	if err != nil {
		return err
	}
	return otherwise
}

// burst is what a limited stream may send at once: a tenth of a second's bytes, but no less than one read.
func burst(bytesPerSecond int64) int { return int(min(max(bytesPerSecond/10, 64<<10), 16<<20)) }

// meter counts what passes, and holds it up to a rate.
type meter struct {
	r            io.Reader
	ctx          context.Context
	limit        *rate.Limiter
	count, moved *atomic.Int64
}

func (m *meter) Read(p []byte) (int, error) {
	if m.limit != nil && len(p) > m.limit.Burst() {
		p = p[:m.limit.Burst()]
	}
	n, err := m.r.Read(p)
	m.count.Add(int64(n))
	m.moved.Store(time.Now().UnixNano())
	if n > 0 && m.limit != nil {
		if waited := m.limit.WaitN(m.ctx, n); waited != nil && err == nil {
			err = waited
		}
	}
	return n, err
}

// estimated reads the size out of `zfs send -nvP`, whose last line is "size\tBYTES".
func estimated(text string) int64 {
	for line := range strings.Lines(text) {
		if fields := strings.Fields(line); len(fields) == 2 && fields[0] == "size" {
			n, _ := strconv.ParseInt(fields[1], 10, 64)
			return n
		}
	}
	return 0
}

// inWords makes a problem of what a place or zfs said.
func inWords(err error, order Order) error {
	var document problem.Document
	if errors.As(err, &document) {
		return err
	}
	var refused *Refusal
	var failed *command.Error
	said := ""
	switch {
	case errors.As(err, &refused):
		said = refused.Said
	case errors.As(err, &failed):
		said = failed.Said
	default:
		return problem.New(http.StatusBadGateway, "interrupted", "The connection to the target was lost: "+err.Error()+".", "What has arrived is kept there; the next run goes on from it.")
	}
	has := func(texts ...string) bool {
		return slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(said, text) })
	}
	says := "ZFS says: " + said
	switch {
	case has("has been modified", "does not match incremental source"):
		return problem.New(http.StatusConflict, "target_modified", fmt.Sprintf("The target '%s' was written to since the last replication, so an increment does not fit. %s", order.Target, says),
			"Nothing was changed there. What was written there is lost by `zfs rollback` to its newest snapshot; or replicate to another name.")
	case has("out of space", "No space", "no space", "quota exceeded"):
		return problem.New(http.StatusConflict, "out_of_space", fmt.Sprintf("There is no room for it at the target '%s'. %s", order.Target, says), "Nothing is destroyed there to make room. Make room, or raise its quota; the next run goes on where this one ended.")
	case has("permission denied", "Permission denied"):
		return problem.New(http.StatusConflict, "not_permitted", "The user lacks a permission. "+says, "The user of a machine that is no Cistern needs `zfs allow USER create,mount,receive,readonly PARENT`.")
	case has("cannot resume send"):
		return problem.New(http.StatusConflict, "source_gone", "What the target has received half is gone here, so that it cannot be finished. "+says, fmt.Sprintf("Run `zfs receive -A %s` at the target; the next run begins anew.", order.Target))
	case has("dataset is busy", "is busy"):
		return problem.New(http.StatusConflict, "target_busy", "The target is still taking in an earlier stream, or is in use. "+says, "It is tried again.")
	case has("does not exist"):
		return problem.New(http.StatusConflict, "not_found", says, "The dataset here, or the one that the target lies in, was renamed or destroyed.")
	}
	return problem.New(http.StatusBadGateway, "replication_failed", "The replication failed. "+says, "What has arrived is kept at the target; the next run goes on from it.")
}
