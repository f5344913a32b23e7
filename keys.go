package main

import (
	"fmt"
	"strconv"
	"text/tabwriter"

	"github.com/carillon-scheduler/carillon/shared/secret"
)

// keysFlags say where the keys are that seal the secrets of definitions.
type keysFlags struct {
	Keys string `help:"File of the keys that seal the secrets of definitions; API servers and workers share it. Make it with 'carillon keys new'." type:"path" placeholder:"FILE"`
}

func (f *keysFlags) load() (*secret.Keys, error) {
	if f.Keys == "" {
		return nil, &usageError{"no key file: make one with 'carillon keys new FILE', and name it with --keys or CARILLON_KEYS to every API server and worker"}
	}
	return secret.Load(f.Keys)
}

type keysCmd struct {
	New    keysNewCmd    `cmd:"" help:"Make a key file."`
	Rotate keysRotateCmd `cmd:"" help:"Seal with a new key from now on. What was sealed before goes on opening."`
	List   keysListCmd   `cmd:"" help:"List the keys of a file, by id."`
	Remove keysRemoveCmd `cmd:"" help:"Remove a key. What is sealed with it cannot be opened any more."`
}

// keysFile is the file that the commands about keys work on.
type keysFile struct {
	File string `arg:"" help:"The key file." type:"path"`
}

type keysNewCmd struct{ keysFile }

// Run makes a key file.
func (c *keysNewCmd) Run(s *streams) error {
	if err := secret.Create(c.File); err != nil {
		return err
	}
	_, err := fmt.Fprintf(s.out, "%s: made, for your eyes only. Keep a copy in a safe place: without it no secret of a job can be opened.\n", c.File)
	return err
}

type keysRotateCmd struct{ keysFile }

// Run rotates the keys.
func (c *keysRotateCmd) Run(s *streams) error {
	if err := secret.Rotate(c.File); err != nil {
		return err
	}
	_, err := fmt.Fprintf(s.out, "%s: a new key seals from now on. Processes that use this file have seen it within a second; copy it to the others before you rotate again.\n", c.File)
	return err
}

type keysListCmd struct{ keysFile }

// Run lists the keys.
func (c *keysListCmd) Run(s *streams) error {
	keys, err := secret.List(c.File)
	if err != nil {
		return err
	}
	w := tabwriter.NewWriter(s.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "KEY\tUSE")
	for _, k := range keys {
		fmt.Fprintf(w, "%s\t%s\n", k, k.Use)
	}
	return w.Flush()
}

type keysRemoveCmd struct {
	keysFile
	Key string `arg:"" help:"The key's id, as 'carillon keys list' shows it."`
}

// Run removes a key.
func (c *keysRemoveCmd) Run(s *streams) error {
	id, err := strconv.ParseUint(c.Key, 16, 32)
	if err != nil {
		return &usageError{"KEY must be 8 hex digits, as 'carillon keys list' shows them"}
	}
	if err := secret.Remove(c.File, uint32(id)); err != nil {
		return err
	}
	_, err = fmt.Fprintf(s.out, "%s: removed key %s\n", c.File, c.Key)
	return err
}
