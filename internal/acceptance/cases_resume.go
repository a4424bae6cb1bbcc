package acceptance

import "context"

func (b *probe) resumed(ctx context.Context, at place) error { return nil }
