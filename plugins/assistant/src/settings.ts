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
    description: 'Whether files, documents, knowledge and notes are searched for each message.'
  }),
  context_bytes: count('Maximum bytes of files and search results in one prompt.', 24_576, 1_048_576),
  history_turns: count('Maximum earlier turns of the session in one prompt.', 20, 100)
})

export type Settings = Infer<typeof settings>
