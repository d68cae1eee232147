// Package rrd reads the XML that “rrdtool dump” writes of a round-robin database.
//
// What is read of it, of the versions 0001 to 0005 alike:
//
//	<rrd>
//	  <version>0003</version> <step>300</step> <lastupdate>920808900</lastupdate>
//	  <ds> <name> speed </name> <type> COUNTER </type> … </ds> …
//	  <rra> <cf>AVERAGE</cf> <pdp_per_row>6</pdp_per_row> …
//	    <database> <row> <v>NaN</v> … </row> … </database> </rra> …
//	</rrd>
//
// A row has a value for each data source. The last row of an archive ends at the last multiple of step × pdp_per_row before the
// last update, and stands for that long. What is unknown is NaN, and no sample. Of a COUNTER, DERIVE or ABSOLUTE the values are
// rates a second, so that all are gauges.
package rrd

import (
	"bufio"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
)

const (
	// maxValues bounds the values of a file, which are held in memory: 128 MiB.
	maxValues = 16 << 20
	// maxText bounds what stands between two tags, maxDepth how deeply they nest.
	maxText  = 1 << 20
	maxDepth = 32
	// maxSources bounds the data sources of a file.
	maxSources = 1 << 16
	maxSeconds = 1 << 34
)

// Point is one value.
type Point struct {
	Time  int64 // seconds since 1970
	Value float64
}

// Database is a file.
type Database struct {
	Version  string
	Step     int64
	Last     int64 // of the last update
	Sources  []DataSource
	Archives []Archive
}

// DataSource is one of its series.
type DataSource struct{ Name, Type string }

// Archive is its values at one resolution.
type Archive struct {
	Function string
	Rows     int64 // steps in a row
	Values   []float64
}

// guard ends a text that never comes to a tag.
type guard struct {
	in   *bufio.Reader
	text int
}

func (g *guard) ReadByte() (byte, error) {
	c, err := g.in.ReadByte()
	if g.text++; c == '<' {
		g.text = 0
	}
	if g.text > maxText {
		return 0, errors.New("it is no dump of rrdtool: a text does not end")
	}
	return c, err
}

func (g *guard) Read(into []byte) (int, error) {
	if len(into) == 0 {
		return 0, nil
	}
	c, err := g.ReadByte()
	if err != nil {
		return 0, err
	}
	into[0] = c
	return 1, nil
}

// Parse reads a dump.
func Parse(in io.Reader) (*Database, error) {
	decoder := xml.NewDecoder(&guard{in: bufio.NewReaderSize(in, 256<<10)})
	decoder.CharsetReader = func(charset string, in io.Reader) (io.Reader, error) {
		if strings.EqualFold(charset, "us-ascii") {
			return in, nil
		}
		return nil, fmt.Errorf("the character set %q is not understood: dump with LC_ALL=C.UTF-8", charset)
	}
	p := &parser{}
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("it is no dump of rrdtool, or cut off: %w", err)
		}
		switch t := token.(type) {
		case xml.StartElement:
			if p.path = append(p.path, t.Name.Local); len(p.path) > maxDepth {
				return nil, fmt.Errorf("it is no dump of rrdtool: tags nest deeper than %d", maxDepth)
			}
			p.text = p.text[:0]
			err = p.begin()
		case xml.CharData:
			if len(p.text)+len(t) <= 256 {
				p.text = append(p.text, t...)
			}
		case xml.EndElement:
			err = p.end(strings.TrimSpace(string(p.text)))
			p.path, p.text = p.path[:len(p.path)-1], p.text[:0]
		}
		if err != nil {
			line, _ := decoder.InputPos()
			return nil, fmt.Errorf("line %d: %w", line, err)
		}
	}
	return p.finish()
}

type parser struct {
	Database
	path   []string
	text   []byte
	values int // of the row at hand
	all    int
	seen   bool
}

func (p *parser) at(path ...string) bool { return slices.Equal(p.path, path) }

func (p *parser) begin() error {
	switch {
	case len(p.path) == 1 && p.path[0] != "rrd":
		return fmt.Errorf("it is no dump of rrdtool: it begins with <%.40s>", p.path[0])
	case len(p.path) == 1:
		p.seen = true
	case p.at("rrd", "ds"):
		if len(p.Sources) >= maxSources {
			return fmt.Errorf("more than %d data sources", maxSources)
		}
		if len(p.Archives) > 0 {
			return errors.New("a data source comes behind an archive")
		}
		p.Sources = append(p.Sources, DataSource{})
	case p.at("rrd", "rra"):
		p.Archives = append(p.Archives, Archive{})
	case p.at("rrd", "rra", "database", "row"):
		p.values = 0
	}
	return nil
}

