// Command carillon is a self-hosted successor to Azure Scheduler: a planner,
// workers and an API server in one binary, each a command of its own, or all
// of them at once with the dev command.
//
// This package alone knows every other one: it reads flags and environment,
// wires the parts together and ends the process.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/alecthomas/kong"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// A second signal kills the process: stop restores the default as soon as
	// the first has cancelled ctx.
	context.AfterFunc(ctx, stop)
	os.Exit(run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// commands are the commands with their flags. Each flag is filled by the
// environment variable that help shows beside it, unless it is given.
type commands struct {
	Dev       devCmd       `cmd:"" help:"Run everything in this process: API server, planner, worker, and embedded NATS and Redis."`
	Apiserver apiserverCmd `cmd:"" help:"Run an API server: definitions in, history out."`
	Planner   plannerCmd   `cmd:"" help:"Run a planner: finds what is due, dispatches it, records the results."`
	Worker    workerCmd    `cmd:"" help:"Run a worker: performs the actions."`
	Keys      keysCmd      `cmd:"" help:"Make, rotate, list and remove the keys that seal the secrets of definitions."`
	Backup    backupCmd    `cmd:"" help:"Write the definitions of a cluster, and how far each job is, to a file."`
	Restore   restoreCmd   `cmd:"" help:"Read a backup into a cluster."`
	Preview   previewCmd   `cmd:"" help:"Print the next occurrences of a job definition."`
	Verify    verifyCmd    `cmd:"" help:"Check a running Carillon: make jobs of every form, receive their calls, and judge."`
	Version   versionCmd   `cmd:"" help:"Print the version."`
	Help      helpCmd      `cmd:"" help:"Show the commands, or one with all its flags."`
}

// streams are what a command reads and writes.
type streams struct {
	in       io.Reader
	out, err io.Writer
}

// exitCode ends run from within the flag library.
type exitCode int

// run is main without the process: tests call it. It returns the exit code: 0
// for success, 1 if the command failed, 2 if it was called wrongly.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) (code int) {
	none := len(args) == 0
	if none {
		args = []string{"help"}
	}
	defer func() {
		if r := recover(); r != nil {
			c, ok := r.(exitCode)
			if !ok {
				panic(r)
			}
			code = int(c)
		}
		if none {
			code = 2
		}
	}()
	parser, err := kong.New(&commands{},
		kong.Name("carillon"),
		kong.Description("A self-hosted successor to Azure Scheduler. See 'carillon help COMMAND' for a command's flags."),
		kong.DefaultEnvars("CARILLON"),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, NoExpandSubcommands: true}),
		kong.Writers(stdout, stderr),
		kong.Exit(func(code int) { panic(exitCode(code)) }),
		kong.BindTo(ctx, (*context.Context)(nil)),
		kong.Bind(&streams{stdin, stdout, stderr}),
	)
	if err != nil {
		panic(err) // the commands above are wrong
	}
	cmd, err := parser.Parse(args)
	if err != nil {
		fmt.Fprintf(stderr, "carillon: %v; see 'carillon help'\n", err)
		return 2
	}
	if err := cmd.Run(parser); err != nil {
		fmt.Fprintf(stderr, "%s: %v\n", cmd.Selected().FullPath(), err)
		if _, ok := errors.AsType[*usageError](err); ok {
			return 2
		}
		return 1
	}
	return 0
}

// usageError is an error of whoever called the command.
type usageError struct{ reason string }

func (e *usageError) Error() string { return e.reason }

type helpCmd struct {
	Command string `arg:"" optional:"" help:"The command to explain."`
}

// Run shows help and ends run.
func (c *helpCmd) Run(parser *kong.Kong) error {
	args := []string{"--help"}
	if c.Command != "" {
		args = []string{c.Command, "--help"}
	}
	_, err := parser.Parse(args) // shows it and exits
	return &usageError{err.Error()}
}
