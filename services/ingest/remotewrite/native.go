package remotewrite

// Native histograms as remote write carries them.

import (
	"fmt"

	"cistern/services/store/tsdb"

	promhistogram "github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/prompb"
)

// maxNativeBuckets bounds one histogram: sixteen times what Prometheus scrapes by default.
const maxNativeBuckets = 2560

// nativeOfProto reads a prometheus.Histogram. An error that is a *tsdb.KeyError is about this histogram alone.
func nativeOfProto(message []byte) (timeMillis int64, h *promhistogram.FloatHistogram, err error) {
	var p prompb.Histogram
	if err := p.Unmarshal(message); err != nil {
		return 0, nil, ErrProtobuf
	}
	bad := func(format string, args ...any) error {
		return &tsdb.KeyError{Reason: tsdb.BadHistogram, Detail: "a native histogram is refused: " + fmt.Sprintf(format, args...)}
	}
	buckets := len(p.PositiveDeltas) + len(p.PositiveCounts) + len(p.NegativeDeltas) + len(p.NegativeCounts)
	if buckets > maxNativeBuckets || len(p.CustomValues) > maxNativeBuckets || len(p.PositiveSpans)+len(p.NegativeSpans) > maxNativeBuckets {
		return 0, nil, bad("it has more than %d buckets", maxNativeBuckets)
	}
	if p.IsFloatHistogram() {
		h = p.ToFloatHistogram()
		err = h.Validate()
	} else {
		whole := p.ToIntHistogram()
		if err = whole.Validate(); err == nil {
			h = whole.ToFloat(nil)
		}
	}
	if err != nil {
		return 0, nil, bad("%v", err)
	}
	return p.Timestamp, h, nil
}
