# `sam build` calls build-<Function> for each function of template.yaml; ARTIFACTS_DIR is where it wants the binary.
.PHONY: build-WebhookFunction build-PlanFunction build-AskFunction build-ExecuteFunction build-ReconcileFunction build-ReviewFunction build-SweepFunction

build-WebhookFunction: name = webhook
build-PlanFunction: name = plan
build-AskFunction: name = ask
build-ExecuteFunction: name = execute
build-ReconcileFunction: name = reconcile
build-ReviewFunction: name = review
build-SweepFunction: name = sweep

build-WebhookFunction build-PlanFunction build-AskFunction build-ExecuteFunction build-ReconcileFunction build-ReviewFunction build-SweepFunction:
	GOOS=linux GOARCH=arm64 CGO_ENABLED=0 go build -trimpath -buildvcs=false -tags lambda.norpc -ldflags="-s -w" -o "$(ARTIFACTS_DIR)/bootstrap" ./functions/$(name)
