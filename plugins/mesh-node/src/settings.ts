import { type Infer, t } from '@svc/plugin-sdk'

export const settings = t.object({
  processor: t.enum(['auto', 'echo', 'off'], {
    default: 'auto',
    description:
      'What runs the work of other machines. auto: a plugin that provides task.processor, else the agent fleet of this machine, else nothing is accepted. echo: each task is completed without work, to test a mesh. off: no work is accepted.'
  }),
  max_jobs: t.integer({
    default: 4,
    minimum: 1,
    maximum: 1_000,
    description: 'Maximum number of tasks of other machines that run here at a time.'
  }),
  repositories: t.array(t.string({ minLength: 1 }), {
    default: ['*'],
    minItems: 1,
    'x-guards': true,
    description: 'Repositories whose tasks are accepted, by id; * accepts those of every member of the mesh.'
  }),
  listen_addr: t.optional(
    t.string({
      minLength: 1,
      maxLength: 256,
      pattern: '^https?://',
      description: 'URL at which other machines reach the model server of this machine, such as http://10.0.0.2:11435.'
    })
  ),
  visibility: t.optional(
    t.enum(['public', 'private'], {
      description: 'Whether this machine takes only public work. public: it receives no private messages.'
    })
  ),
  publish_tasks: t.boolean({
    default: true,
    'x-guards': true,
    description: 'Whether open tasks are listed on the other machines of the mesh, with the start of their description.'
  }),
  accept_verbs: t.boolean({
    default: true,
    'x-guards': true,
    description:
      'Whether other machines of the mesh may cancel, complete, fail, doubt and reorder tasks of this machine.'
  })
})

export type Settings = Infer<typeof settings>
