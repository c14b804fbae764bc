"""The Common Expression Language: parser, checker, costs, evaluation, functions.

Knows no schema, no Kubernetes object and no admission. Of cel-expr-python, Google's implementation in C++, it uses the
messages of syntax errors; its evaluator cannot carry a server: on Python 3.11 it aborts
the process after some thousand null results (it gives away references to None that it does not own), it stops every
rule after 10,000 steps instead of at upstream's cost, and it knows neither lists that are sets nor comparisons of an
int with a double. Specification: https://github.com/google/cel-spec/blob/master/doc/langdef.md
"""
