package target

// KeysOf lets the schema's test compare.
func KeysOf(kind string) []string { return keysOf(kind) }
