"""Functions that rules call: overload id → what it computes, a table per library.

Each is called with values of the types that its signature has, so it checks none. What it cannot compute it raises as
an EvaluationError with upstream's message. The signatures are `language.declarations`, the costs `language.costs`.
"""
