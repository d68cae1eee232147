package ingest

import "cistern/services/tsdb"
import promhistogram "github.com/prometheus/prometheus/model/histogram"

func nativeOfProto(message []byte) (int64, *promhistogram.FloatHistogram, error) {
	return 0, nil, &tsdb.KeyError{Reason: "native_histogram_unsupported", Detail: "native histograms are not accepted yet"}
}