func (p *parser) end(text string) error {
	switch len(p.path) {
	case 2:
		switch p.path[1] {
		case "version":
			p.Version = text
		case "step":
			return whole(&p.Step, text, "step", 1, 1<<31)
		case "lastupdate":
			return whole(&p.Last, text, "lastupdate", 0, maxSeconds)
		}
	case 3:
		switch {
		case p.at("rrd", "ds", "name"):
			p.Sources[len(p.Sources)-1].Name = text
		case p.at("rrd", "ds", "type"):
			p.Sources[len(p.Sources)-1].Type = text
		case p.at("rrd", "rra", "cf"):
			p.Archives[len(p.Archives)-1].Function = text
		case p.at("rrd", "rra", "pdp_per_row"):
			return whole(&p.Archives[len(p.Archives)-1].Rows, text, "pdp_per_row", 1, 1<<31)
		}
	case 4:
		if p.at("rrd", "rra", "database", "row") && p.values != len(p.Sources) {
			return fmt.Errorf("a row has %d values, and there are %d data sources", p.values, len(p.Sources))
		}
	case 5:
		if p.at("rrd", "rra", "database", "row", "v") {
			return p.value(text)
		}
	}
	return nil
}

func (p *parser) value(text string) error {
	v, err := strconv.ParseFloat(text, 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		if strings.Contains(strings.ToLower(text), "nan") { // as some C libraries write it: -nan, nan(0x8000…)
			v = math.NaN()
		} else {
			return fmt.Errorf("%.40q is no value", text)
		}
	}
	if p.all++; p.all > maxValues {
		return fmt.Errorf("more than %d values", maxValues)
	}
	a := &p.Archives[len(p.Archives)-1]
	a.Values = append(a.Values, v)
	p.values++
	return nil
}

func whole(into *int64, text, what string, least, most int64) error {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < least || n > most {
		return fmt.Errorf("%s is %.40q, which is no whole number from %d to %d", what, text, least, most)
	}
	*into = n
	return nil
}

func (p *parser) finish() (*Database, error) {
	switch {
	case !p.seen:
		return nil, errors.New("it is no dump of rrdtool: it is empty")
	case p.Step == 0:
		return nil, errors.New("it is no dump of rrdtool: it has no <step>")
	case len(p.Sources) == 0:
		return nil, errors.New("it has no data source")
	}
	for i, s := range p.Sources {
		if s.Name == "" {
			return nil, fmt.Errorf("the data source %d has no name", i+1)
		}
	}
	for i, a := range p.Archives {
		if a.Rows == 0 && len(a.Values) > 0 {
			return nil, fmt.Errorf("the archive %d has no <pdp_per_row>", i+1)
		}
	}
	return &p.Database, nil
}

// Functions are the consolidation functions that it has archives of.
func (d *Database) Functions() []string {
	var all []string
	for _, a := range d.Archives {
		if !slices.Contains(all, a.Function) {
			all = append(all, a.Function)
		}
	}
	return all
}

// Points are the values of a data source by a consolidation function, of each time by the finest archive that knows it.
func (d *Database) Points(source int, function string) []Point {
	archives := slices.DeleteFunc(slices.Clone(d.Archives), func(a Archive) bool { return a.Function != function })
	slices.SortStableFunc(archives, func(a, b Archive) int { return int(a.Rows - b.Rows) })
	var points []Point
	for _, a := range archives {
		width := a.Rows * d.Step
		rows := int64(len(a.Values) / len(d.Sources))
		last := d.Last - d.Last%width
		var ring []Point
		for row := range rows {
			t := last - (rows-1-row)*width
			if v := a.Values[row*int64(len(d.Sources))+int64(source)]; !math.IsNaN(v) && t >= 0 {
				ring = append(ring, Point{t, v})
			}
		}
		points = merge(points, ring, width)
	}
	return points
}

// merge adds coarser points, each of which stands for the time up to it, to finer ones: those of a time of which there is
// nothing finer.
func merge(fine, coarse []Point, width int64) []Point {
	if len(fine) == 0 {
		return coarse
	}
	merged := make([]Point, 0, len(fine)+len(coarse))
	at := 0
	for _, c := range coarse {
		for at < len(fine) && fine[at].Time <= c.Time-width {
			merged = append(merged, fine[at])
			at++
		}
		if at == len(fine) || fine[at].Time > c.Time {
			merged = append(merged, c)
		}
	}
	return append(merged, fine[at:]...)
}
