"""Programs: checked expressions compiled to closures that evaluate them and count their cost."""
