"""OpenKruise's controllers as a plug-in: CloneSet, Advanced StatefulSet and UnitedDeployment.

`specs` names them; nothing else in this package is known outside it. Upstream's Advanced StatefulSet is a fork of
Kubernetes' own, so this package stands above `controller_manager.controllers` and uses its statefulset's arithmetic
(the design has the two side by side).
"""
