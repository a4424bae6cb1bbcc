// Command reconcile finds out from targets what happened, with lookup rights only.
package main

import (
	"context"

	"github.com/aws/aws-lambda-go/lambda"

	"holdfast/internal/app/work"
)

func main() {
	lambda.Start(work.Must(context.Background()).Runner.Reconcile)
}
