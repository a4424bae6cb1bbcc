// Command sweep brings every open thing back to somebody who acts on it. It never sends.
package main

import (
	"context"

	"github.com/aws/aws-lambda-go/lambda"

	"holdfast/internal/app/work"
)

func main() {
	lambda.Start(work.Must(context.Background()).HandleSweep)
}
