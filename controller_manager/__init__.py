"""The controller manager: what makes deployments roll, pods run and garbage go, in a process of its own.

`planning` is arithmetic, `runtime` the machinery, the same under all controllers, `parts` what controllers share;
`controllers` has one file each: what it watches, what it observes, and a plan of what to do. `containers` is what
simulated processes do, `streams` lets clients see it, `manager` puts all together. The API server is reached by HTTP
alone, and of its code only `apiserver.api` is used, so all this works with any cluster. The design has no `parts`,
`containers`, `streams`: plans that several share, and the simulated kubelets' server, needed rooms.
"""
