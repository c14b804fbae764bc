"""Rules of custom resources: x-kubernetes-validations of their schemas, over `apiserver.cel`.

`rule_validation` says what is wrong with rules, `validator` what is wrong with objects; `rules` is the door to both and
imports them once a schema has rules. No rule takes longer than upstream lets it: what it can cost is estimated
beforehand, and counted as it is evaluated.
"""

from apiserver.apiextensions.rules.rules import Rules, default_rule_errors, rule_errors
from apiserver.apiextensions.rules.verdicts import Preexisting, Verdict

__all__ = ["Preexisting", "Rules", "Verdict", "default_rule_errors", "rule_errors"]
