"""The API verbs for every kind, as pipelines over the store. No HTTP.

`rest` has a file per verb. What is special about a kind comes from its file in `apiserver.groups`, through
`kind_tables`, `strategy` and `validation`. `storage` alone turns a store's errors into API errors; `codec` alone stamps
resource versions. Other servers may write to the same store: reads return what this server has seen of it so far,
unless `Storage` is asked for the newest state.
"""
