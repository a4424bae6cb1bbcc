package web

import (
	"embed"
	"html/template"
)

//go:embed page/*.html
var files embed.FS

var pages = template.Must(template.New("").ParseFS(files, "page/*.html"))
