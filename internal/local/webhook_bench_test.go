package local_test

import (
	"bytes"
	"fmt"
	"net/http"
	"testing"

	"holdfast/flows"
	"holdfast/internal/local"
	"holdfast/sources"
	"holdfast/targets"
	"holdfast/targets/sim"
)

// BenchmarkWebhook posts signed notifications over HTTP to the whole laptop and waits for each answer: the event, its
// payload and its run are durable and its execution is started. Runs go on behind it, as they do in life.
func BenchmarkWebhook(b *testing.B) {
	for _, c := range []struct {
		name   string
		unique bool
	}{{"new", true}, {"repeat", false}} {
		b.Run(c.name, func(b *testing.B) {
			l, err := local.Start(b.Context(), local.Options{Flows: flows.FS, Targets: targets.FS, Sims: sim.FS, Sources: sources.Files(), SweepEvery: -1})
			if err != nil {
				b.Fatal(err)
			}
			defer func() {
				if err := l.Close(); err != nil {
					b.Error(err)
				}
			}()
			for i := 0; b.Loop(); i++ {
				id := 0
				if c.unique {
					id = i
				}
				postOne(b, l, id)
			}
		})
	}
}

func postOne(b *testing.B, l *local.Local, i int) {
	body := fmt.Appendf(nil, `{"type":"follow-up.requested","data":{"request_id":"bench-%d"}}`, i)
	header, err := l.Sign("standard", fmt.Sprintf("msg_%d", i), body)
	if err != nil {
		b.Fatal(err)
	}
	req, err := http.NewRequestWithContext(b.Context(), http.MethodPost, l.Hooks+"/standard", bytes.NewReader(body))
	if err != nil {
		b.Fatal(err)
	}
	req.Header = header
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		b.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		b.Fatalf("status %d", resp.StatusCode)
	}
}
