package column

import ("encoding/binary";"math";"errors";"cistern/services/histogram")
var errBad=errors.New("bad")
func AppendNumbers(dst []byte, times []int64, values []float64) []byte { dst=binary.AppendUvarint(dst,uint64(len(times))); for i:=range times {dst=binary.AppendVarint(dst,times[i]); dst=binary.LittleEndian.AppendUint64(dst,math.Float64bits(values[i]))}; return dst}
func DecodeNumbers(src []byte, times []int64, values []float64) ([]int64, []float64, error) { n,s:=binary.Uvarint(src); if s<=0||n>uint64(len(src)) {return times,values,errBad}; src=src[s:]; for range n { t,s:=binary.Varint(src); if s<=0||len(src)<s+8 {return times,values,errBad}; times=append(times,t); values=append(values,math.Float64frombits(binary.LittleEndian.Uint64(src[s:]))); src=src[s+8:]}; return times,values,nil}
func AppendHistograms(dst []byte, times []int64, hists []histogram.Histogram) []byte { dst=binary.AppendUvarint(dst,uint64(len(times))); for i:=range times {dst=binary.AppendVarint(dst,times[i]); dst=hists[i].Append(dst)}; return dst}
type HistogramRun struct{times []int64; h []histogram.Histogram}
func (r *HistogramRun) Open(src []byte) error { *r=HistogramRun{}; n,s:=binary.Uvarint(src); if s<=0||n>uint64(len(src)) {return errBad}; src=src[s:]; for range n { t,s:=binary.Varint(src); if s<=0 {return errBad}; var h histogram.Histogram; rest,err:=h.Decode(src[s:]); if err!=nil {return err}; src=rest; r.times=append(r.times,t); r.h=append(r.h,h)}; return nil}
func (r *HistogramRun) Len() int {return len(r.times)}
func (r *HistogramRun) Times() []int64 {return r.times}
func (r *HistogramRun) Decode(dst []histogram.Histogram) ([]histogram.Histogram, error) {return append(dst,r.h...),nil}
func (r *HistogramRun) AddWindows(window []int, into []*histogram.Dense) error { for i,w:=range window { if w>=0 { if into[w]==nil {into[w]=&histogram.Dense{}}; into[w].Merge(&r.h[i])}}; return nil}
type Rollup struct{ Times []int64; Min, Max, Sum, Last []float64; Count []uint64 }
func AppendRollups(dst []byte, r *Rollup) []byte { dst=binary.AppendUvarint(dst,uint64(len(r.Times))); for i,t:=range r.Times { dst=binary.AppendVarint(dst,t); for _,v:=range []float64{r.Min[i],r.Max[i],r.Sum[i],r.Last[i]} { dst=binary.LittleEndian.AppendUint64(dst,math.Float64bits(v))}; dst=binary.AppendUvarint(dst,r.Count[i])}; return dst}
func DecodeRollups(src []byte, r *Rollup) error { n,s:=binary.Uvarint(src); if s<=0||n>uint64(len(src)) {return errBad}; src=src[s:]; f:=func() float64 { v:=math.Float64frombits(binary.LittleEndian.Uint64(src)); src=src[8:]; return v}; for range n { t,s:=binary.Varint(src); if s<=0||len(src)<s+33 {return errBad}; src=src[s:]; r.Times=append(r.Times,t); r.Min=append(r.Min,f()); r.Max=append(r.Max,f()); r.Sum=append(r.Sum,f()); r.Last=append(r.Last,f()); c,s:=binary.Uvarint(src); if s<=0 {return errBad}; src=src[s:]; r.Count=append(r.Count,c)}; return nil}
