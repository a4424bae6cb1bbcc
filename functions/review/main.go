// Command review shows reviewers what they are asked and takes their decisions.
package main

import (
	"context"

	"github.com/aws/aws-lambda-go/lambda"

	"holdfast/internal/app/work"
)

func main() {
	lambda.Start(work.Must(context.Background()).Review.Handle)
}
