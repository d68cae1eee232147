// The independent reader of the OVA's description: tests/vm/image.test.ts.
module cistern/tests/vm/ovf

go 1.26.8

require github.com/vmware/govmomi v0.18.0
