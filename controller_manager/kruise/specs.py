"""OpenKruise's controllers, as the manager registers them."""

from dataclasses import replace

from controller_manager.kruise.cloneset import controller as cloneset
from controller_manager.kruise.statefulset import controller as statefulset
from controller_manager.kruise.uniteddeployment import controller as uniteddeployment
from controller_manager.reconcile.contract import ControllerSpec

SPECS: tuple[ControllerSpec, ...] = tuple(
    replace(spec, program="manager") for spec in (uniteddeployment.SPEC, cloneset.SPEC, statefulset.SPEC)
)
"""The controllers of this package; OpenKruise's program is called `manager`."""
