package certificate

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"cistern/services/platform/vfs"
)

// What is in the folder. The web server reads certFile and keyFile, which lead to pageFile once another certificate was installed: both
// are in one file then, so that one rename changes both.
const (
	certFile = "cert.pem"
	keyFile  = "key.pem"
	pageFile = "page.pem"
	// beforeFile is there while a new one is tried: what is put back.
	beforeFile   = "before.pem"
	previousFile = "previous.pem"
	// requestFile is root's alone.
	requestFile = "request.pem"
	newSuffix   = ".new"
)

// Keeper keeps what the web server shows.
type Keeper struct {
	Folder string
	// Reload has the web server read the files anew.
	Reload func(ctx context.Context) error
	// Probe waits until the page answers with the certificate of this fingerprint, or says what else it did.
	Probe func(ctx context.Context, fingerprint string) error
	// Changed hears that another certificate is in use; nil is nobody.
	Changed func(ctx context.Context)
	// Names are what the machine is called.
	Names func() []string

	mu sync.Mutex
	// For tests: nil is the operating system's, the present, and the system's authorities.
	files vfs.FS
	now   func() time.Time
	roots func() *x509.CertPool
	// disk is what files has no words for; zero is the operating system's.
	disk disk
}

// disk is what a file system has beside vfs.FS.
type disk struct {
	// linked says whether a name leads to pageFile, and link has it do so.
	linked func(path string) bool
	link   func(path string) error
	// permit gives a new file its mode and group before it has its name.
	permit func(path string, mode os.FileMode, group bool) error
}

var systemDisk = disk{
	linked: func(path string) bool {
		target, err := os.Readlink(path)
		return err == nil && target == pageFile
	},
	link: func(path string) error {
		next := path + newSuffix
		if err := os.Remove(next); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
		if err := os.Symlink(pageFile, next); err != nil {
			return err
		}
		return os.Rename(next, path)
	},
	permit: func(path string, mode os.FileMode, group bool) error {
		if group { // the web server's: the folder has it
			info, err := os.Stat(filepath.Dir(path))
			if err != nil {
				return err
			}
			if owner, ok := info.Sys().(*syscall.Stat_t); ok {
				if err := os.Chown(path, -1, int(owner.Gid)); err != nil {
					return err
				}
			}
		}
		return os.Chmod(path, mode)
	},
}

func (k *Keeper) fs() vfs.FS {
	if k.files == nil {
		return vfs.OS
	}
	return k.files
}

func (k *Keeper) onDisk() disk {
	if k.disk.linked == nil {
		return systemDisk
	}
	return k.disk
}

func (k *Keeper) clock() time.Time {
	if k.now == nil {
		return time.Now()
	}
	return k.now()
}

// authorities are those that the system knows; nil: none can be had, and a chain has to end by itself.
func (k *Keeper) authorities() *x509.CertPool {
	if k.roots != nil {
		return k.roots()
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		return nil
	}
	return pool
}

func (k *Keeper) path(name string) string { return filepath.Join(k.Folder, name) }

// State is what is in use, what was before, and what is waited for.
type State struct {
	Current *Certificate `json:"current"`
	// Problem is why nothing is known of the current one; empty when it is.
	Problem  string       `json:"problem"`
	Previous *Certificate `json:"previous"`
	Request  *Request     `json:"request"`
}

// State reads the folder.
func (k *Keeper) State() State {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.state()
}

func (k *Keeper) state() State {
	var state State
	roots := k.authorities()
	if current, _, err := k.current(); err != nil {
		state.Problem = fmt.Sprintf("The certificate of the web page cannot be read: %v.", err)
	} else {
		one := describe(current.certificates, roots, k.clock())
		state.Current = &one
	}
	if text, err := vfs.ReadFile(k.fs(), k.path(previousFile)); err == nil {
		if previous, err := decode(text); err == nil {
			one := describe(previous.certificates, roots, k.clock())
			state.Previous = &one
		}
	}
	state.Request, _ = k.request()
	return state
}

