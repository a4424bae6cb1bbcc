package web

import (
	"embed"
	"html/template"

	"holdfast/internal/operation"
)

//go:embed page/*.html
var files embed.FS

var pages = template.Must(template.New("").Funcs(template.FuncMap{
	"when":    stamp,
	"machine": func(t operation.Time) string { return t.String() },
	"names":   persons,
	"hours":   hours,
}).ParseFS(files, "page/*.html"))
