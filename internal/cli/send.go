package cli

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"holdfast/internal/acceptance"
	"holdfast/internal/flow"
	"holdfast/internal/local"
	"holdfast/internal/source"
	"holdfast/sources"
)

type sendCmd struct {
	reach
	Source string `arg:"" optional:"" help:"The source that the notification comes from; with --flow it is the flow's."`
	Body   string `placeholder:"FILE" help:"The body, sent as it is; - reads it from standard input. Without it the flow's sample is sent: samples/FLOW.json beside the flow files, or one made up from the flow file."`
	Flow   string `placeholder:"NAME" help:"The flow that it is for; it gives topic and account where the source has them in headers."`
	ID     string `name:"id" placeholder:"ID" help:"The event's id at its source; a new one when not given. The same id again is the same event."`
	Print  bool   `help:"Do not send: print the call for curl instead."`
}

// What a notification is bounded by.
const (
	bodyBytesMax = 10 << 20 // the gateway's limit
	sendWait     = 45 * time.Second
	replyMax     = 1 << 20
)

// Run implements the command.
func (c *sendCmd) Run(ctx context.Context, s *streams) error {
	if c.Source == "" && c.Flow == "" || c.Body == "" && c.Flow == "" {
		return usage{errors.New("say what to send: a source and --body FILE, or --flow NAME for the flow's sample")}
	}
	conn, err := connect(ctx, c.reach, s)
	if err != nil {
		return err
	}
	if conn.laptop == nil {
		return usage{errors.New("send works with a running laptop only: a deployed stack is notified by its sources; name a laptop with --laptop URL")}
	}
	example, err := c.example(conn, s)
	if called := (*acceptance.CallError)(nil); errors.As(err, &called) {
		return usage{err}
	}
	if err != nil {
		return err
	}
	name := example.Source.Name
	header, err := source.Sign(example.Source, source.NewSecret(conn.laptop.Secrets["sources/"+name]), c.ID, conn.parts.Clock.Now(), example.Body)
	if err != nil {
		return err
	}
	maps.Copy(header, example.Header)
	url := conn.laptop.Addresses.Hooks + "/" + name
	if c.Print {
		fmt.Fprintln(s.out, local.Curl(url, header, example.Body))
		return nil
	}
	return post(ctx, s, url, header, example.Body)
}

// example is the notification without its signature.
func (c *sendCmd) example(conn connection, s *streams) (acceptance.Example, error) {
	body, err := c.body(s)
	if err != nil {
		return acceptance.Example{}, err
	}
	f := conn.configured(files{})
	if c.Flow == "" {
		if c.Flow, err = flowOf(f, c.Source); err != nil {
			return acceptance.Example{}, err
		}
	}
	given := c.ID
	c.ID = cmp.Or(c.ID, local.NewID("msg_"))
	e, err := acceptance.ExampleOf(acceptance.Options{Flow: c.Flow, Flows: f.flowFS(), Targets: f.targetFS(), Sources: sources.Files()}, c.ID, body)
	switch {
	case err != nil:
		return e, err
	case c.Source != "" && e.Source.Name != c.Source:
		return e, usage{fmt.Errorf("flow %s waits for the source %s, not %s", e.Flow, e.Source.Name, c.Source)}
	case body != nil && given != "" && e.Source.EventID[0].From == source.FromBody:
		return e, usage{fmt.Errorf("the source %s has the event's id in the body, at %s: write it there and leave out --id", e.Source.Name, e.Source.EventID[0])}
	}
	return e, nil
}

func (c *sendCmd) body(s *streams) ([]byte, error) {
	if c.Body == "" {
		return nil, nil
	}
	from := s.in
	if c.Body != "-" {
		file, err := os.Open(c.Body)
		if err != nil {
			return nil, usage{err}
		}
		defer func() { _ = file.Close() }() // it was only read
		from = file
	}
	body, err := io.ReadAll(io.LimitReader(from, bodyBytesMax+1))
	if err == nil && len(body) > bodyBytesMax {
		err = usage{fmt.Errorf("the body has more than %d bytes, which no gateway takes", bodyBytesMax)}
	}
	return body, err
}

// flowOf is the flow that a source's notification is for, when nobody names one.
func flowOf(f files, name string) (string, error) {
	all, err := flow.Load(f.flowFS())
	if err != nil {
		return "", err
	}
	var found, known []string
	for _, one := range all {
		known = append(known, one.Trigger.Source)
		if one.Trigger.Source == name {
			found = append(found, one.Name)
		}
	}
	switch len(found) {
	case 0:
		slices.Sort(known)
		return "", usage{fmt.Errorf("no flow waits for the source %s; flows wait for: %s", name, strings.Join(slices.Compact(known), ", "))}
	case 1:
		return found[0], nil
	}
	slices.Sort(found)
	return "", usage{fmt.Errorf("several flows wait for the source %s; name one with --flow: %s", name, strings.Join(found, ", "))}
}

// post sends the notification once and prints the answer.
func post(ctx context.Context, s *streams, url string, header http.Header, body []byte) error {
	ctx, cancel := context.WithTimeout(ctx, sendWait)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header = header
	direct := &http.Transport{DisableKeepAlives: true} // no proxy of the environment: it is this machine
	resp, err := (&http.Client{Transport: direct}).Do(req)
	if err != nil {
		return fmt.Errorf("the laptop gave no answer (%w); send it again with the same --id, it is one event however often it comes", err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, replyMax))
	if err != nil {
		return err
	}
	fmt.Fprintln(s.out, strings.TrimSpace(string(answer)))
	if resp.StatusCode >= http.StatusMultipleChoices {
		return fmt.Errorf("the notification was refused with %s", resp.Status)
	}
	return nil
}

// greetOwn says how to start one of the user's own flows.
func (c *localCmd) greetOwn(l *local.Local, s *streams) {
	names := slices.Sorted(maps.Keys(l.App.Flows))
	if len(names) == 0 {
		return
	}
	name, id := names[0], local.NewID("msg_")
	fmt.Fprintf(s.out, "Send a signed notification (flow %s):\n\n  holdfast send --flow %s\n\n", name, name)
	e, err := acceptance.ExampleOf(acceptance.Options{Flow: name, Flows: c.flowFS(), Targets: c.targetFS(), Sources: sources.Files()}, id, nil)
	if err != nil {
		fmt.Fprintf(s.out, "No sample could be made for it; send a body of your own with `holdfast send --flow %s --body FILE`.\n%v\n\n", name, err)
		return
	}
	header, err := l.Sign(e.Source.Name, id, e.Body)
	if err != nil {
		fmt.Fprintln(s.err, "holdfast:", err)
		return
	}
	maps.Copy(header, e.Header)
	fmt.Fprintf(s.out, "The same for curl, as long as its signature is young (`holdfast send --flow %s --print` makes a new one):\n\n%s\n\n", name, local.Curl(l.Hooks+"/"+e.Source.Name, header, e.Body))
}
