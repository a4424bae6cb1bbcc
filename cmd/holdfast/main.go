// Command holdfast runs the product on a laptop, tries it, and tells the story behind any id.
package main

import (
	"os"

	"holdfast/internal/cli"
)

func main() {
	os.Exit(cli.Run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
