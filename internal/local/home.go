package local

import (
	"html/template"
	"net/http"
)

var homePage = template.Must(template.New("home").Parse(`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" content="light dark">
<title>Holdfast on this laptop</title>
<style>body{font:16px/1.5 system-ui,sans-serif;max-width:44rem;margin:0 auto;padding:1rem}code{font:.85em ui-monospace,monospace;overflow-wrap:anywhere}
dt{font-weight:600;margin-top:.8rem}dd{margin:0}</style></head><body>
<h1>Holdfast on this laptop</h1>
<p>The same handlers, state machine and routes as in a deployed stack. Targets are simulated; nothing leaves this machine unless you named a server with <code>--target</code>.</p>
<dl>
<dt><a href="/outbox">Outbox</a></dt><dd>mails to reviewers: the link in one, the code in another</dd>
<dt><a href="/_sim/">Simulated targets</a></dt><dd>what really happened there, and switches that lose answers</dd>
<dt>Hooks</dt><dd>POST signed notifications to <code>{{.Hooks}}/SOURCE</code></dd>
<dt>Clock</dt><dd>{{.Now}} (moved by {{.Offset}}); move it: <code>curl -d '{"by":"25h"}' {{.Clock}}</code></dd>
<dt>DynamoDB API</dt><dd><code>{{.DynamoDB}}</code></dd>
<dt>Step Functions API</dt><dd><code>{{.States}}</code></dd>
</dl>
<p>On the command line: <code>holdfast inspect ID</code> tells the story behind any id.</p>
</body></html>
`))

func (l *Local) home(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	err := homePage.Execute(w, struct {
		Addresses
		Now, Offset string
	}{l.Addresses, l.operationTime().String(), l.Clock.Offset().String()})
	if err != nil {
		l.log.Warn("first page", "error", err)
	}
}
