package main

import (
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"
)

// TestReadme runs the README's step by step part as it stands, each command in
// turn, and holds what it prints against what the README says.
func TestReadme(t *testing.T) {
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, part, _ := strings.Cut(string(text), "\n## A job, step by step\n")
	part, _, _ = strings.Cut(part, "\n## ")
	blocks := regexp.MustCompile("(?s)```(\\w*)\n(.*?)```").FindAllStringSubmatch(part, -1)
	if len(blocks) < 10 {
		t.Fatalf("only %d blocks found", len(blocks))
	}
	shell, curl := program(t, "bash"), program(t, "curl")
	if shell == "" || curl == "" {
		t.Log("the README's commands were not run")
		return
	}
	dev := startDev(t, t.TempDir())

	settings := ""
	for i, b := range blocks {
		if b[1] != "sh" {
			continue
		}
		command := strings.ReplaceAll(b[2], "http://127.0.0.1:8080", dev.api)
		command = strings.ReplaceAll(command, "go run .", "CARILLON_TEST_PROCESS=1 "+os.Args[0])
		if !strings.Contains(command, "curl") && !strings.Contains(command, "preview") {
			settings += command
			continue
		}
		want := ""
		if i+1 < len(blocks) && blocks[i+1][1] != "sh" {
			want = strings.ReplaceAll(strings.TrimSpace(blocks[i+1][2]), "http://127.0.0.1:8080", dev.api)
		}
		pattern := regexp.MustCompile("(?s)^" + strings.ReplaceAll(regexp.QuoteMeta(want), "…", ".*") + "$")
		// What was asked for a moment ago may still be under way.
		eventually(t, 10*time.Second, func() error {
			out, err := exec.Command(shell, "-c", settings+command).CombinedOutput()
			if err != nil {
				t.Fatalf("%s\n%v: %s", command, err, out)
			}
			if got := strings.TrimSpace(string(out)); !pattern.MatchString(got) {
				return fmt.Errorf("%s\nprinted\n%s\nthe README says\n%s", command, got, want)
			}
			return nil
		})
		if strings.Contains(command, "-X PUT") && strings.Contains(command, "/jobs/") {
			dev.ran(t, 1) // at once, having no startTime
		}
	}
}
