// Command execute makes attempts on claimed operations and records what each proves.
package main

import (
	"context"

	"github.com/aws/aws-lambda-go/lambda"

	"holdfast/internal/app/work"
)

func main() {
	lambda.Start(work.Must(context.Background()).Runner.Execute)
}
