package statistics

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Print writes the program of each statistic for a system into a folder, alone and with each of its breakdowns, a file each: so that
// somebody can have dtrace compile them. It says how many there are.
func Print(system Platform, folder string) (int, error) {
	written := 0
	for _, s := range All() {
		if s.Programs[system] == nil {
			continue
		}
		texts := []string{s.Name}
		for _, b := range s.Breakdowns {
			if !b.FilterOnly {
				texts = append(texts, s.Name+"["+b.Name+"]")
			}
		}
		for _, text := range texts {
			d, err := Parse(text)
			if err != nil {
				return written, err
			}
			program, err := Render(system, []*Dataset{d})
			if err != nil {
				if strings.Contains(err.Error(), "cannot be split") {
					continue // that system has no such breakdown
				}
				return written, fmt.Errorf("%s: %w", text, err)
			}
			name := strings.NewReplacer("[", "-by-", "]", "").Replace(text) + ".d"
			if err := os.WriteFile(filepath.Join(folder, name), []byte(program), 0o644); err != nil {
				return written, err
			}
			written++
		}
	}
	return written, nil
}
