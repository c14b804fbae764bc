"""Programs: checked expressions made into closures that evaluate them and count their cost."""
