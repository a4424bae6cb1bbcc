// Package wire sends one HTTP/1.1 request on a connection of its own and says how much of it was handed over.
//
// It promises that one call of Do puts at most one request on the wire, and that Handed is zero only when no byte
// of the request was given to the connection. It never keeps a connection, never follows a redirect, never replays,
// never uses a proxy from the environment, and never puts bytes of an answer into a text meant for people.
package wire
