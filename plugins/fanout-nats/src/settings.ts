import { type Infer, t } from '@svc/plugin-sdk'

export const settings = t.object({
  servers: t.array(t.string({ pattern: '^(nats|tls)://[^@/]+$' }), {
    default: ['nats://127.0.0.1:4222'],
    minItems: 1,
    maxItems: 32,
    'x-env': 'SVC_NATS_SERVERS',
    description: 'NATS servers of one cluster, such as nats://HOST:PORT. With tls://, the connection is encrypted.'
  }),
  token: t.optional(t.secret({ minLength: 1, 'x-env': 'SVC_NATS_TOKEN', description: 'Token of the servers.' })),
  user: t.optional(t.string({ minLength: 1, 'x-env': 'SVC_NATS_USER', description: 'User, instead of a token.' })),
  password: t.optional(t.secret({ minLength: 1, 'x-env': 'SVC_NATS_PASSWORD', description: 'Password of the user.' })),
  ca_file: t.optional(
    t.string({
      minLength: 1,
      'x-env': 'SVC_NATS_CA_FILE',
      description:
        'File with the certificates that sign the servers’, relative to the project. Encrypts the connection.'
    })
  ),
  subject: t.string({
    default: 'svc.hints',
    pattern: '^[A-Za-z0-9_-]+(\\.[A-Za-z0-9_-]+)*$',
    maxLength: 128,
    'x-env': 'SVC_NATS_SUBJECT',
    description: 'Beginning of the subjects. Processes of one coordination store need the same one.'
  })
})

export type Settings = Infer<typeof settings>
