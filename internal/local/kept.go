package local

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// keptFile holds what a laptop with a data directory must find again beside its ledger.
const keptFile = "laptop.json"

// kept is what the ledger of a data directory relies on: content is frozen with its address, and times in it may lie
// ahead of the machine's clock.
type kept struct {
	// Targets are the addresses of the simulated targets by name.
	Targets map[string]string `json:"targets"`
	// Offset is how far a person moved the clock.
	Offset string `json:"clock_offset"`
}

// loadKept reads what an earlier laptop kept; with dir "" nothing is.
func loadKept(dir string) (kept, error) {
	k := kept{Targets: map[string]string{}}
	if dir == "" {
		return k, nil
	}
	path := filepath.Join(dir, keptFile)
	raw, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return k, nil
	}
	if err == nil {
		err = json.Unmarshal(raw, &k)
	}
	if err != nil {
		return k, fmt.Errorf("read %s: %w", path, err)
	}
	return k, nil
}

// moveAsKept lets the time pass that a person let pass before the restart.
func (l *Local) moveAsKept() error {
	if l.kept.Offset == "" {
		return nil
	}
	d, err := time.ParseDuration(l.kept.Offset)
	if err != nil {
		return fmt.Errorf("%s: clock_offset: %w", filepath.Join(l.options.Dir, keptFile), err)
	}
	l.Clock.Move(d)
	return nil
}

// keep writes what must be found again.
func (l *Local) keep() error {
	if l.options.Dir == "" {
		return nil
	}
	l.keeping.Lock()
	defer l.keeping.Unlock()
	l.kept.Offset = l.Clock.Offset().String()
	raw, err := json.MarshalIndent(l.kept, "", "  ")
	if err != nil {
		return err
	}
	return writeWhole(filepath.Join(l.options.Dir, keptFile), raw)
}
