// Command dynamo-serve serves the local DynamoDB API on a loopback address and prints it, for checks by other programs.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"

	"holdfast/internal/local/dynamo"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "dynamo-serve:", err)
		os.Exit(1)
	}
}

func run() error {
	addr := flag.String("addr", "127.0.0.1:0", "loopback address and port to listen on")
	dir := flag.String("data", "", "directory that keeps the data; empty keeps nothing")
	flag.Parse()
	listener, err := listen(*addr)
	if err != nil {
		return err
	}
	server, err := dynamo.Open(dynamo.Options{Dir: *dir})
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	web := &http.Server{Handler: server}
	context.AfterFunc(ctx, func() { _ = web.Close() })
	fmt.Printf("http://%s\n", listener.Addr())
	if err := web.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return errors.Join(err, server.Close())
	}
	return server.Close()
}

// listen refuses any address that other machines could reach.
func listen(addr string) (net.Listener, error) {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, err
	}
	if ip := net.ParseIP(host); ip == nil || !ip.IsLoopback() {
		return nil, fmt.Errorf("-addr %s: give a loopback address, for example 127.0.0.1:8000", addr)
	}
	return net.Listen("tcp", addr)
}
