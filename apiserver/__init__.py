"""The API server: Kubernetes' REST and watch protocol over the versioned keys of `etcd`.

`api` is what all of Kubernetes' API shares, `cel` the expression language, `groups` one file per built-in kind,
`apiextensions` custom resources; these are pure. `registry` implements the verbs for every kind, `admission` and `auth`
guard it, `endpoints` is HTTP only, `controllers` run in the background, and `app` puts them together. Imports go one
way. `config`, `release` and `metrics` are values, `exposition` writes out the metrics, and `listening` and `background`
run as long as a server. `component_base` is what the server and the controller manager have in common as programs.
"""
