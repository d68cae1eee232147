package main

// cistern export: what an appliance holds, as files for other systems.

import (
	"errors"
	"flag"
	"fmt"
	"time"

	"cistern/services/transfer"
	"cistern/services/transfer/openmetrics"
	"cistern/services/transfer/prometheus"
)

const exportHelp = `cistern export prometheus DIR            blocks that a Prometheus opens; DIR must not be there yet
cistern export openmetrics FILE|-        OpenMetrics text; - is standard output
`

func exportHistory(s streams, arguments []string) error {
	var m moving
	flags := m.flags(s, "export", exportHelp)
	span := flags.Duration("block", 2*time.Hour, "of prometheus: the `time` of a block: 2h, 6h or 18h")
	others, err := words(flags, arguments)
	if errors.Is(err, flag.ErrHelp) {
		return nil
	}
	if err != nil {
		return err
	}
	if len(others) != 2 || others[0] != "prometheus" && others[0] != "openmetrics" {
		fmt.Fprint(s.err, exportHelp)
		return errUsage
	}
	chosen, err := m.selection()
	if err != nil {
		return err
	}
	ctx, stop := interruptible()
	defer stop()
	from, shown := m.connect(), screen(s)
	const patience = 10 * time.Minute
	if others[0] == "prometheus" {
		sum, err := prometheus.Export(ctx, from, chosen, others[1], *span, patience, shown)
		if ctx.Err() != nil {
			return errors.New("it was interrupted, and nothing was written")
		}
		if err != nil {
			return err
		}
		shown.Say("Wrote %s samples, %s of them histograms. Move the folders in %s into Prometheus' data folder while it is stopped.", transfer.Number(sum.NumSamples), transfer.Number(sum.NumHistogramSamples), others[1])
		if sum.NumHistogramSamples > 0 {
			shown.Say("Log-linear histograms are native histograms with custom bounds there: each bin is a bucket of its own, nothing is re-binned.")
		}
	} else {
		sum, err := openmetrics.Export(ctx, from, chosen, others[1], s.out, patience, shown)
		if ctx.Err() != nil {
			return errors.New("it was interrupted, and no file was written")
		}
		if err != nil {
			return err
		}
		shown.Say("Wrote %s samples of %s.", transfer.Number(sum.Samples), transfer.Counted(sum.Series, "series", "series"))
		if sum.Natives+sum.Marks > 0 {
			shown.Say("Left out, because OpenMetrics has no form for them: %s native histograms and %s marks that a series ended. “cistern export prometheus” has them.",
				transfer.Number(sum.Natives), transfer.Number(sum.Marks))
		}
	}
	if kept := transfer.Coarse(ctx, from); kept > chosen.From {
		stretches, err := transfer.Stretches(ctx, from, chosen)
		if err != nil {
			return err
		}
		for _, one := range stretches {
			if one.From < kept {
				shown.Say("What is older than %s is there as values of a minute or an hour only: for each there is one sample, of a counter the last value, of other numbers the mean.", transfer.Day(kept))
				break
			}
		}
	}
	return nil
}
