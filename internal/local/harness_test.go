package local_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"holdfast/flows"
	"holdfast/internal/local"
	"holdfast/sources"
	"holdfast/targets"
	"holdfast/targets/sim"
)

func options(dir string) local.Options {
	return local.Options{Dir: dir, Flows: flows.FS, Targets: targets.FS, Sims: sim.FS, Sources: sources.Files(), SweepEvery: -1}
}

func start(t *testing.T, o local.Options) *local.Local {
	t.Helper()
	l, err := local.Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closed(t, l) })
	return l
}

func closed(t *testing.T, l *local.Local) {
	t.Helper()
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}

type answer struct {
	status int
	header http.Header
	body   string
}

func ask(t *testing.T, method, url string, header http.Header, body string) answer {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for k, v := range header {
		req.Header[k] = v
	}
	if h := header.Get("Host"); h != "" {
		req.Host = h
	}
	resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer{resp.StatusCode, resp.Header, string(raw)}
}

// unquoted reads the words of a shell command that uses single quotes and line ends only.
func unquoted(t *testing.T, command string) []string {
	t.Helper()
	var words []string
	var word strings.Builder
	begun, quoted := false, false
	command = strings.ReplaceAll(command, "\\\n", " ")
	for i := 0; i < len(command); i++ {
		switch c := command[i]; {
		case c == '\'':
			quoted, begun = !quoted, true
		case c == '\\' && !quoted:
			i++
			word.WriteByte(command[i])
		case c == ' ' && !quoted:
			if begun {
				words = append(words, word.String())
			}
			word.Reset()
			begun = false
		case !quoted && strings.IndexByte("\n;&|<>$`\"(){}*?#~", c) >= 0:
			t.Fatalf("%q would mean something to a shell", c)
		default:
			word.WriteByte(c)
			begun = true
		}
	}
	if quoted {
		t.Fatal("a quote stays open")
	}
	return append(words, word.String())
}

// curl does what curl would do with the command's words.
func curl(t *testing.T, command string) answer {
	t.Helper()
	words := unquoted(t, command)
	if words[0] != "curl" || words[1] != "-sS" {
		t.Fatalf("%q", words)
	}
	header, body := http.Header{}, ""
	for i := 3; i < len(words); i += 2 {
		switch words[i] {
		case "-H":
			name, value, _ := strings.Cut(words[i+1], ": ")
			header.Add(name, value)
		case "--data-binary":
			body = words[i+1]
		default:
			t.Fatalf("option %q", words[i])
		}
	}
	return ask(t, http.MethodPost, words[2], header, body)
}
