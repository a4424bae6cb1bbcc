package load

import "context"

// Ledger compares a large ledger with a small one.
type Ledger struct{}

func (o Options) ledger(ctx context.Context) (*Ledger, promises, error) { return &Ledger{}, nil, nil }
