import { type Infer, t } from '@svc/plugin-sdk'

export const settings = t.object({
  listener: t.enum(['main', 'mesh'], {
    default: 'main',
    'x-guards': true,
    description:
      'Listener that serves A2A: main, with its bearer token, or mesh, with the tokens and roles of the control plane.'
  }),
  target: t.enum(['orchestrator', 'mesh'], {
    default: 'orchestrator',
    description: 'What runs the tasks: the orchestrator of this project, or a mailbox of the mesh.'
  }),
  public_url: t.optional(
    t.string({
      pattern: '^https?://[^\\s?#]+$',
      description: 'URL of this server in the agent card, for example https://svc.example.org. Default: as requested.'
    })
  ),
  name: t.string({ default: 'svc', minLength: 1, maxLength: 200, description: 'Name of the agent in its card.' }),
  description: t.string({
    default: 'Works on the tasks of a software project',
    minLength: 1,
    maxLength: 2_000,
    description: 'Description of the agent in its card.'
  }),
  receiver_agent: t.string({
    default: '1',
    pattern: '^\\d{1,20}$',
    description: 'Agent whose mailbox receives the tasks, with target = "mesh".'
  }),
  sender_agent: t.string({
    default: '900',
    pattern: '^\\d{1,20}$',
    description: 'Agent whose mailbox receives the results, with target = "mesh". No other process may read it.'
  }),
  node_stale_ms: t.integer({
    default: 60_000,
    minimum: 0,
    description: 'Age in milliseconds at which a node of the mesh no longer counts as available; 0: never.'
  }),
  max_open_tasks: t.integer({
    default: 1_000,
    minimum: 1,
    maximum: 100_000,
    'x-reload': 'live',
    description: 'Maximum unfinished tasks of a caller.'
  }),
  keep_tasks: t.integer({
    default: 5_000,
    minimum: 1,
    maximum: 100_000,
    'x-reload': 'live',
    description: 'Maximum number of ended tasks; the oldest ones are removed.'
  }),
  max_streams: t.integer({
    default: 256,
    minimum: 1,
    maximum: 100_000,
    'x-reload': 'live',
    description: 'Maximum number of open streams and waiting requests.'
  }),
  v0_3: t.boolean({
    default: false,
    description: 'Whether clients of A2A 0.3 are served over JSON-RPC as well.'
  }),
  push: t.boolean({ default: true, description: 'Whether push notifications are offered.' }),
  push_private_hosts: t.array(t.string({ minLength: 1, maxLength: 255 }), {
    default: [],
    'x-guards': true,
    description:
      'Hosts, as HOST or HOST:PORT, that may receive push notifications although their address is private or local.'
  }),
  push_ca_file: t.optional(
    t.string({
      minLength: 1,
      description: 'PEM file with further certificate authorities for receivers of push notifications.'
    })
  ),
  push_attempts: t.integer({
    default: 10,
    minimum: 1,
    maximum: 100,
    description: 'Attempts to deliver a push notification before it moves to the dead ones.'
  })
})

export type Settings = Infer<typeof settings>
