"""How the pods of a UnitedDeployment are spread over its subsets: one file for each way, all of them arithmetic.

`specified` heeds numbers that subsets ask for and evens out the rest, `elastic` fills subsets in their order between
bounds, `adaptive` does so and heeds what could not be scheduled, `reservation` puts stand-ins elsewhere meanwhile.
Which of them counts is said in `choice`. None knows of workloads or of time.
"""
