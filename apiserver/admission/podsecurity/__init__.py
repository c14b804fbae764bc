"""PodSecurity: the three levels of the Pod Security Standards (k8s.io/pod-security-admission).

`levels` reads the labels of a namespace, `checks` holds a pod against a level, and `plugin` refuses and warns.
"""
