package host

// SystemPool is the pool that the appliance itself lives on.
const SystemPool = "system"
