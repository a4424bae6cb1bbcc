package app

import (
	"context"
	"errors"
	"strings"

	"holdfast/internal/source"
)

// SourceSecrets gives a source's secrets: one to a line, several while one is being replaced. A source without any is
// closed.
func SourceSecrets(s Secrets) source.Secrets {
	return func(ctx context.Context, name string) ([]source.Secret, error) {
		text, err := s.Secret(ctx, "sources/"+name)
		if errors.Is(err, ErrNoSecret) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		var out []source.Secret
		for line := range strings.Lines(text) {
			if line = strings.TrimSpace(line); line != "" {
				out = append(out, source.NewSecret(line))
			}
		}
		return out, nil
	}
}
