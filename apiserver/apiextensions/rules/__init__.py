"""The rules of custom resources: x-kubernetes-validations of their schemas, over `apiserver.cel`.

`rule_validation` validates rules, `validator` validates objects by them; `rules` is the entrance to both and imports
them once a schema has rules. No rule takes longer than upstream allows: its cost is estimated when the definition is
created, and counted when the rule is evaluated.
"""

from apiserver.apiextensions.rules.rules import RuleValidator, default_rule_errors, rule_errors
from apiserver.apiextensions.rules.verdicts import PreexistingExpressions, RuleResult

__all__ = ["PreexistingExpressions", "RuleResult", "RuleValidator", "default_rule_errors", "rule_errors"]
