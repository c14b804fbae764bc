"""The controller manager: what makes deployments roll, pods run and garbage go, in a process of its own.

`runtime` is the machinery and knows no kind, `planning` is arithmetic, `controllers` has one file per controller: what
it watches, what it observes, and a plan of what to do. `manager` starts them. The API server is reached by HTTP alone,
and of its code only `apiserver.api` is used, so all this works with any cluster.
"""
