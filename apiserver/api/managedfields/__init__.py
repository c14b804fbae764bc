"""managedFields: sets of owned fields, their wire form fieldsV1, and schemas as ownership sees them."""
