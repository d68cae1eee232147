package fast

// What an evaluation takes of its query's budget.

const (
	// rowBytes is what a step of a row takes.
	rowBytes = 8
	// placeBytes is what a series takes in lists.
	placeBytes = 32
	// labelsBytes is what its labels take beside their text.
	labelsBytes = 32
	// rowSize is what a row takes besides: itself, its labels' header and its place in lists.
	rowSize = 128
	// maxRead is how many samples of one series are read at once; of more the engine keeps no more than a window.
	maxRead = 1_250_000
)

// hold charges bytes that are about to be taken.
func (r *run) hold(bytes int64, what string) error {
	if err := r.budget.Charge(r.ctx, bytes, what); err != nil {
		return err
	}
	r.held.Add(bytes)
	return nil
}

// let says that some of them are not held any more.
func (r *run) let(bytes int64) {
	r.held.Add(-bytes)
	r.budget.Return(bytes)
}

// drop says that nothing of this evaluation is held any more.
func (r *run) drop() { r.budget.Return(r.held.Swap(0)) }

// ready makes the scratch's row as long as there are steps, and charges what the scratch has grown.
func (r *run) ready(memory *scratch) error {
	if cap(memory.row) < r.at.n {
		memory.row = make([]float64, r.at.n)
	}
	memory.row = memory.row[:r.at.n]
	now := 8 * int64(cap(memory.numbers.Values)+max(cap(memory.numbers.Times), cap(memory.numbers.Values))+cap(memory.row))
	if now <= memory.charged {
		return nil
	}
	more := now - memory.charged
	memory.charged = now
	return r.hold(more, "samples of a series")
}
