package execd

// NewHost is the host of the OmniOS appliance.
func NewHost() (Host, error) { return &Illumos{}, nil }
