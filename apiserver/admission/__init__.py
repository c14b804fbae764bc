"""Admission plug-ins, one file each (plugin/pkg/admission).

The chain and its contract are `apiserver.registry.admission`, since every write passes it; `apiserver.app` says which
plug-ins a server has. Here: defaulting and refusing that needs other objects or another project's rules.
"""
