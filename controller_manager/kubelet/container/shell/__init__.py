"""The POSIX shell of simulated containers: lexer, parser, expansion and interpreter."""
