package dynamo

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
)

// Client reaches the server in-process, without a socket. It is an http.RoundTripper, and an HTTP client as the AWS
// SDK wants it.
type Client struct{ server *Server }

// Transport returns the in-process way to the server.
func (s *Server) Transport() *Client { return &Client{s} }

// RoundTrip implements http.RoundTripper.
func (c *Client) RoundTrip(r *http.Request) (*http.Response, error) { return c.Do(r) }

// Do answers the request. It fails when the request's context has ended or Around broke the connection.
func (c *Client) Do(r *http.Request) (*http.Response, error) {
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	reply := c.server.answer(r)
	if r.Body != nil {
		if err := r.Body.Close(); err != nil {
			return nil, err
		}
	}
	if reply.Err != nil {
		return nil, reply.Err
	}
	if err := r.Context().Err(); err != nil {
		return nil, err // the caller gave up before the answer came, as on a wire
	}
	return &http.Response{
		Status: fmt.Sprintf("%d %s", reply.Status, http.StatusText(reply.Status)), StatusCode: reply.Status,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: r, ContentLength: int64(len(reply.Body)),
		Header: http.Header{"Content-Type": {contentType}, "X-Amzn-Requestid": {c.server.requestID()}},
		Body:   io.NopCloser(bytes.NewReader(reply.Body)),
	}, nil
}
