"""The API server: Kubernetes' REST and watch protocol over the versioned keys of `etcd`.

`api` is what all of Kubernetes' API shares, `cel` the expression language, `groups` one file per built-in kind,
`apiextensions` custom resources; these are pure. `registry` is what a verb means for any kind, `admission` and `auth`
stand before it, `endpoints` is HTTP and nothing else, `controllers` is what the server does in the background, and
`app` puts them together. Imports go one way. Beside them stand `config`, `release` and `metrics`, which are values,
`exposition`, which writes them out, and `listening` and `background`, which last as long as a server.
"""
