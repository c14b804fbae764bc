"""What a verb means: create, get, list, update, patch, delete and watch as pipelines over the store. No HTTP.

Defaults, validation and strategies are pure and driven by the resource's row and the schema; `operations` joins
them; `storage` alone turns a store's errors into API errors; `codec` alone stamps resource versions. Other servers may
write to the same store: what is read here is what was seen of it so far, unless `Storage` was asked for what is newest.
"""
