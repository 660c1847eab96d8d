import { t } from '@svc/plugin-sdk'

export const settings = t.object({
  model: t.optional(
    t.string({
      minLength: 1,
      description: 'Run directory with the weights, relative to the project. Without it, the plugin serves nothing.'
    })
  ),
  model_name: t.optional(
    t.string({ minLength: 1, description: 'Name of the model; default: the last part of the run directory.' })
  ),
  host: t.string({ default: '127.0.0.1', minLength: 1, description: 'Address to listen on.' }),
  port: t.integer({ default: 11437, minimum: 0, maximum: 65_535, description: 'Port to listen on; 0: any.' }),
  device: t.optional(t.string({ minLength: 1, description: 'Device of the model; default: that of the engine.' })),
  queue: t.integer({
    default: 8,
    minimum: 0,
    maximum: 1_000,
    description: 'Requests that may wait while the model works on others. Further ones get status 503.'
  }),
  timeout_seconds: t.integer({
    default: 300,
    minimum: 1,
    maximum: 86_400,
    description: 'Time limit of one request, including its wait and all attempts.'
  })
})
