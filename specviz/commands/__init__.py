"""The actions of the command line, one file each: `add(actions)` registers one. Heavy imports wait until it runs."""
