"""Admission plug-ins, one file each (plugin/pkg/admission).

The chain and its contract are `apiserver.registry.admission`, since every write passes it; `plugins` has them in their
order, and chooses those of a server. Here: defaults and checks that need other objects or another project's rules.
"""
