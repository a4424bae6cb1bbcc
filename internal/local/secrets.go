package local

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"holdfast/internal/app"
)

// Secrets are a laptop's own secrets: made at the first start, kept with the data.
type Secrets map[string]string

// Secret implements app.Secrets. The simulated targets take any credentials, so theirs are one placeholder.
func (s Secrets) Secret(_ context.Context, name string) (string, error) {
	if v, ok := s[name]; ok {
		return v, nil
	}
	if strings.HasPrefix(name, "targets/") {
		return "local-credential", nil
	}
	return "", fmt.Errorf("secret %s: %w", name, app.ErrNoSecret)
}

// secretsFile holds the secrets beside the data, readable by their owner only.
const secretsFile = "secrets.json"

// loadSecrets reads the secrets of a data directory, or makes them; with dir "" they live as long as the process.
func loadSecrets(dir string, sources []string) (Secrets, error) {
	s := Secrets{}
	path := filepath.Join(dir, secretsFile)
	if dir != "" {
		raw, err := os.ReadFile(path)
		if err == nil {
			err = errors.Join(json.Unmarshal(raw, &s), os.Chmod(path, 0o600)) // a copy may have come with another mode
		}
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, fmt.Errorf("read %s: %w", path, err)
		}
	}
	added := false
	for _, name := range append([]string{"identity-key", "code-key"}, sources...) {
		if s[name] == "" {
			s[name], added = newSecret(name), true
		}
	}
	if dir == "" || !added {
		return s, nil
	}
	raw, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return nil, err
	}
	return s, writeWhole(path, raw)
}

func newSecret(name string) string {
	raw := make([]byte, 32)
	rand.Read(raw) // never fails: it ends the process instead
	text := base64.StdEncoding.EncodeToString(raw)
	if strings.HasPrefix(name, "sources/standard") {
		return "whsec_" + text
	}
	return text
}