// current is the pair in use, and its text.
func (k *Keeper) current() (parts, []byte, error) {
	if k.onDisk().linked(k.path(certFile)) && k.onDisk().linked(k.path(keyFile)) {
		text, err := vfs.ReadFile(k.fs(), k.path(pageFile))
		if err != nil {
			return parts{}, nil, err
		}
		found, err := decode(text)
		return found, text, err
	}
	var found [2]parts // one may lead to the file that has both already
	for at, name := range []string{certFile, keyFile} {
		text, err := vfs.ReadFile(k.fs(), k.path(name))
		if err == nil {
			found[at], err = readPEM(name, string(text))
		}
		if err != nil {
			return parts{}, nil, err
		}
	}
	if len(found[0].certificates) == 0 || found[1].key == nil {
		return parts{}, nil, fmt.Errorf("%s and %s are not a certificate and its key", certFile, keyFile)
	}
	text, err := encode(found[0].certificates, found[1].key)
	if err != nil {
		return parts{}, nil, err
	}
	both, err := decode(text)
	return both, text, err
}

// request is the one that is waited for, with its key; nil when there is none.
func (k *Keeper) request() (*Request, []ownKey) {
	text, err := vfs.ReadFile(k.fs(), k.path(requestFile))
	if err != nil {
		return nil, nil
	}
	request, key, err := decodeRequest(text)
	if err != nil {
		return nil, nil // damaged: another one can be made
	}
	return request, []ownKey{{KeyOfRequest, key}}
}

// Request makes a key and a signing request of it, in place of one that is waited for.
func (k *Keeper) Request(wanted Wanted) (State, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	text, err := makeRequest(wanted)
	if err == nil {
		err = k.write(requestFile, text, 0o600)
	}
	if err != nil {
		return State{}, err
	}
	return k.state(), nil
}

// Check says what would be installed, and changes nothing.
func (k *Keeper) Check(given Given) (*Checked, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.check(given)
}

func (k *Keeper) check(given Given) (*Checked, error) {
	_, own := k.request()
	if current, _, err := k.current(); err == nil {
		own = append(own, ownKey{KeyInUse, current.key})
	}
	around := surroundings{now: k.clock(), roots: k.authorities(), own: own}
	if k.Names != nil {
		around.names = k.Names()
	}
	return check(given, around)
}

// Install puts a good pair in the place of the one before.
func (k *Keeper) Install(ctx context.Context, given Given) (State, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	checked, err := k.check(given)
	if err == nil {
		err = checked.refused(given.Accept)
	}
	if err != nil {
		return State{}, err
	}
	text, err := encode(checked.chain, checked.key)
	if err == nil {
		err = k.place(ctx, text, checked.Certificate.Fingerprint)
	}
	if err != nil {
		return State{}, err
	}
	// What was waited for has come. If it cannot be removed it is in use all the same.
	if checked.ofKey == KeyOfRequest && k.fs().Remove(k.path(requestFile)) == nil {
		_ = k.fs().SyncDir(k.Folder)
	}
	return k.state(), nil
}

// SelfSigned makes a key and a certificate of the appliance's own, and installs them.
func (k *Keeper) SelfSigned(ctx context.Context, wanted Names) (State, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	chain, key, err := makeSelfSigned(wanted, k.clock())
	if err != nil {
		return State{}, err
	}
	text, err := encode(chain, key)
	if err == nil {
		err = k.place(ctx, text, Fingerprint(chain[0].Raw))
	}
	if err != nil {
		return State{}, err
	}
	return k.state(), nil
}

// Restore changes the certificate in use and the one before.
func (k *Keeper) Restore(ctx context.Context) (State, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	text, err := vfs.ReadFile(k.fs(), k.path(previousFile))
	if vfs.NotExist(err) {
		return State{}, refuse("previous", "", "No certificate was in use before this one.")
	}
	var previous parts
	if err == nil {
		previous, err = decode(text)
	}
	if err != nil {
		return State{}, fmt.Errorf("the certificate that was in use before cannot be read: %w", err)
	}
	leaf := previous.certificates[0]
	if err := dates("previous", "The certificate that was in use before", leaf, k.clock()); err != nil {
		return State{}, err
	}
	if err := k.place(ctx, text, Fingerprint(leaf.Raw)); err != nil {
		return State{}, err
	}
	return k.state(), nil
}

