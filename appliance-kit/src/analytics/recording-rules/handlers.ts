// From requests to the rules.
import type { Handlers } from '../../http/handlers.ts';
import type { RecordingRules } from './recording-rules.ts';
import type { routes } from './routes.ts';

export function recordingRuleRoutes(rules: RecordingRules): Handlers<typeof routes> {
  return {
    listRecordingRules: async () => ({ items: await rules.list() }),
    createRecordingRule: ({ body, caller }) => rules.create(caller, body),
    getRecordingRule: ({ params }) => rules.get(params.id),
    updateRecordingRule: ({ params, body, caller }) => rules.update(caller, params.id, body),
    deleteRecordingRule: async ({ params, caller }) => {
      await rules.remove(caller, params.id);
      return undefined;
    },
    previewRecordingRule: ({ body }) => rules.preview(body),
    importRecordingRules: ({ body, caller }) => rules.import(caller, body.text),
    fillRecordingRule: ({ params, body, caller }) => rules.fill(caller, params.id, body.from),
    cancelRecordingRuleFill: ({ params, caller }) => rules.cancelFill(caller, params.id),
  };
}
