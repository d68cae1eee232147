# Makes the files of services/transfer/whisper/testdata with Graphite's own library (Debian's python3-whisper 1.1.4):
#   python3 make.py FOLDER
# expected.txt has, for each file, what whisper.fetch gives of each archive: file, seconds for each point, time, value.
import os, random, sys
import whisper

folder = sys.argv[1]
now = 1700000000
random.seed(7)

def make(name, archives, method, points):
    path = os.path.join(folder, 'tree', name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    if os.path.exists(path):
        os.remove(path)
    whisper.create(path, archives, xFilesFactor=0.0, aggregationMethod=method)
    for at in range(0, len(points), 50):  # as carbon does it: some at a time, so that rings wrap
        part = points[at:at + 50]
        whisper.update_many(path, part, now=part[-1][0])
    return path

def steps(begin, step, gaps=()):
    out = []
    t = begin
    while t <= now:
        if not any(a <= t < b for a, b in gaps):
            out.append((t, round(random.uniform(0, 100), 3)))
        t += step
    return out

files = {
    'servers/web1/load.wsp': ([(10, 60), (60, 60), (300, 48)], 'average', steps(now - 5 * 3600, 10, [(now - 1500, now - 1200), (now - 300, now - 250)])),
    'servers/web1/requests.wsp': ([(60, 30), (600, 24)], 'sum', steps(now - 7200, 60)),
    'empty.wsp': ([(60, 30)], 'last', []),
}
with open(os.path.join(folder, 'expected.txt'), 'w') as out:
    for name, (archives, method, points) in files.items():
        path = make(name, archives, method, points)
        last = points[-1][0] if points else now
        for step, count in archives:
            found = whisper.fetch(path, last - step * count, last, now=last, archiveToSelect=step)
            (start, end, width), values = found
            for i, v in enumerate(values):
                if v is not None:
                    print(name, width, start + i * width, repr(v), file=out)
