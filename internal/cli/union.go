package cli

import (
	"cmp"
	"errors"
	"io/fs"
	"slices"
)

// union shows the files of two folders as one; a file of over hides the one of its name in under.
type union struct{ over, under fs.FS }

// Open implements fs.FS.
func (u union) Open(name string) (fs.File, error) {
	f, err := u.over.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return u.under.Open(name)
	}
	return f, err
}

// ReadDir implements fs.ReadDirFS. A folder that is missing in over is that of under.
func (u union) ReadDir(name string) ([]fs.DirEntry, error) {
	over, err := fs.ReadDir(u.over, name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	under, err := fs.ReadDir(u.under, name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, e := range under {
		if !slices.ContainsFunc(over, func(o fs.DirEntry) bool { return o.Name() == e.Name() }) {
			over = append(over, e)
		}
	}
	slices.SortFunc(over, func(a, b fs.DirEntry) int { return cmp.Compare(a.Name(), b.Name()) })
	return over, nil
}
