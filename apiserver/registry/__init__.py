"""What a verb means, for any kind: pipelines over the store. No HTTP.

`rest` has a file per verb. What is special of a kind comes from its file in `apiserver.groups`, by the lookups
`defaults`, `strategy`, `validation`, `fields` and `conversion`. `storage` alone turns a store's errors into API errors;
`codec` alone stamps resource versions. Other servers may write to the same store: what is read here is what was seen
of it so far, unless `Storage` was asked for what is newest.
"""
