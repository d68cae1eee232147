// The checks of `./build.sh test lint`, each a command that passes or fails. What takes more than one command stands in
// build/checks.sh or in a program beside this one.

export interface Check {
  readonly name: string;
  readonly argv: readonly string[];
  /** Takes many seconds: started first. */
  readonly slow?: boolean;
}

const script = (name: string) => ['bash', 'build/checks.sh', name];
const go = (line: string) => ['bash', '-ec', `cd services; ${line}`];

export const checks: readonly Check[] = [
  { name: 'shell: shellcheck', argv: script('shellcheck_bash'), slow: true },
  { name: 'shell: shfmt', argv: script('shfmt') },
  // What runs on illumos: its shell is ksh93, and -n says more than shellcheck of that language.
  { name: 'ksh: ksh93 -n', argv: script('ksh_syntax') },
  { name: 'ksh: shellcheck', argv: script('shellcheck_ksh') },
  { name: 'Go: gofmt', argv: script('gofmt_all') },
  { name: 'Go: vet', argv: go('go vet ./...'), slow: true },
  { name: 'Go: staticcheck', argv: go('go tool staticcheck ./...'), slow: true },
  {
    name: 'Go: vet of the tests, and the bench’s own',
    argv: [
      'bash',
      '-ec',
      'cd tests/conformance; go vet -tags grpcnotrace,clients ./...; cd ../bench/peers; go vet ./...; go test ./cmd/bench; cd ../../vm/ovf; go vet ./...',
    ],
    slow: true,
  },
  { name: 'Go: vet for illumos', argv: go('GOOS=illumos GOARCH=amd64 go vet ./...'), slow: true },
  // The command line is handed out for these, too.
  ...['windows', 'darwin'].map((system) => ({
    name: `Go: vet of the command for ${system}`,
    argv: go(`GOOS=${system} GOARCH=amd64 go vet ./cli/... ./cmd/cistern/... ./transfer/...`),
    slow: true,
  })),
  {
    name: 'Go: go.mod is tidy',
    argv: [
      'bash',
      '-ec',
      'cd services; go mod tidy -diff; cd ../tests/conformance; go mod tidy -diff; cd ../vm/ovf; go mod tidy -diff',
    ],
  },
  { name: 'TypeScript: format and lint (biome)', argv: ['node_modules/@biomejs/cli-linux-x64/biome', 'check', '.'] },
  ...['appliance-kit', 'ui', 'tests'].map((part) => ({
    name: `TypeScript: types of ${part}`,
    argv: ['tsc', '-p', part],
    slow: true,
  })),
  { name: 'OpenAPI document is that of the code', argv: script('openapi') },
  {
    name: 'printed tables of routes, errors and alerts are those of the code',
    argv: ['node', 'appliance-kit/scripts/write-docs.ts', '--check'],
  },
  ...['appliance-kit/src', 'ui/src'].map((folder) => ({
    name: `imports: docs/ARCHITECTURE.md holds in ${folder}`,
    argv: ['node', 'tests/lint/imports.ts', folder],
  })),
  { name: 'the MIB is clean (smilint -l 6)', argv: script('mib_is_clean') },
  { name: 'SMF manifests are well formed', argv: script('smf_well_formed') },
  { name: 'nothing names a package registry or mirror', argv: script('no_hosts') },
  { name: 'no file is longer than 600 lines', argv: script('files_are_short') },
  { name: 'docs: screenshots are small', argv: script('screenshots_small') },
  { name: 'no merge is left half done', argv: script('no_conflict_marks') },
  { name: 'docs: links and names of files', argv: ['node', 'tests/run/docs.ts'] },
  { name: 'commits: subjects', argv: script('commit_subjects') },
];
