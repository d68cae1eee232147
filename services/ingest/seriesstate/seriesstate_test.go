package seriesstate

import (
	"context"
	"errors"
	"testing"
	"time"

	"cistern/services/ingest/admission"
)

func TestTable(t *testing.T) {
	table := New[int](2)
	leave, err := table.Enter(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if _, err := table.Enter(ctx); !errors.Is(err, admission.ErrLeft) {
		t.Errorf("a second user: %v", err)
	}
	leave()
	if leave, err = table.Enter(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer leave()
	start := time.Unix(1_000_000, 0)
	table.Sweep(start)
	table.Set("a", 7, start)
	if got, known := table.Get([]byte("a")); got != 7 || !known || table.Full(0) || !table.Full(1) {
		t.Error(got, known, table.Full(0), table.Full(1))
	}
	table.Set("b", 8, start.Add(ForgetAfter))
	if !table.Full(0) {
		t.Error("there is room for a third")
	}
	table.Sweep(start.Add(SweepEvery - 1)) // too soon
	table.Sweep(start.Add(ForgetAfter + 1))
	if _, known := table.Get([]byte("a")); known || table.Len() != 1 {
		t.Error("a is not forgotten, or b is")
	}
}

func TestWeight(t *testing.T) {
	table := New[int](10)
	table.Weigh = func(n int) int { return n }
	start := time.Unix(1_000_000, 0)
	table.Sweep(start)
	table.Set("ab", 100, start)
	table.Set("c", 50, start.Add(ForgetAfter))
	table.Set("c", 60, start.Add(ForgetAfter))
	if table.Weight() != 2+100+1+60 {
		t.Error(table.Weight())
	}
	if table.Sweep(start.Add(ForgetAfter + 1)); table.Weight() != 61 {
		t.Error("what is forgotten still weighs:", table.Weight())
	}
}
