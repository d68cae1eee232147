package admission

// MaxLarge is how many large bodies are read at once.
const MaxLarge = maxLarge

// Use is how many places are taken.
type Use struct{ Holding, Large, Quick, Slow int }

// InUse is how many places of a gate are taken.
func (g *Gate) InUse() Use { return Use{len(g.holding), len(g.large), len(g.quick), len(g.slow)} }
