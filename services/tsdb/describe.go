package tsdb

// Metadata and exemplars: what clients say about names and single measurements.

// Describe implements Ingester.
func (s *Store) Describe(metadata []Metadata) {}

// Exemplify implements Ingester.
func (s *Store) Exemplify(exemplars []Exemplar) {}
