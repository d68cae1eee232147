#!/usr/bin/env bash
# ./build.sh bench: what is measured, and beside what. For build.sh.

# bench_peers: the systems that storaged is measured against, and the driver that measures them; sets PEERS_DIR. The
# peers are pinned by a go.mod of their own; their programs are kept as long as it stays the same.
bench_peers() {
  peers_stage() {
    local started=$SECONDS target
    for target in github.com/VictoriaMetrics/VictoriaMetrics/app/victoria-metrics github.com/prometheus/prometheus/cmd/prometheus github.com/prometheus/statsd_exporter; do
      say "peers: ${target##*/}"
      (cd tests/bench/peers && run "$CISTERN_CACHE/log/peers.log" go build -tags netgo,remove_all_sd -ldflags '-s -w' -o "$1/" "$target")
    done
    run "$CISTERN_CACHE/log/peers.log" npm install --prefix "$1/statsd" --no-audit --no-fund --no-package-lock --ignore-scripts --omit=optional --cache "$CISTERN_CACHE/npm" "statsd@$2"
    echo $((SECONDS - started)) >"$1/build-seconds"
  }
  local statsd=0.9.0
  peers_with_statsd() { peers_stage "$1" "$statsd"; }
  stage peers "$(stage_key @tests/bench/peers/go.mod "$(go env GOVERSION)" "statsd $statsd")" peers_with_statsd
  PEERS_DIR=$STAGE_DIR
}

# bench_storaged [OPTION…]: Cistern and its peers in one run; the table goes to tests/bench/RESULTS.md
bench_storaged() {
  need npm:npm setpriv:util-linux
  bench_peers
  local bin=$PWD/out/bench-storaged harness=$PWD/out/bench-storaged/benchjournal commit overlay
  mkdir -p "$bin"
  (cd tests/bench/peers && go build -o "$bin/" ./cmd/bench ./cmd/logs)
  (cd services && go build -ldflags "-s -w -X main.version=$VERSION" -o "$bin/storaged" ./cmd/storaged)
  # The journal's harness is compiled as if it were one of the services' commands; it may fail while the journal changes.
  overlay=$bin/overlay.json
  printf '{"Replace":{"%s":"%s"}}\n' "$PWD/services/cmd/benchjournal/main.go" "$PWD/tests/bench/storaged/journal/main.go" >"$overlay"
  (cd services && go build -overlay "$overlay" -o "$harness" ./cmd/benchjournal) || {
    say "the journal's harness does not fit the journal"
    harness=
  }
  commit=$(git rev-parse --short HEAD)
  [ -z "$(git status --porcelain -- services)" ] || commit+=' and changes'
  "$bin/bench" -storaged "$bin/storaged" -journal "$harness" -logs "$bin/logs" -peers "$PEERS_DIR" -modules tests/bench/peers/go.mod \
    -services services -node "$(command -v node)" -commit "$commit" -results tests/bench/RESULTS.md "$@"
}

verb_bench() {
  local part parts=() options=() image_options=()
  while [ $# -gt 0 ]; do
    case $1 in
    --no-cold) image_options+=("$1") ;;
    --only | --profile | --repeats | --minutes | --temp | --storaged-flags) # options with a value
      [ $# -gt 1 ] || die "$1 needs a value"
      options+=("$1" "$2")
      shift
      ;;
    --*) options+=("$1") ;;
    *) parts+=("$1") ;;
    esac
    shift
  done
  [ ${#parts[@]} -gt 0 ] || parts=(image nginx storage alerts alert-log store why storaged analytics views support access)
  toolchain_go
  toolchain_node
  for part in "${parts[@]}"; do
    case $part in
    image)
      verb_image
      node tests/bench/image.ts "${image_options[@]}"
      ;;
    why)
      (cd services && go test -run '^$' -bench 'Why|Changed' -benchtime 100x ./store/api)
      (cd services && go test -run '^$' -bench FalseAlarms -benchtime 1x ./store/api) # it records once, for minutes
      ;;
    store) (cd services && go test -run '^$' -bench . -skip FalseAlarms -benchtime 1s ./histogram ./journal ./ingest/... ./store/...) ;;
    storage) node tests/bench/storage.ts ;;
    alerts)
      need snmptrap:snmp
      node tests/bench/alerts.ts "${options[@]}"
      ;;
    alert-log) node tests/bench/alert-log.ts "${options[@]}" ;;
    analytics)
      need chromium-headless-shell:chromium-headless-shell /usr/sbin/nginx:nginx-light openssl:openssl
      node tests/bench/analytics.ts
      ;;
    views)
      need chromium-headless-shell:chromium-headless-shell /usr/sbin/nginx:nginx-light openssl:openssl
      node tests/bench/views.ts "${options[@]}"
      ;;
    nginx)
      need wrk:wrk
      node tests/bench/nginx.ts
      ;;
    support)
      need curl:curl /usr/sbin/nginx:nginx-light openssl:openssl
      node tests/bench/support.ts
      ;;
    access)
      need /usr/sbin/nginx:nginx-light openssl:openssl
      node tests/bench/access.ts
      ;;
    storaged) bench_storaged "${options[@]}" ;;
    *) die "there is no benchmark '$part'" "They are: image nginx storage alerts alert-log store storaged analytics views support access" ;;
    esac
  done
}
