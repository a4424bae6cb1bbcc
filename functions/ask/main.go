// Command ask puts a run's approvals to named people.
package main

import (
	"context"

	"github.com/aws/aws-lambda-go/lambda"

	"holdfast/internal/app/work"
)

func main() {
	lambda.Start(work.Must(context.Background()).Runner.Ask)
}
