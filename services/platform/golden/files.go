package golden

import (
	"path/filepath"

	"cistern/services/platform/vfs"
)

// Load writes files, by their path within folder, durably.
func Load(fsys vfs.FS, folder string, files Files) error {
	for name, content := range files {
		path := filepath.Join(folder, filepath.FromSlash(name))
		if err := fsys.MkdirAll(filepath.Dir(path)); err != nil {
			return err
		}
		if err := vfs.Replace(fsys, filepath.Dir(path), path, content); err != nil {
			return err
		}
	}
	return nil
}

// Dump is the files of folder and of the named folders in it, by their path within folder.
func Dump(fsys vfs.FS, folder string, inside ...string) (Files, error) {
	files := Files{}
	for _, part := range append([]string{""}, inside...) {
		entries, err := fsys.List(filepath.Join(folder, part))
		if err != nil {
			return nil, err
		}
		for _, entry := range entries {
			name := filepath.ToSlash(filepath.Join(part, entry.Name))
			if files[name], err = vfs.ReadFile(fsys, filepath.Join(folder, name)); err != nil {
				return nil, err
			}
		}
	}
	return files, nil
}
