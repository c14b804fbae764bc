"""The API server: Kubernetes' REST and watch protocol over the versioned keys of `etcd`.

`api` is Kubernetes as data and pure functions, `registry` is what a verb means, `auth` is who asks and may he,
`endpoints` is HTTP and nothing else, `app` puts them together. Imports go one way, in that order. Beside them stand
`config`, `release` and `metrics`, which are values, `exposition`, which tells them, and `listening` and `housekeeping`,
which last as long as a server.
"""
