"""Rules of custom resources: x-kubernetes-validations of their schemas, in the Common Expression Language (CEL).

`language` knows expressions, `functions` what they may call, `evaluation` makes programs of them; the modules here
know schemas and objects. `creation` tells what is wrong with rules, `trial` what is wrong with objects; `rules` is the
door to both, which imports them when a schema has rules.
No rule takes longer than upstream lets it: what it can cost is estimated beforehand, and counted as it is evaluated.
"""

from apiserver.apiextensions.rules.rules import Preexisting, Rules, Verdict, default_rule_errors, rule_errors

__all__ = ["Preexisting", "Rules", "Verdict", "default_rule_errors", "rule_errors"]
