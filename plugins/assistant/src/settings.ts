import { type Infer, t } from '@svc/plugin-sdk'

const count = (description: string, value: number, maximum: number) =>
  t.integer({ default: value, minimum: 0, maximum, 'x-reload': 'live', description })

export const settings = t.object({
  grammar_mask: t.boolean({
    default: false,
    'x-env': 'SVC_MCP_GRAMMAR_MASK',
    'x-env-type': 'truthy',
    'x-reload': 'live',
    description: 'Whether the model server constrains generated code to the grammar of the language, token by token.'
  }),
  retrieval: t.boolean({
    default: true,
    'x-reload': 'live',
    description: 'Whether files and stored knowledge of the project are searched for what a message is about.'
  }),
  retrieval_files: count('Files that one search of the project reads at most.', 5_000, 100_000),
  context_bytes: count('Bytes of files and of what was found that go into one prompt at most.', 24_576, 1_048_576),
  history_turns: count('Earlier turns of the session that go into one prompt at most.', 20, 100)
})

export type Settings = Infer<typeof settings>
