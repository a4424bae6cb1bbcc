package acceptance

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"holdfast/internal/local"
	"holdfast/internal/local/simtarget"
	"holdfast/internal/operation"
)

const (
	answerBytesMax = 8 << 20 // of one page or answer
	callTimeMax    = 30 * time.Second
)

// site is a running laptop, reached as everybody reaches it.
type site struct {
	*local.Local
	plan   *plan
	client *http.Client
	sim    string // address of the simulated targets' control
	folder string // temporary; holds the flow file
	passed map[string]int64
}

// openSite starts a laptop that knows only the flow under test, with the given text of its file.
func (p *plan) openSite(ctx context.Context, text []byte, change func(*local.Options)) (*site, error) {
	folder, err := os.MkdirTemp("", "holdfast-acceptance-")
	if err != nil {
		return nil, err
	}
	s := &site{plan: p, folder: folder, client: &http.Client{Timeout: callTimeMax}, passed: map[string]int64{}}
	if err := os.WriteFile(filepath.Join(folder, filepath.Base(p.file.Path)), text, 0o600); err != nil {
		return nil, errors.Join(err, os.RemoveAll(folder))
	}
	o := local.Options{Flows: os.DirFS(folder), Targets: p.options.Targets, Sims: p.options.Sims, Sources: p.options.Sources, SweepEvery: -1}
	if change != nil {
		change(&o)
	}
	if s.Local, err = local.Start(ctx, o); err != nil {
		return nil, errors.Join(err, os.RemoveAll(folder))
	}
	s.sim = strings.TrimSuffix(s.Targets, "/")
	if p.options.Around != nil {
		p.options.Around(s.Local)
	}
	return s, nil
}

func (s *site) Close() error {
	s.client.CloseIdleConnections()
	return errors.Join(s.Local.Close(), os.RemoveAll(s.folder))
}

// call makes one request and reads its answer whole.
func (s *site) call(ctx context.Context, method, address string, header http.Header, body []byte) (int, []byte, error) {
	req, err := http.NewRequestWithContext(ctx, method, address, bytes.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	for name, values := range header {
		req.Header[name] = values
	}
	res, err := s.client.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(io.LimitReader(res.Body, answerBytesMax))
	return res.StatusCode, raw, err
}

// json makes a request with a JSON body and reads a JSON answer into out.
func (s *site) json(ctx context.Context, method, address string, in, out any) error {
	var body []byte
	if in != nil {
		var err error
		if body, err = json.Marshal(in); err != nil {
			return err
		}
	}
	status, raw, err := s.call(ctx, method, address, http.Header{"Content-Type": {"application/json"}}, body)
	if err == nil && status >= http.StatusMultipleChoices {
		err = fmt.Errorf("answered %d: %.300s", status, raw)
	}
	if err == nil && out != nil {
		err = json.Unmarshal(raw, out)
	}
	if err != nil {
		return fmt.Errorf("%s %s: %w", method, address, err)
	}
	return nil
}

// reply is what the sender of a notification is told.
type reply struct {
	Status int
	State  string          `json:"state"`
	Run    operation.RunID `json:"id"`
}

// tell sends the sample as its source would, signed now.
func (s *site) tell(ctx context.Context, what sample) (reply, error) {
	body := what.bytes()
	header, err := s.Sign(s.plan.source.Name, eventSample, body)
	if err != nil {
		return reply{}, err
	}
	for name, values := range what.headers {
		header[http.CanonicalHeaderKey(name)] = values
	}
	status, raw, err := s.call(ctx, http.MethodPost, s.Hooks+"/"+s.plan.source.Name, header, body)
	if err != nil {
		return reply{}, err
	}
	r := reply{Status: status}
	if err := json.Unmarshal(raw, &r); err != nil || status >= http.StatusMultipleChoices || !strings.HasPrefix(string(r.Run), "run_") {
		return r, fmt.Errorf("the notification was answered with %d: %.300s", status, raw)
	}
	return r, nil
}

// fault sets a switch at a simulated target.
func (s *site) fault(ctx context.Context, f simtarget.Fault) error {
	return s.json(ctx, http.MethodPost, s.sim+"/faults", f, nil)
}

func (s *site) clearFaults(ctx context.Context) error {
	return s.json(ctx, http.MethodDelete, s.sim+"/faults", nil, nil)
}

// shown is what every simulated target shows, by its name.
func (s *site) shown(ctx context.Context) (map[string]simtarget.Report, error) {
	var out struct {
		Targets map[string]simtarget.Report `json:"targets"`
	}
	err := s.json(ctx, http.MethodGet, s.sim+"/effects", nil, &out)
	return out.Targets, err
}

// move lets time pass for the product and the simulated targets.
func (s *site) move(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	return s.json(ctx, http.MethodPost, s.Addresses.Clock, map[string]string{"by": d.String()}, nil)
}

// moveTo lets time pass to just after t.
func (s *site) moveTo(ctx context.Context, t operation.Time) error {
	return s.move(ctx, t.Std().Sub(s.Local.Clock.Now())+time.Millisecond)
}

func (s *site) sweep(ctx context.Context) error {
	at, err := url.JoinPath(s.Console, "_local/sweep")
	if err != nil {
		return err
	}
	return s.json(ctx, http.MethodPost, at, nil, nil)
}

const (
	pollEvery = 5 * time.Millisecond
	pollsMax  = 2000
)

// until waits until seen says yes; what says what is waited for.
func (s *site) until(ctx context.Context, what string, seen func() (bool, error)) error {
	for range pollsMax {
		ok, err := seen()
		if err != nil || ok {
			return err
		}
		if err := s.Local.Clock.SleepUntil(ctx, s.Local.Clock.Now().Add(pollEvery)); err != nil {
			return fmt.Errorf("waited for %s: %w", what, err)
		}
	}
	return fmt.Errorf("waited for %s, which did not come", what)
}
