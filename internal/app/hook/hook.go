// Package hook builds the webhook handler. It never links expressions, templates or targets.
package hook

import (
	"context"
	"io/fs"
	"os"

	"holdfast/flows"
	"holdfast/internal/app"
	"holdfast/internal/flow"
	"holdfast/internal/intake"
	"holdfast/internal/source"
	"holdfast/internal/source/sourcefile"
	"holdfast/sources"
)

// New builds the webhook handler over a base; flowFiles and sourceFiles hold the configuration.
func New(b *app.Base, flowFiles, sourceFiles fs.FS) (*intake.Intake, error) {
	files, err := flow.Load(flowFiles)
	if err != nil {
		return nil, err
	}
	configs, err := sourcefile.Load(sourceFiles)
	if err != nil {
		return nil, err
	}
	var known []string
	for _, c := range configs {
		known = append(known, c.Name)
	}
	if err := flow.CheckSources(files, known).Err(); err != nil {
		return nil, err
	}
	set, err := source.NewSet(configs, app.SourceSecrets(b.Secrets))
	if err != nil {
		return nil, err
	}
	return &intake.Intake{
		Sources: set, Flows: files, Store: b.Ledger, Launcher: b.Launcher, Clock: b.Clock, Key: b.Key, Owner: b.Owner, Log: b.Log,
	}, nil
}

// Must builds the handler of the deployed function, or ends the process with what is wrong.
func Must(ctx context.Context) *intake.Intake {
	in, err := deployed(ctx)
	if err != nil {
		panic(err)
	}
	return in
}

func deployed(ctx context.Context) (*intake.Intake, error) {
	c, err := app.ConfigFrom(os.Getenv)
	if err != nil {
		return nil, err
	}
	parts, _, err := app.AWSParts(ctx, c)
	if err != nil {
		return nil, err
	}
	b, err := app.New(ctx, c, parts)
	if err != nil {
		return nil, err
	}
	return New(b, flows.FS, sources.Files())
}
