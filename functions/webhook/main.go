// Command webhook makes a notification durable, starts its runs and tells the sender how they stand.
package main

import (
	"context"

	"github.com/aws/aws-lambda-go/lambda"

	"holdfast/internal/app/hook"
)

func main() {
	lambda.Start(hook.Must(context.Background()).Handle)
}
