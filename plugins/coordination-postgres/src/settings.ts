import { t } from '@svc/plugin-sdk'

export const settings = t.object(
  {
    url: t.optional(
      t.secret({
        minLength: 1,
        'x-env': 'SVC_COORDINATION_URL',
        description:
          'PostgreSQL server for queues, leases and the state of the mesh: postgres://USER:PASSWORD@HOST:PORT/DATABASE. Several hosts are separated by commas. Default: the primary database is used.'
      })
    ),
    password: t.optional(
      t.secret({
        minLength: 1,
        'x-env': 'SVC_COORDINATION_PASSWORD',
        description: 'Password, instead of one in url.'
      })
    ),
    ca_file: t.optional(
      t.string({
        minLength: 1,
        'x-env': 'SVC_COORDINATION_CA_FILE',
        description:
          'File with the certificates that sign the server’s, relative to the project. Default: those of Node.js.'
      })
    ),
    connections: t.integer({
      default: 8,
      minimum: 1,
      maximum: 100,
      'x-env': 'SVC_COORDINATION_CONNECTIONS',
      description: 'Maximum connections of this process for calls; one more receives hints.'
    })
  },
  { 'x-section': 'coordination' }
)
