// Command plan makes a run's operations from its event and freezes their content.
package main

import (
	"context"

	"github.com/aws/aws-lambda-go/lambda"

	"holdfast/internal/app/work"
)

func main() {
	lambda.Start(work.MustPlan(context.Background()).Runner.Plan)
}
