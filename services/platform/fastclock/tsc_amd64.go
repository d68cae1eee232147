package fastclock

// readTSC is the processor's time stamp counter.
//
//go:noescape
func readTSC() uint64

//go:noescape
func cpuid(leaf uint32) (a, b, c, d uint32)

// invariant says whether the counter runs at one rate whatever the processor's power states (CPUID 8000_0007h, EDX bit
// 8; AMD64 Architecture Programmer's Manual vol. 3, Intel SDM vol. 2A).
func invariant() bool {
	const leaf = 0x8000_0007
	if most, _, _, _ := cpuid(0x8000_0000); most < leaf {
		return false
	}
	_, _, _, d := cpuid(leaf)
	return d&(1<<8) != 0
}
