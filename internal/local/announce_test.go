package local_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast/internal/local"
)

// TestAnnouncements uses a cache directory of its own, so it is not parallel.
func TestAnnouncements(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_CACHE_HOME", filepath.Join(home, "cache"))
	none, err := local.Laptops()
	if err != nil || len(none) > 0 {
		t.Fatalf("%v %v", none, err)
	}
	one, two := start(t, options("")), start(t, options(""))
	forgetOne, err := one.Announce("", "")
	if err != nil {
		t.Fatal(err)
	}
	forgetTwo, err := two.Announce(".", "")
	if err != nil {
		t.Fatal(err)
	}
	consoles(t, two.Console, one.Console)
	all, _ := local.Laptops()
	if !filepath.IsAbs(all[0].FlowsDir) || all[0].TargetsDir != "" {
		t.Errorf("directories %q and %q", all[0].FlowsDir, all[0].TargetsDir)
	}
	forgetTwo()
	consoles(t, one.Console)
	forgetAgain, err := one.Announce("", "") // as one that was started again on the same port
	if err != nil {
		t.Fatal(err)
	}
	forgetOne()
	consoles(t, one.Console)
	forgetAgain()
	consoles(t)
}

// consoles holds what is announced, and that only its owner can read it.
func consoles(t *testing.T, want ...string) {
	t.Helper()
	all, err := local.Laptops()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, a := range all {
		got = append(got, a.Addresses.Console)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(cache, "holdfast", "laptops")
	private(t, dir, 0o700)
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(files) != len(want) {
		t.Errorf("files %v, %v", files, err)
	}
	for _, f := range files {
		private(t, f, 0o600)
	}
}

func private(t *testing.T, path string, want fs.FileMode) {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if runtime.GOOS != "windows" && info.Mode().Perm() != want {
		t.Errorf("%s has mode %o, want %o", path, info.Mode().Perm(), want)
	}
}

func TestUnreadableAnnouncement(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_CACHE_HOME", filepath.Join(home, "cache"))
	l := start(t, options(""))
	forget, err := l.Announce("", "")
	if err != nil {
		t.Fatal(err)
	}
	defer forget()
	cache, _ := os.UserCacheDir()
	if err := os.WriteFile(filepath.Join(cache, "holdfast", "laptops", "1.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := local.Laptops(); err == nil || !strings.Contains(err.Error(), "1.json") || !strings.Contains(err.Error(), "remove it") {
		t.Errorf("%v", err)
	}
}
