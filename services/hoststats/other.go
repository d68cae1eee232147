//go:build !linux

package hoststats

// Read reads nothing yet: the kstats of illumos come with tracerd.
func (c *Collector) Read() []Reading { return nil }
