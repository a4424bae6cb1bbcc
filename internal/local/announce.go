package local

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"

	"holdfast/internal/target"
)

// Announced is what a running laptop tells other commands of this user.
type Announced struct {
	Addresses   Addresses         `json:"addresses"`
	Environment map[string]string `json:"environment"`
	Secrets     Secrets           `json:"secrets"`
	// Destinations are where the laptop sends to, so that no other command freezes another address into content.
	Destinations map[string]target.Destination `json:"destinations"`
	FlowsDir     string                        `json:"flows_dir,omitempty"`
	TargetsDir   string                        `json:"targets_dir,omitempty"`
	// Instance is this laptop's own random id: only who announced it takes it back.
	Instance string `json:"instance"`
	// StartedUs is when it was announced, by the machine's clock in microseconds: the newest laptop is the one meant.
	StartedUs int64 `json:"started_us"`
}

const (
	announcedMax      = 100     // laptops that are looked at
	announcedBytesMax = 1 << 20 // one announcement
)

func announcements() (string, error) {
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, "holdfast", "laptops"), nil
}

// Laptops are the announcements of this user's laptops, the newest first. One that was killed may still be among them.
func Laptops() ([]Announced, error) {
	dir, err := announcements()
	if err != nil {
		return nil, nil // without a home nothing is announced
	}
	paths, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		return nil, err
	}
	var out []Announced
	for _, path := range paths[:min(len(paths), announcedMax)] {
		a, err := readAnnounced(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue // it was taken back just now
		}
		if err != nil {
			return nil, fmt.Errorf("%s cannot be read (%w); remove it and start `holdfast local` again", path, err)
		}
		out = append(out, a)
	}
	slices.SortStableFunc(out, func(a, b Announced) int { return cmp.Compare(b.StartedUs, a.StartedUs) })
	return out, nil
}

func readAnnounced(path string) (Announced, error) {
	var a Announced
	info, err := os.Stat(path)
	if err != nil {
		return a, err
	}
	if info.Size() > announcedBytesMax {
		return a, fmt.Errorf("%d bytes of at most %d", info.Size(), announcedBytesMax)
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		return a, err
	}
	return a, json.Unmarshal(raw, &a)
}

// Announce writes the addresses, and what the commands need to read the ledger, to a file that only this user can read,
// and answers how to take it back. Every laptop has a file of its own, named by its port. The directories are those of
// the user's own files, or empty.
func (l *Local) Announce(flowsDir, targetsDir string) (func(), error) {
	dir, err := announcements()
	if err != nil {
		return func() {}, nil // without a home the other commands are told by the environment
	}
	a := Announced{
		Addresses: l.Addresses, Secrets: l.Secrets, Destinations: l.Destinations, FlowsDir: absolute(flowsDir), TargetsDir: absolute(targetsDir),
		Environment: l.environment(), Instance: l.newID("laptop"), StartedUs: l.Clock.Now().Add(-l.Clock.Offset()).UnixMicro(),
	}
	console, err := url.Parse(l.Console)
	if err != nil {
		return nil, err
	}
	path := filepath.Join(dir, console.Port()+".json")
	if err := writeAnnounced(path, a); err != nil {
		return nil, fmt.Errorf("announce this laptop to the other commands: %w", err)
	}
	return func() {
		if now, err := readAnnounced(path); err == nil && now.Instance == a.Instance {
			_ = os.Remove(path) // a file that stays behind names a laptop that does not answer, and is passed over
		}
	}, nil
}

// writeAnnounced makes the file whole or not at all, so that no command reads half of it.
func writeAnnounced(path string, a Announced) error {
	raw, err := json.Marshal(a)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return writeWhole(path, raw)
}

// writeWhole replaces a file in one step; only its owner can read it.
func writeWhole(path string, raw []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".new-*") // mode 0600
	if err != nil {
		return err
	}
	_, err = f.Write(raw)
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}

// environment are the variables that a function of this laptop's stack would have.
func (l *Local) environment() map[string]string {
	return map[string]string{
		"HOLDFAST_TABLE": l.Config.Table, "HOLDFAST_STATE_MACHINE": l.Config.Machine, "HOLDFAST_STACK": l.Config.Stack,
		"HOLDFAST_OWNER": string(l.Config.Owner), "HOLDFAST_REVIEW_URL": l.Config.Review, "HOLDFAST_SMTP": l.Config.SMTP,
		"HOLDFAST_MAIL_FROM": l.Config.MailFrom, "HOLDFAST_FUNCTION_TIMEOUT_S": "60",
	}
}

func absolute(dir string) string {
	if dir == "" {
		return ""
	}
	if abs, err := filepath.Abs(dir); err == nil {
		return abs
	}
	return dir
}
