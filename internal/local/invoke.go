package local

import (
	"context"
	"fmt"
)

// Invoke calls a function of the template by its logical id, such as ExecuteFunction, through its Lambda signature. A
// failure of the function is an error that carries its payload.
func (l *Local) Invoke(ctx context.Context, function string, payload []byte) ([]byte, error) {
	out, failed, err := l.functions.Invoke(ctx, functionArn(function), payload)
	if failed != nil {
		return nil, fmt.Errorf("%s: %s", function, failed.Payload)
	}
	return out, err
}
