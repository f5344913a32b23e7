package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestKeys: the commands about keys, as an operator rotates them.
func TestKeys(t *testing.T) {
	file := filepath.Join(t.TempDir(), "keys.json")
	keys := func(args ...string) string {
		t.Helper()
		code, stdout, stderr := command(t.Context(), "", append([]string{"keys"}, args...)...)
		if code != 0 || stderr != "" {
			t.Fatalf("keys %v: exit %d: %s", args, code, stderr)
		}
		return stdout
	}
	uses := func() (ids []string, list string) {
		out := keys("list", file)
		for _, m := range regexp.MustCompile(`(?m)^([0-9a-f]{8})  (\w+)$`).FindAllStringSubmatch(out, -1) {
			ids, list = append(ids, m[1]), list+m[2]+" "
		}
		return ids, strings.TrimSpace(list)
	}
	if out := keys("new", file); !strings.Contains(out, "made") {
		t.Errorf("said %q", out)
	}
	if _, list := uses(); list != "seals next" {
		t.Errorf("new: %s", list)
	}
	keys("rotate", file)
	ids, list := uses()
	if list != "opens seals next" {
		t.Errorf("rotated: %s", list)
	}
	keys("remove", file, ids[0])
	if left, list := uses(); list != "seals next" || left[0] != ids[1] {
		t.Errorf("removed: %v %s", left, list)
	}
}

// TestDevKeys: dev makes its own key, for its owner's eyes only, and keeps it.
func TestDevKeys(t *testing.T) {
	data := t.TempDir()
	read := func() string {
		d := startDev(t, data)
		defer d.kill()
		b, err := os.ReadFile(filepath.Join(data, "keys.json"))
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	first := read()
	info, err := os.Stat(filepath.Join(data, "keys.json"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if read() != first {
		t.Error("another key the second time")
	}
}
