"""One file per controller, each a SPEC with observe() and plan(); this module will hold CONTROLLERS alone."""
