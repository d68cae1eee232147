package histogram
type Dense struct{ h Histogram }
func (d *Dense) Merge(h *Histogram) { d.h.Merge(h) }
func (d *Dense) Histogram() *Histogram { return &d.h }
func (d *Dense) Reset() { d.h.Reset() }
