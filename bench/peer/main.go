// Command peer does the job that all peers are compared by, on Holdfast as `holdfast local` runs it.
//
// It answers the peers' driver: POST /hook {"id": …} with 2xx once the notification is durable, and GET /status. The
// environment says the rest, as for every peer: LISTEN, TARGET_URL, IDEMPOTENCY_KEYS, and DATA_DIR, which keeps the
// ledger on disk; without it the ledger lives in memory. It never calls the target by itself.
package main

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"log/slog"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"holdfast/bench"
	"holdfast/internal/local"
	"holdfast/internal/target"
	"holdfast/sources"
	"holdfast/targets/sim"
)

// The defaults are those of the other peers.
const (
	listenDefault = "127.0.0.1:9500"
	targetDefault = "http://127.0.0.1:9400"
	headerWait    = 10 * time.Second // for a request's header
	endWait       = 5 * time.Second  // for requests in progress at the end
)

func main() {
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	local.CollectLess()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, log); err != nil {
		log.Error("ended", "error", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, log *slog.Logger) error {
	tally := newTally()
	l, err := local.Start(ctx, options(tally, log))
	if err != nil {
		return err
	}
	topic := "flow.started"
	if os.Getenv("IDEMPOTENCY_KEYS") != "" {
		topic += ".keys"
	}
	err = serve(ctx, &peer{laptop: l, tally: tally, topic: topic})
	return errors.Join(err, l.Close())
}

// options are those of `holdfast local`, with the job's files and the peers' target.
func options(t *tally, log *slog.Logger) local.Options {
	o := local.Options{
		Flows: bench.Flows(), Targets: bench.Targets(), Sims: sim.FS, Sources: sources.Files(), Seed: local.NewSeed(),
		Destinations: map[string]target.Destination{}, OnAnswer: t.answered, Log: log, Outside: local.Outside{Secrets: secrets()},
	}
	if dir := os.Getenv("DATA_DIR"); dir != "" {
		o.Dir = filepath.Join(dir, "holdfast")
	}
	at := target.Destination{Base: cmp.Or(os.Getenv("TARGET_URL"), targetDefault), Account: "peers"}
	for _, name := range []string{"peer-crm", "peer-email", "peer-crm-keys", "peer-email-keys"} {
		o.Destinations[name] = at
	}
	return o
}

// secrets are the same in every run, so that operations have the same ids and meet the same faults of one seed. Nothing
// here leaves the machine.
func secrets() local.Secrets {
	const open = "this is no secret: peers on loopback"
	return local.Secrets{"identity-key": open, "code-key": open, "sources/standard": "whsec_" + base64.StdEncoding.EncodeToString([]byte(open))}
}

func serve(ctx context.Context, p *peer) error {
	s := &http.Server{Addr: cmp.Or(os.Getenv("LISTEN"), listenDefault), Handler: p.handler(), ReadHeaderTimeout: headerWait}
	ended := make(chan error, 1)
	go func() { ended <- s.ListenAndServe() }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), endWait)
	defer cancel()
	return errors.Join(s.Shutdown(limited), served(<-ended))
}

// served is nil for an end that was asked for.
func served(err error) error {
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}
