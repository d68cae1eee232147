package conformance

// InfluxDB's own client for Python, by the second version of its API: single points, batches in the background, gzip.

import (
	"fmt"
	"testing"
)

func pythonInflux(t *testing.T, d *daemon) {
	python := pypi(t, "pypi-influxdb-client-1.50.0", "influxdb-client==1.50.0")
	script := fmt.Sprintf(`import sys, time
from influxdb_client import InfluxDBClient, Point, WriteOptions, WritePrecision
from influxdb_client.client.write_api import SYNCHRONOUS
from influxdb_client.rest import ApiException

failed = []
now = time.time_ns()
for gzip in (False, True):
    with InfluxDBClient(url=%q, token="any", org="any", enable_gzip=gzip) as client:
        if not client.ping():
            sys.exit("ping")
        kind = "packed" if gzip else "plain"
        with client.write_api(write_options=SYNCHRONOUS) as api:
            api.write(bucket="any", record=Point("influx_room").tag("kind", kind).tag("place", "räum, 1=2").field("temperature", 21.5).field("people", 3).field("lit", True).time(now))
            for unit, at in ((WritePrecision.S, now // 10**9), (WritePrecision.MS, now // 10**6), (WritePrecision.US, now // 10**3)):
                api.write(bucket="any", record=Point("influx_unit").tag("kind", kind).tag("unit", str(unit)).field("v", 1).time(at, unit), write_precision=unit)
        with client.write_api(write_options=WriteOptions(batch_size=100, flush_interval=200), error_callback=lambda *about: failed.append(about)) as api:
            api.write(bucket="any", record=[Point("influx_batch").tag("kind", kind).field("v", i).time(now - i * 10**8) for i in range(250)])
        try:
            client.write_api(write_options=SYNCHRONOUS).write(bucket="any", record="no line protocol")
            sys.exit("what is no line was taken")
        except ApiException as refused:
            if refused.status != 400 or "line 1: fields are missing" not in str(refused.body):
                sys.exit("refused with %%s %%s" %% (refused.status, refused.body))
if failed:
    sys.exit(str(failed))
`, "http://"+d.http)
	if err := run(t.Context(), ".", python, "-c", script); err != nil {
		t.Fatal(err)
	}
	for _, kind := range []string{"plain", "packed"} {
		d.value(t, fmt.Sprintf(`influx_room_temperature{kind=%q,place="räum, 1=2"}`, kind), is(21.5))
		d.value(t, fmt.Sprintf(`influx_room_people{kind=%q}`, kind), is(3))
		d.value(t, fmt.Sprintf(`influx_room_lit{kind=%q}`, kind), is(1))
		d.value(t, fmt.Sprintf(`sum(influx_unit_v{kind=%q})`, kind), is(3))
		d.value(t, fmt.Sprintf(`count_over_time(influx_batch_v{kind=%q}[1m])`, kind), is(250))
		d.value(t, fmt.Sprintf(`sum_over_time(influx_batch_v{kind=%q}[1m])`, kind), is(249*250/2))
	}
}
