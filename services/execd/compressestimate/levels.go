package compressestimate

import (
	"bytes"
	"compress/zlib"
)

// compressor answers how many bytes a block becomes, without ZFS' rounding. It may answer more than the block has.
type compressor interface{ size(block []byte) int }

// level is one value of the property compression: the size is that of ZFS' own algorithm for lz4, lzjb and zle, and for
// gzip that of the standard library, which follows zlib. Those of zstd are in zstdtool.go.
type level struct {
	name string
	make func() compressor
	slow bool // tried on fewer blocks
}

var levels = []level{
	{name: "lz4", make: func() compressor { return &lz4{} }},
	{name: "gzip-1", make: newGzip(1)},
	{name: "gzip-6", make: newGzip(6), slow: true},
	{name: "gzip-9", make: newGzip(9), slow: true},
	{name: "lzjb", make: func() compressor { return &lzjb{} }},
	{name: "zle", make: func() compressor { return zle{} }},
}

type gzipLevel struct {
	out    bytes.Buffer
	writer *zlib.Writer
}

func newGzip(n int) func() compressor {
	return func() compressor {
		g := &gzipLevel{}
		g.writer, _ = zlib.NewWriterLevel(&g.out, n) // 1 to 9 are levels
		return g
	}
}

func (g *gzipLevel) size(block []byte) int {
	g.out.Reset()
	g.writer.Reset(&g.out)
	_, _ = g.writer.Write(block) // into memory
	_ = g.writer.Close()
	return g.out.Len()
}
