package simtarget

import (
	_ "embed"
	"html/template"
	"net/http"
	"slices"
)

//go:embed page.html
var pageText string

// pageTarget is one target as the page shows it, newest effect first.
type pageTarget struct {
	Name, About string
	Report      Report
	Newest      []Effect
	Hidden      int
}

func (s *Sim) servePage(w http.ResponseWriter, _ *http.Request) {
	page, err := template.New("page").Parse(pageText)
	if err != nil {
		writeError(w, http.StatusInternalServerError, err)
		return
	}
	var targets []pageTarget
	names, real := s.inUse()
	for _, name := range names {
		targets = append(targets, s.pageTarget(name))
	}
	var choices []map[string]string
	for _, k := range kinds() {
		choices = append(choices, map[string]string{"Kind": string(k.kind), "Says": k.says})
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; frame-ancestors 'none'")
	page.Execute(w, map[string]any{"Targets": targets, "Real": real, "Faults": s.Faults(), "Kinds": choices, "Now": s.clock.Now().UTC().Format(timeShape)})
}

func (s *Sim) pageTarget(name string) pageTarget {
	t := s.targets[name]
	r := t.report()
	newest := r.List[max(0, len(r.List)-pageEffectsMax):]
	slices.Reverse(newest)
	return pageTarget{Name: name, About: t.spec.About, Report: r, Newest: newest, Hidden: len(r.List) - len(newest)}
}
