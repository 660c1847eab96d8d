import { type Call, defineOperation, definePlugin, type Operation, type Plugin, t } from '@svc/plugin-sdk'

/** Returns a plugin whose operations return their input. */
function echoPlugin(name: string, ...operations: readonly Operation[]): Plugin {
  return definePlugin({
    name,
    operations,
    activate(ctx) {
      for (const operation of operations) ctx.implement(operation, ((input: unknown) => input) as never)
    }
  })
}

/** Returns a plugin with one operation and its handler. */
export function operationPlugin<Op extends Operation>(
  name: string,
  operation: Op,
  handler: (input: any, call: Call<any, any>) => unknown,
  disposed?: () => void
): Plugin {
  return definePlugin({
    name,
    operations: [operation],
    activate(ctx) {
      ctx.implement(operation, handler as never)
      if (disposed !== undefined) ctx.effect('test', disposed)
    }
  })
}

const readThing = defineOperation({
  id: 'things.read',
  summary: 'Reads a thing',
  effect: 'read',
  input: t.object({
    id: t.string(),
    limit: t.integer({ default: 10, minimum: 1, maximum: 100 }),
    deep: t.optional(t.boolean()),
    tags: t.optional(t.array(t.string())),
    filter: t.optional(t.object({ color: t.string(), sizes: t.array(t.integer()) })),
    either: t.optional(t.union([t.string(), t.object({ key: t.string() })]))
  }),
  output: t.unknown(),
  expose: { http: { method: 'GET', path: '/v1/things/:id' } }
})

const writeThing = defineOperation({
  id: 'things.write',
  summary: 'Writes a thing',
  input: t.object({ shelf: t.integer(), title: t.string(), tags: t.optional(t.array(t.string())) }),
  output: t.unknown(),
  expose: { http: { method: 'PUT', path: '/v1/shelves/:shelf', status: 201 } }
})

const createThing = defineOperation({
  id: 'things.create',
  summary: 'Makes a thing',
  input: t.object({ title: t.optional(t.string()) }),
  output: t.unknown(),
  expose: { http: { method: 'POST', path: '/v1/things' } }
})

const removeThing = defineOperation({
  id: 'things.remove',
  summary: 'Removes a thing',
  effect: 'destructive',
  input: t.object({ id: t.string(), force: t.boolean({ default: false }) }),
  output: t.unknown(),
  expose: { http: { method: 'DELETE', path: '/v1/things/:id' } }
})

export const things = echoPlugin('things', readThing, writeThing, createThing, removeThing)
