// How receivers of lines are reached, and which files are written.
import { TextField } from '../../forms/Field.tsx';
import { SelectField } from '../../forms/SelectField.tsx';
import type { OutputFieldsProps } from './fields.ts';

export function AddressFields({ draft, set, at }: OutputFieldsProps) {
  const graphite = draft.kind === 'graphite';
  return (
    <>
      <TextField
        label="Address"
        help={
          graphite ? 'HOST:PORT of a receiver of Graphite’s plaintext lines over TCP.' : 'HOST:PORT of a statsd server.'
        }
        value={draft.address}
        onChange={(address) => set({ address })}
        placeholder={graphite ? 'graphite.example.com:2003' : 'statsd.example.com:8125'}
        error={at(`/${draft.kind}/address`) ?? at(`/${draft.kind}`)}
        autoComplete="off"
        required
      />
      {graphite ? (
        <div className="cistern-pair">
          <TextField
            label="Prefix"
            help="Put before every name."
            value={draft.prefix}
            onChange={(prefix) => set({ prefix })}
            placeholder="cistern."
            error={at('/graphite/prefix')}
            autoComplete="off"
          />
          <TextField
            label="Quantiles of histograms"
            help="From 0 to 1, as 0.99. Count and sum are always sent."
            value={draft.quantiles}
            onChange={(quantiles) => set({ quantiles })}
            error={at('/graphite/quantiles')}
            autoComplete="off"
          />
        </div>
      ) : (
        <div className="cistern-pair">
          <SelectField
            label="Protocol"
            help={draft.protocol === 'udp' ? 'Over UDP nobody notices what is lost on the way.' : undefined}
            value={draft.protocol}
            onChange={(protocol) => set({ protocol })}
            options={[
              ['udp', 'UDP'],
              ['tcp', 'TCP'],
            ]}
          />
          <SelectField
            label="Histograms"
            value={draft.histograms}
            onChange={(histograms) => set({ histograms })}
            options={[
              ['ms', 'as timers, in milliseconds'],
              ['h', 'as histograms, values as they are'],
              ['none', 'not at all'],
            ]}
          />
        </div>
      )}
    </>
  );
}

export function FileFields({ draft, set, at }: OutputFieldsProps) {
  return (
    <>
      <TextField
        label="Folder"
        help="Below outputs/ of the telemetry dataset. Each file holds a sample a line, as JSON."
        value={draft.folder}
        onChange={(folder) => set({ folder })}
        placeholder="archive"
        error={at('/file/folder') ?? at('/file')}
        autoComplete="off"
        required
      />
      <div className="cistern-pair">
        <TextField
          label="Size of a file (MiB)"
          help="It is closed when it is so large, or an hour old."
          inputMode="numeric"
          value={draft.fileMiB}
          onChange={(fileMiB) => set({ fileMiB })}
          error={at('/file/fileMiB')}
          autoComplete="off"
        />
        <TextField
          label="Files to keep"
          help="With more, the oldest is removed."
          inputMode="numeric"
          value={draft.files}
          onChange={(files) => set({ files })}
          error={at('/file/files')}
          autoComplete="off"
        />
      </div>
    </>
  );
}
