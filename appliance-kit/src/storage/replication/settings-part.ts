// Replications, and who may replicate to here, as parts of the settings document: both by their ids, since snapshots at the other
// side carry those of replications, and a sender's name may be there twice.
import { closed, type Static } from '../../base/schema/schema.ts';
import { LeftOut, manyPart } from '../../domain/settings-part.ts';
import type { Replications } from './replications.ts';
import { ReplicationInput, SenderInput } from './schema.ts';
import type { ReplicationSenders } from './senders.ts';

const { name, publicKey, under } = SenderInput.properties;
const KeptSender = closed({ name, publicKey, under });
type KeptSender = Static<typeof KeptSender>;

export function replicationParts(replications: Replications, senders: ReplicationSenders) {
  const mustBeHere = async (dataset: string) => {
    if (!(await replications.isHere(dataset))) throw new LeftOut(`there is no dataset ${dataset} here`);
  };
  // The quota is a property of the dataset, and stays as it is.
  const letIn = (id: string, given: KeptSender, by: Parameters<ReplicationSenders['create']>[1]) =>
    senders.create({ ...given, quotaBytes: null }, by, id);
  return [
    manyPart({
      ...{ name: 'replication-senders', title: 'Who may replicate to here', version: 1, schema: KeptSender },
      covers: ['createSender', 'deleteSender'],
      normalise: (sender) => ({ ...sender, publicKey: sender.publicKey.trim() }),
      read: () =>
        Object.fromEntries(
          senders.all().map((one) => [one.id, { name: one.name, publicKey: one.publicKey, under: one.under }]),
        ),
      check: (_, given) => mustBeHere(given.under),
      create: letIn,
      update: async (id, given, by) => {
        await senders.remove(id, by);
        await letIn(id, given, by);
      },
      remove: (id, by) => senders.remove(id, by),
    }),
    manyPart({
      ...{ name: 'replications', title: 'Replications', version: 1, schema: ReplicationInput },
      covers: ['createReplication', 'updateReplication', 'deleteReplication'],
      read: () => replications.inputs(),
      check: (_, given) => mustBeHere(given.dataset),
      create: (id, input, by) => replications.create(input, by, id),
      update: (id, input, by) => replications.update(id, input, by),
      remove: (id, by) => replications.remove(id, by),
    }),
  ];
}
