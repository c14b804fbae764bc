"""managedFields: sets of owned fields, their wire format fieldsV1, and schemas that tell which fields are owned."""
