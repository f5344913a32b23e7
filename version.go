package main

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"
)

// version is set by the linker: -ldflags '-X main.version=v1.2.3'. Otherwise
// it is what the build knows of its commit.
var version string

func buildVersion() string {
	if version != "" {
		return version
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	v, commit, dirty := info.Main.Version, "", ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			commit = s.Value[:min(12, len(s.Value))]
		case s.Key == "vcs.modified" && s.Value == "true":
			dirty = "-dirty"
		}
	}
	if v != "" && v != "(devel)" {
		return v
	}
	return cmp.Or(commit, "devel") + dirty
}

type versionCmd struct{}

// Run prints the version, and with what the binary was built.
func (versionCmd) Run(s *streams) error {
	_, err := fmt.Fprintf(s.out, "carillon %s %s %s/%s\n", buildVersion(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return err
}
