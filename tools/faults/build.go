package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// edit changes one place in a source file. The file is named from the
// repository's root, or from Go's if it begins with "$GOROOT/".
type edit struct{ file, old, new string }

// build builds carillon with some edits in effect, and leaves the sources alone.
func build(ctx context.Context, root, dir, name string, edits []edit) (binary string, err error) {
	binary = filepath.Join(dir, name)
	args := []string{"build", "-o", binary}
	if len(edits) > 0 {
		overlay, err := writeOverlay(root, filepath.Join(dir, name+".overlay"), edits)
		if err != nil {
			return "", fmt.Errorf("build %s: %w", name, err)
		}
		args = append(args, "-overlay", overlay)
	}
	cmd := exec.CommandContext(ctx, "go", append(args, ".")...)
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build %s: %w\n%s", name, err, out)
	}
	return binary, nil
}

// writeOverlay writes the edited files to a new folder, and the description that
// the go command reads. Each old text must be in its file exactly once: an edit
// that has no place any more is an error.
func writeOverlay(root, dir string, edits []edit) (path string, err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	out, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return "", fmt.Errorf("ask go for its root: %w", err)
	}
	goroot := strings.TrimSpace(string(out))
	texts := make(map[string]string)
	for _, e := range edits {
		file := filepath.Join(root, e.file)
		if rest, ok := strings.CutPrefix(e.file, "$GOROOT/"); ok {
			file = filepath.Join(goroot, rest)
		}
		text, ok := texts[file]
		if !ok {
			b, err := os.ReadFile(file)
			if err != nil {
				return "", err
			}
			text = string(b)
		}
		if n := strings.Count(text, e.old); n != 1 {
			return "", fmt.Errorf("%s has %d times what is to be replaced, not once: %q. Whatever moved it has to change the mutant too", e.file, n, e.old)
		}
		texts[file] = strings.Replace(text, e.old, e.new, 1)
	}
	var overlay struct{ Replace map[string]string }
	overlay.Replace = make(map[string]string)
	for file, text := range texts {
		edited := filepath.Join(dir, fmt.Sprintf("%d-%s", len(overlay.Replace), filepath.Base(file)))
		if err := os.WriteFile(edited, []byte(text), 0o600); err != nil {
			return "", err
		}
		overlay.Replace[file] = edited
	}
	b, err := json.Marshal(overlay)
	if err != nil {
		return "", err
	}
	path = filepath.Join(dir, "overlay.json")
	return path, os.WriteFile(path, b, 0o600)
}

// skewVariable is the environment variable that moves the clock of a process
// which was built with skewEdits, by whole seconds.
const skewVariable = "CARILLON_FAULTS_SKEW"

// skewEdits let the environment move a process's clock, and nothing but that: what
// is measured between two moments stays right, as it does when a clock is set.
func skewEdits() []edit {
	return []edit{
		{"$GOROOT/src/time/time.go", "func Now() Time {\n\tsec, nsec, mono := runtimeNow()\n", "func Now() Time {\n\tsec, nsec, mono := runtimeNow()\n\tsec += skew\n"},
		{"$GOROOT/src/time/zoneinfo_unix.go", "func initLocal() {", `// skew is by how many seconds the clock is wrong.
var skew = func() int64 {
	text, _ := syscall.Getenv("` + skewVariable + `")
	n, _ := atoi(text) // 0 if there is no number
	return int64(n)
}()

func initLocal() {`},
	}
}
