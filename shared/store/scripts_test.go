package store

import (
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// headOf returns the comment at the head of a script, as one line.
func headOf(src string) string {
	var head []string
	for line := range strings.Lines(src) {
		if !strings.HasPrefix(line, "--") {
			break
		}
		head = append(head, strings.TrimSpace(strings.TrimPrefix(line, "--")))
	}
	return strings.Join(head, " ")
}

// TestScripts checks that every script says what it takes and returns, and is
// used.
func TestScripts(t *testing.T) {
	files, err := fs.Glob(sources, "lua/*.lua")
	if err != nil || len(files) == 0 {
		t.Fatalf("scripts: %v, %v", files, err)
	}
	if onDisk, err := fs.Glob(os.DirFS("."), "lua/*"); err != nil || !slices.Equal(onDisk, files) {
		t.Errorf("in lua/ are %v, %v; embedded are %v", onDisk, err, files)
	}
	code := code(t)
	for _, file := range files {
		name := strings.TrimSuffix(path.Base(file), ".lua")
		t.Run(name, func(t *testing.T) {
			src, err := fs.ReadFile(sources, file)
			if err != nil {
				t.Fatal(err)
			}
			head := headOf(string(src))
			for _, want := range []string{"KEYS", "ARGV", " Returns "} {
				if !strings.Contains(head, want) {
					t.Errorf("the head does not say %s", want)
				}
			}
			if !strings.HasPrefix(head, name+" ") {
				t.Errorf("the head begins %.20q…, want the name", head)
			}
			variable := regexp.MustCompile(`(\w+) += script\("` + name + `"[,)]`).FindStringSubmatch(code)
			if variable == nil {
				t.Fatal("no variable holds it")
			}
			if n := strings.Count(code, variable[1]); n < 2 {
				t.Errorf("%s is not used", variable[1])
			}
		})
	}
}

// code returns the package's code but for its tests.
func code(t *testing.T) string {
	t.Helper()
	files, err := fs.Glob(os.DirFS("."), "*.go")
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		src, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(src)
	}
	return all.String()
}

// TestScriptsKeys checks that scripts touch keys that they were given, and make
// none: Redis Cluster has to know where a script may run.
func TestScriptsKeys(t *testing.T) {
	call := regexp.MustCompile(`redis\.call\('(\w+)'(?:, ([^,)]*))?`)
	given := regexp.MustCompile(`local ([\w, ]+) = (?:unpack\(KEYS\)|KEYS\[)`)
	files, err := fs.Glob(sources, "lua/*.lua")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		src, err := fs.ReadFile(sources, file)
		if err != nil {
			t.Fatal(err)
		}
		keys := []string{"job", "run"} // of functions that are called with KEYS
		for _, g := range given.FindAllStringSubmatch(string(src), -1) {
			keys = append(keys, strings.Split(g[1], ", ")...)
		}
		for _, c := range call.FindAllStringSubmatch(string(src), -1) {
			if c[1] != "TIME" && !strings.HasPrefix(c[2], "KEYS[") && !slices.Contains(keys, c[2]) {
				t.Errorf("%s: %s of %q, which is not in KEYS", file, c[1], c[2])
			}
		}
	}
}