// place makes text what the web server shows, or leaves everything as it was. Wherever it is cut off, the one file that the web server
// reads is whole; beforeFile says that Recover has to put it back.
func (k *Keeper) place(ctx context.Context, text []byte, fingerprint string) error {
	if err := k.recover(ctx); err != nil {
		return fmt.Errorf("what an earlier change left could not be put back: %w", err)
	}
	_, before, err := k.current()
	has := err == nil // where nothing can be read nothing can be put back
	if !has {
		before = nil
	} else {
		if err := k.adopt(before); err != nil {
			return err
		}
		if err := k.write(beforeFile, before, 0o640); err != nil {
			return err
		}
	}
	if err := k.write(pageFile, text, 0o640); err != nil {
		if has {
			err = errors.Join(err, k.putBack(ctx, before))
		}
		return err
	}
	if !has {
		if err := k.links(); err != nil {
			return err
		}
	}
	err = k.Reload(ctx)
	if err == nil {
		err = k.Probe(ctx, fingerprint)
	}
	if err != nil {
		return &NotTaken{Why: err, Back: k.putBack(ctx, before)}
	}
	if has {
		if err := k.rename(beforeFile, previousFile); err != nil {
			return err
		}
	}
	if k.Changed != nil {
		k.Changed(ctx)
	}
	return nil
}

// Recover puts back what was in use, when a change was cut off: for the start of the process.
func (k *Keeper) Recover(ctx context.Context) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.recover(ctx)
}

func (k *Keeper) recover(ctx context.Context) error {
	before, err := vfs.ReadFile(k.fs(), k.path(beforeFile))
	if vfs.NotExist(err) {
		return nil
	}
	if err != nil {
		return err
	}
	return k.putBack(ctx, before)
}

// putBack has the web server show what it showed before. It is begun anew where it was cut off: the last step removes what says so.
func (k *Keeper) putBack(ctx context.Context, before []byte) error {
	if before == nil {
		return errors.New("there was none that could be read")
	}
	if err := k.write(pageFile, before, 0o640); err != nil {
		return err
	}
	if err := k.Reload(ctx); err != nil {
		return err
	}
	if err := k.fs().Remove(k.path(beforeFile)); err != nil {
		return err
	}
	return k.fs().SyncDir(k.Folder)
}

// adopt makes one file of the two of the first boot. Their names stay, and lead to it.
func (k *Keeper) adopt(text []byte) error {
	if k.onDisk().linked(k.path(certFile)) && k.onDisk().linked(k.path(keyFile)) {
		return nil
	}
	if err := k.write(pageFile, text, 0o640); err != nil {
		return err
	}
	return k.links()
}

func (k *Keeper) links() error {
	for _, name := range []string{certFile, keyFile} {
		if err := k.onDisk().link(k.path(name)); err != nil {
			return err
		}
	}
	return k.fs().SyncDir(k.Folder)
}

// write puts a whole file in the place of the one before. Nobody can read more of it at any time than in the end.
func (k *Keeper) write(name string, content []byte, mode os.FileMode) error {
	next := k.path(name + newSuffix)
	file, err := k.fs().Create(next)
	if err != nil {
		return err
	}
	if err = k.onDisk().permit(next, 0o600, false); err == nil { // one that was left may have another mode
		_, err = file.Write(content)
	}
	if err == nil {
		err = k.onDisk().permit(next, mode, mode&0o040 != 0)
	}
	if err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err != nil {
		_ = k.fs().Remove(next)
		return err
	}
	return k.rename(name+newSuffix, name)
}

func (k *Keeper) rename(from, to string) error {
	if err := k.fs().Rename(k.path(from), k.path(to)); err != nil {
		return err
	}
	return k.fs().SyncDir(k.Folder)
}
